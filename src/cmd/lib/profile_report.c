#include "cmd/lib/profile_report.h"
#include "cmd/lib/generate.h"
#include <string.h>

// Those that unrelated rows read, in those of one row.
static double experts_of(const fr_cost *c, int rows) {
    return fr_cmd_rate(fr_cost_experts(c, rows, NULL), c->experts[0]);
}

void fr_cmd_cost_print(const fr_cost *c) {
    if (!c->n) return;
    const double one = fr_cost_pass(c, 1, 1, 0);
    printf("A pass of one row takes %.1f ms, %.0f%% of it for the output head", 1e3 * one,
           100 * fr_cmd_rate(one - fr_cost_pass(c, 1, 0, 0), one));
    for (int i = 1; i < c->n; i++)
        printf("%s %d rows %.2fx", i > 1 ? "," : "; of", c->rows[i],
               fr_cmd_rate(fr_cost_pass(c, c->rows[i], c->rows[i], 0), one));
    if (c->expert > 0)
        printf(
            "; an expert takes %.3g ms: one row reads %.0f, 2 unrelated rows %.2fx as many, 8 rows "
            "%.2fx",
            1e3 * c->expert, c->experts[0], experts_of(c, 2), experts_of(c, 8));
    if (c->held >= 1.01)
        printf("; the mean pass takes %.0f%% longer than an undisturbed one", 100 * (c->held - 1));
    puts(".");
}

json_t *fr_cmd_cost_json(const fr_cost *c) {
    json_t *rows = json_array(), *trunk = json_array(), *head = json_array(),
           *experts = json_array();
    for (int i = 0; i < c->n; i++) {
        json_array_append_new(rows, json_integer(c->rows[i]));
        json_array_append_new(trunk, fr_cmd_real(1e3 * c->trunk[i]));
        json_array_append_new(head, fr_cmd_real(1e3 * c->head[i]));
        json_array_append_new(experts, fr_cmd_real(c->experts[i]));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "rows", rows, "trunk_ms", trunk,
                     "head_ms", head, "ms_per_1000_keys", fr_cmd_real(1e6 * c->key),
                     "ms_per_1000_keys_and_row", fr_cmd_real(1e6 * c->key_row), "held_up",
                     fr_cmd_real(c->held), "experts", experts, "ms_per_expert",
                     fr_cmd_real(1e3 * c->expert));
}

json_t *fr_cmd_predicted_json(const fr_profile_drafter *d) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "drafter", fr_json_string(d->spec),
                     "predicted_tok_s", fr_cmd_real(d->tok_s), "predicted_plain_tok_s",
                     fr_cmd_real(d->plain_tok_s), "predicted_speedup",
                     fr_cmd_real(fr_profile_speedup(d)), "tokens_per_pass",
                     fr_cmd_real(d->tokens_per_pass));
}
