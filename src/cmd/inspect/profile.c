#include "cmd/inspect/profile.h"
#include "cmd/lib/profile_report.h"
#include "json/value.h"
#include <string.h>

static const char *fastest(const fr_profile *p) {
    const fr_profile_drafter *best = fr_profile_best(p);
    return best ? best->spec : "none";
}

// "fastest" is the fastest of those that were tuned. `auto` also looks at packs that lie ready.
json_t *fr_inspect_profile_json(const fr_gguf *g, fr_error *err) {
    fr_profile p;
    if (fr_profile_load(&p, g, err)) return NULL;
    json_t *list = json_array();
    for (int i = 0; list && i < p.n_drafters; i++)
        json_array_append_new(list, fr_cmd_predicted_json(&p.drafter[i]));
    const char *best = fastest(&p), *cpu = p.key.cpu, *isa = p.key.isa;
    return json_pack("{s:o, s:{s:o, s:o, s:i}, s:o, s:o, s:o}", "model",
                     fr_json_string(p.key.model), "machine", "cpu", fr_json_string(cpu), "isa",
                     fr_json_string(isa), "threads", p.key.threads, "cost",
                     fr_cmd_cost_json(&p.cost), "drafters", list, "fastest",
                     p.n_drafters ? fr_json_string(best) : json_null());
}

static void print_clean(const char *text) {
    fr_cmd_print_clean(stdout, text, strlen(text));
}

void fr_inspect_profile_print(const fr_gguf *g, fr_error *err) {
    fr_profile p;
    if (fr_profile_load(&p, g, err)) {
        fputs("profile: not usable: ", stdout);
        print_clean(err->text);
        putchar('\n');
        return;
    }
    fputs("profile: model ", stdout);
    print_clean(p.key.model);
    fputs(" on ", stdout);
    print_clean(p.key.cpu);
    fputs(", ", stdout);
    print_clean(p.key.isa);
    printf(", %d thread%s\n", p.key.threads, p.key.threads > 1 ? "s" : "");
    fr_cmd_cost_print(&p.cost);
    if (!p.n_drafters) return;
    puts("predicted  speedup  tokens/pass  drafter");
    for (int i = 0; i < p.n_drafters; i++) {
        const fr_profile_drafter *d = &p.drafter[i];
        printf("%7.1f/s %7.2fx %12.2f  ", d->tok_s, fr_profile_speedup(d), d->tokens_per_pass);
        print_clean(d->spec);
        putchar('\n');
    }
    fputs("fastest of these: ", stdout);
    print_clean(fastest(&p));
    putchar('\n');
}
