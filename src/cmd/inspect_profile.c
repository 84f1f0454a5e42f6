#include "cmd/inspect_profile.h"
#include "cmd/cost_report.h"
#include "cmd/generate.h"
#include "cmd/text.h"
#include "tune/profile.h"
#include <string.h>

static fr_status take(fr_profile *p, const fr_gguf *g, fr_error *err) {
    fr_profile_key key = {0};
    const fr_status st = fr_profile_key_in(&key, g, err);
    return st ? st : fr_profile_take(p, &key, g, err);
}

static const char *chosen(const fr_profile *p) {
    const fr_profile_drafter *best = fr_profile_best(p);
    return best ? best->spec : "none";
}

static json_t *drafter_json(const fr_profile_drafter *d) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "drafter",
                     fr_cmd_json_text(d->spec, strlen(d->spec)), "predicted_tok_s",
                     fr_cmd_real(d->tok_s), "predicted_plain_tok_s", fr_cmd_real(d->plain_tok_s),
                     "predicted_speedup", fr_cmd_real(fr_cmd_rate(d->tok_s, d->plain_tok_s)),
                     "tokens_per_pass", fr_cmd_real(d->tokens_per_pass));
}

json_t *fr_inspect_profile_json(const fr_gguf *g, fr_error *err) {
    fr_profile p;
    if (take(&p, g, err)) return NULL;
    json_t *list = json_array();
    for (int i = 0; list && i < p.n_drafters; i++)
        json_array_append_new(list, drafter_json(&p.drafter[i]));
    return json_pack("{s:o, s:o, s:o, s:i, s:o, s:o, s:o}", "model",
                     fr_cmd_json_text(p.key.model, strlen(p.key.model)), "cpu",
                     fr_cmd_json_text(p.key.cpu, strlen(p.key.cpu)), "isa",
                     fr_cmd_json_text(p.key.isa, strlen(p.key.isa)), "threads", p.key.threads,
                     "cost", fr_cost_json(&p.cost), "drafters", list, "chosen",
                     fr_cmd_json_text(chosen(&p), strlen(chosen(&p))));
}

void fr_inspect_profile_print(const fr_gguf *g) {
    fr_profile p;
    fr_error err;
    if (take(&p, g, &err)) {
        printf("profile: not usable: %s\n", err.text);
        return;
    }
    printf("profile of model %s on ", p.key.model);
    fr_cmd_print_clean(stdout, p.key.cpu, strlen(p.key.cpu));
    printf(", %s, %d threads\n", p.key.isa, p.key.threads);
    fr_cost_print(&p.cost);
    for (int i = 0; i < p.n_drafters; i++) {
        const fr_profile_drafter *d = &p.drafter[i];
        printf("  %7.1f/s %6.2fx %6.2f tokens a pass  ", d->tok_s,
               fr_cmd_rate(d->tok_s, d->plain_tok_s), d->tokens_per_pass);
        fr_cmd_print_clean(stdout, d->spec, strlen(d->spec));
        putchar('\n');
    }
    if (p.n_drafters) printf("'auto' uses %s\n", chosen(&p));
}
