// run_answer.c — an answer and its statistics.
#include "cmd/run_answer.h"
#include "cmd/lib/first_run.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Whole, also where a JSON integer has no room for it.
static json_t *seed_json(uint64_t seed) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    return seed <= INT64_MAX ? json_integer((json_int_t)seed) : json_string(text);
}

static json_t *result_json(const fr_run_answer *a) {
    const fr_result *r = a->result;
    const fr_stats *s = r->stats;
    json_t *seconds =
        json_pack("{s:o, s:o, s:o, s:o, s:o}", "load", fr_cmd_real(a->load), "prompt",
                  fr_cmd_real(s->seconds_prompt), "decode", fr_cmd_real(s->seconds_decode), "draft",
                  fr_cmd_real(s->seconds_draft), "verify", fr_cmd_real(s->seconds_verify));
    json_t *root = json_pack(
        "{s:o, s:o, s:i, s:i, s:s, s:o, s:s, s:s, s:b, s:b, s:I}", "text",
        fr_json_text(r->text, r->text_bytes), "tokens",
        fr_cmd_json_ids(r->tokens, (size_t)r->n_tokens), "prompt_tokens", s->prompt_tokens,
        "completion_tokens", s->completion_tokens, "finish_reason", fr_cmd_finish(s->finish),
        "drafter", fr_json_string(a->drafter), "used", s->used, "why", s->why, "lossless",
        s->lossless, "exact_law", s->exact_law, "passes", (json_int_t)s->passes);
    json_t *rates =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "tokens_per_pass",
                  fr_cmd_real(fr_cmd_tokens_per_pass(s)), "tok_s",
                  fr_cmd_real(fr_cmd_rate(s->completion_tokens, s->seconds_decode)), "prompt_tok_s",
                  fr_cmd_real(fr_cmd_prompt_rate(s)), "seconds", seconds, "accepted_by_depth",
                  fr_cmd_depths(s->accepted, s->offered), "rows_per_pass",
                  fr_cmd_real(fr_cmd_rate((double)s->rows, (double)s->passes)), "peak_rss_bytes",
                  (json_int_t)fr_cmd_peak_bytes(), "seed", seed_json(a->seed), "draft_stats",
                  fr_cmd_draft_counts(&s->draft));
    if (!root || !rates || json_object_update(root, rates) ||
        (a->more && json_object_update(root, a->more))) {
        json_decref(root);
        root = NULL;
    }
    json_decref(rates);
    return root;
}

int fr_run_report(const fr_cmd_args *args, const fr_run_answer *a) {
    const fr_result *r = a->result;
    const int code = r->stats->finish == FR_FINISH_INTERRUPTED && fr_cmd_interrupted()
                         ? FR_EXIT_INTERRUPTED
                         : FR_EXIT_DONE;
    if (args->json) {
        const int bad = fr_cmd_print_json(result_json(a));
        return bad ? bad : code;
    }
    if (!a->printer->silent && isatty(STDOUT_FILENO)) putchar('\n');
    fr_cmd_flush();
    if (args->quiet) return code;
    fr_cmd_say_first_run(a->engine, r->stats);
    fr_cmd_print_stats(r->stats, a->load, a->seed, a->sampled);
    return code;
}
