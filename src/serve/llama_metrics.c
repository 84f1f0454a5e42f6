// llama_metrics.c — the same counts by the names that llama.cpp's server gives them.
#include "serve/server.h"

static void add(fr_buffer *out, const char *name, const char *type, const char *help,
                double value) {
    fr_metric_add(out, "llamacpp", name, type, help, value);
}

static double per(double a, double b) {
    return b > 0 ? a / b : 0;
}

void fr_add_llama_metrics(const fr_scheduler_state *l, fr_buffer *out) {
    const fr_counters *t = &l->counters;
    const double read = (double)t->prompt_tokens, wrote = (double)t->tokens;
    const double passes = (double)t->passes;
    add(out, "prompt_tokens_total", "counter", "Tokens of prompts that were read", read);
    add(out, "prompt_tokens_cached_total", "counter", "Tokens of prompts that were known",
        (double)t->reused_tokens);
    add(out, "prompt_seconds_total", "counter", "Seconds until first tokens", t->reading);
    add(out, "tokens_predicted_total", "counter", "Tokens that were written", wrote);
    add(out, "tokens_predicted_seconds_total", "counter", "Seconds behind first tokens",
        t->writing);
    add(out, "n_decode_total", "counter", "Passes of the model", passes);
    add(out, "n_tokens_max", "counter", "Most tokens of a request and its answer",
        (double)t->most_tokens);
    add(out, "spec_decode_num_draft_tokens_total", "counter", "Tokens that were drafted",
        (double)t->drafted);
    add(out, "spec_decode_num_accepted_tokens_total", "counter", "Of these, right",
        (double)fr_counters_accepted(t));
    add(out, "spec_decode_num_drafts_total", "counter", "Passes of requests with a draft",
        (double)t->drafts);
    add(out, "prompt_tokens_seconds", "gauge", "Tokens of prompts a second", per(read, t->reading));
    add(out, "predicted_tokens_seconds", "gauge", "Tokens written a second",
        per(wrote, t->writing));
    add(out, "requests_processing", "gauge", "Requests that are being answered", l->runs);
    add(out, "requests_deferred", "gauge", "Requests in the queue", l->waits);
    add(out, "n_busy_slots_per_decode", "gauge", "Requests in a pass, on average",
        per((double)t->sessions, passes));
}
