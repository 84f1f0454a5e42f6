// report.c — what tuning found, in words and as JSON.
#include "base/cpus.h"
#include "cmd/lib/profile_report.h"
#include "cmd/tune/tune.h"
#include <string.h>

static const char *chosen(const fr_tune_result *r) {
    const fr_profile_drafter *best = fr_profile_best(r->engine->profile);
    return best ? best->spec : "none";
}

void fr_tune_print(const fr_tune_result *r) {
    const fr_engine_info *info = fr_engine_describe(r->engine);
    const fr_profile *p = r->engine->profile;
    const double one = fr_cost_pass(&p->cost, 1, 1, 0);
    fr_cmd_print_clean(stdout, info->name, strlen(info->name));
    printf(", %s, %d thread%s\n", info->isa, info->threads, info->threads > 1 ? "s" : "");
    fr_cmd_cost_print(&p->cost);
    printf("\n%9s %9s %9s %12s %10s  drafter\n", "predicted", "speedup", "measured", "tokens/pass",
           "rows/pass");
    for (int i = 0; i < r->n_tuned; i++) {
        const fr_tuned *t = &r->tuned[i];
        if (t->failed)
            fr_cmd_print(stdout, "%53s  %s: %s\n", "", t->entry.spec, t->why);
        else
            fr_cmd_print(stdout, "%7.1f/s %8.2fx %7.1f/s %12.2f %10.2f  %s\n", t->entry.tok_s,
                         fr_profile_speedup(&t->entry), fr_cmd_rate((double)t->tokens, t->decode),
                         t->entry.tokens_per_pass, fr_cmd_rate((double)t->rows, (double)t->passes),
                         t->entry.spec);
    }
    fr_cmd_print(stdout, "\nPlain decoding is predicted at %.1f/s. 'auto' uses %s.\n",
                 r->n_tuned ? r->tuned[0].entry.plain_tok_s : fr_cmd_rate(1, one), chosen(r));
    for (int i = 0; i < r->n_tuned; i++)
        if (!r->tuned[i].failed && !fr_profile_find(p, r->tuned[i].entry.spec))
            fr_cmd_print(stdout,
                         "A draft model may slow down short answers, so 'auto' does not use it "
                         "unless tuned by name: forerun tune --drafter %s\n",
                         r->tuned[i].entry.spec);
    if (*r->kept) fr_cmd_print(stdout, "Stored in %s\n", r->kept);
}

static json_t *tuned_json(const fr_tuned *t) {
    if (t->failed)
        return json_pack("{s:o, s:s}", "drafter", fr_json_string(t->entry.spec), "error", t->why);
    json_t *all = fr_cmd_predicted_json(&t->entry);
    json_object_set_new(all, "measured_tok_s",
                        fr_cmd_real(fr_cmd_rate((double)t->tokens, t->decode)));
    json_object_set_new(all, "rows_per_pass",
                        fr_cmd_real(fr_cmd_rate((double)t->rows, (double)t->passes)));
    return all;
}

json_t *fr_tune_json(const fr_tune_result *r) {
    char cpu[128];
    const fr_engine_info *info = fr_engine_describe(r->engine);
    const char *best = chosen(r), *path = r->kept;
    json_t *list = json_array();
    fr_cpu_name(cpu, sizeof cpu);
    for (int i = 0; list && i < r->n_tuned; i++)
        json_array_append_new(list, tuned_json(&r->tuned[i]));
    return json_pack(
        "{s:o, s:{s:o, s:s, s:i}, s:o, s:o, s:b, s:o, s:o}", "model", fr_json_string(info->name),
        "machine", "cpu", fr_json_string(cpu), "isa", info->isa, "threads", info->threads, "cost",
        fr_cmd_cost_json(&r->engine->profile->cost), "drafters", list, "interrupted",
        (int)r->interrupted, "chosen", fr_json_string(best), "profile", fr_json_string(path));
}
