// tune_report.c — what tuning found, in words and as JSON.
#include "base/cpus.h"
#include "cmd/tune.h"
#include <string.h>

static double speedup(const fr_profile_drafter *d) {
    return fr_cmd_rate(d->tok_s, d->plain_tok_s);
}

static const char *chosen(const fr_tune_result *r) {
    const fr_profile_drafter *best = fr_profile_best(r->engine->profile);
    return best ? best->spec : "none";
}

void fr_tune_print(const fr_tune_result *r) {
    const fr_engine_info info = fr_engine_describe(r->engine);
    const fr_profile *p = r->engine->profile;
    const double one = fr_cost_pass(&p->cost, 1, 1, 0);
    fr_cmd_print_clean(stdout, info.name, strlen(info.name));
    printf(", %s, %d threads\nA pass of one row takes %.1f ms, %.0f%% of it the head; of", info.isa,
           info.threads, 1e3 * one, 100 * fr_cmd_rate(one - fr_cost_pass(&p->cost, 1, 0, 0), one));
    for (int i = 1; i < p->cost.n; i++)
        printf("%s %d rows %.2fx", i > 1 ? "," : "", p->cost.rows[i],
               fr_cmd_rate(fr_cost_pass(&p->cost, p->cost.rows[i], p->cost.rows[i], 0), one));
    if (p->cost.held >= 1.01)
        printf("; the mean pass takes %.0f%% more than an undisturbed one",
               100 * (p->cost.held - 1));
    printf(".\n\n%9s %9s %9s %12s %10s  drafter\n", "predicted", "speedup", "measured",
           "tokens/pass", "rows/pass");
    for (int i = 0; i < r->n_tuned; i++) {
        const fr_tuned *t = &r->tuned[i];
        if (t->failed)
            printf("%53s  %s: %s\n", "", t->entry.spec, t->why);
        else
            printf("%7.1f/s %8.2fx %7.1f/s %12.2f %10.2f  %s\n", t->entry.tok_s, speedup(&t->entry),
                   fr_cmd_rate((double)t->tokens, t->decode), t->entry.tokens_per_pass,
                   fr_cmd_rate((double)t->rows, (double)t->passes), t->entry.spec);
    }
    printf("\nPlain decoding is predicted at %.1f/s. 'auto' uses %s.\n",
           r->n_tuned ? r->tuned[0].entry.plain_tok_s : fr_cmd_rate(1, one), chosen(r));
    for (int i = 0; i < r->n_tuned; i++)
        if (!r->tuned[i].failed && !fr_profile_find(p, r->tuned[i].entry.spec))
            printf("With a draft model short answers may lose; to have it: forerun tune --drafter "
                   "%s\n",
                   r->tuned[i].entry.spec);
    if (*r->engine->profile_path) printf("Kept in %s\n", r->engine->profile_path);
}

static json_t *cost_json(const fr_cost *c) {
    json_t *rows = json_array(), *trunk = json_array(), *head = json_array();
    for (int i = 0; i < c->n; i++) {
        json_array_append_new(rows, json_integer(c->rows[i]));
        json_array_append_new(trunk, fr_cmd_real(1e3 * c->trunk[i]));
        json_array_append_new(head, fr_cmd_real(1e3 * c->head[i]));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "rows", rows, "trunk_ms", trunk, "head_ms",
                     head, "ms_per_1000_keys", fr_cmd_real(1e6 * c->key),
                     "ms_per_1000_keys_and_row", fr_cmd_real(1e6 * c->key_row), "held_up",
                     fr_cmd_real(c->held));
}

static json_t *tuned_json(const fr_tuned *t) {
    json_t *spec = fr_cmd_json_text(t->entry.spec, strlen(t->entry.spec));
    if (t->failed) return json_pack("{s:o, s:s}", "drafter", spec, "error", t->why);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "drafter", spec, "predicted_tok_s",
                     fr_cmd_real(t->entry.tok_s), "predicted_plain_tok_s",
                     fr_cmd_real(t->entry.plain_tok_s), "predicted_speedup",
                     fr_cmd_real(speedup(&t->entry)), "measured_tok_s",
                     fr_cmd_real(fr_cmd_rate((double)t->tokens, t->decode)), "tokens_per_pass",
                     fr_cmd_real(t->entry.tokens_per_pass), "rows_per_pass",
                     fr_cmd_real(fr_cmd_rate((double)t->rows, (double)t->passes)));
}

json_t *fr_tune_json(const fr_tune_result *r) {
    char cpu[128];
    const fr_engine_info info = fr_engine_describe(r->engine);
    const char *best = chosen(r), *path = r->engine->profile_path;
    json_t *list = json_array();
    fr_cpu_name(cpu, sizeof cpu);
    for (int i = 0; list && i < r->n_tuned; i++)
        json_array_append_new(list, tuned_json(&r->tuned[i]));
    return json_pack("{s:o, s:{s:o, s:s, s:i}, s:o, s:o, s:o, s:o}", "model",
                     fr_cmd_json_text(info.name, strlen(info.name)), "machine", "cpu",
                     fr_cmd_json_text(cpu, strlen(cpu)), "isa", info.isa, "threads", info.threads,
                     "cost", cost_json(&r->engine->profile->cost), "drafters", list, "chosen",
                     fr_cmd_json_text(best, strlen(best)), "profile",
                     fr_cmd_json_text(path, strlen(path)));
}
