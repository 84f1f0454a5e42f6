// metrics.c — /metrics in Prometheus' text form: vLLM's names where it has them.
#include "serve/server.h"
#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 2, 3))) static void line(fr_buffer *out, const char *format, ...) {
    char text[512];
    fr_error never;
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0 && (size_t)n < sizeof text) fr_buffer_add(out, text, (size_t)n, &never);
}

static void head_of(fr_buffer *out, const char *prefix, const char *name, const char *type,
                    const char *help) {
    line(out, "# HELP %s:%s %s\n# TYPE %s:%s %s\n", prefix, name, help, prefix, name, type);
}

static void head(fr_buffer *out, const char *name, const char *type, const char *help) {
    head_of(out, "forerun", name, type, help);
}

void fr_metric_add(fr_buffer *out, const char *prefix, const char *name, const char *type,
                   const char *help, double value) {
    head_of(out, prefix, name, type, help);
    line(out, "%s:%s %.17g\n", prefix, name, value);
}

static void add(fr_buffer *out, const char *name, const char *type, const char *help,
                double value) {
    fr_metric_add(out, "forerun", name, type, help, value);
}

static void counter(fr_buffer *out, const char *name, const char *help, uint64_t value) {
    add(out, name, "counter", help, (double)value);
}

static void histogram(fr_buffer *out, const char *name, const char *help, const fr_histogram *h) {
    uint64_t below = 0;
    head(out, name, "histogram", help);
    for (int i = 0; h->bound[i] > 0; i++) {
        below += h->count[i];
        line(out, "forerun:%s_bucket{le=\"%g\"} %llu\n", name, h->bound[i],
             (unsigned long long)below);
    }
    line(out, "forerun:%s_bucket{le=\"+Inf\"} %llu\n", name, (unsigned long long)h->n);
    line(out, "forerun:%s_sum %.17g\nforerun:%s_count %llu\n", name, h->sum, name,
         (unsigned long long)h->n);
}

static void requests(fr_buffer *out, const fr_scheduler_state *l) {
    static const char *const ends[] = {"stop", "length", "abort", "timeout", "refused", "error"};
    const fr_counters *t = &l->counters;
    add(out, "num_requests_running", "gauge", "Requests that are being answered", l->runs);
    add(out, "num_requests_waiting", "gauge", "Requests in the queue", l->waits);
    add(out, "num_requests_paused", "gauge",
        "Requests that gave their places to others for a while", l->paused);
    counter(out, "num_preemptions_total", "Times that a request was paused", t->preemptions);
    head(out, "request_success_total", "counter", "Answers that have ended, by how");
    for (int i = 0; i <= FR_JOB_FAILED; i++)
        line(out, "forerun:request_success_total{finished_reason=\"%s\"} %llu\n", ends[i],
             (unsigned long long)t->ended[i]);
    histogram(out, "request_queue_time_seconds", "Time until a request begins", &t->queued);
    histogram(out, "time_to_first_token_seconds", "Time from a request to its first token",
              &t->first_token);
    histogram(out, "request_time_per_output_token_seconds",
              "Mean time of a request between two tokens", &t->between_tokens);
    histogram(out, "e2e_request_latency_seconds", "Time from a request to its end", &t->end_to_end);
    histogram(out, "request_prompt_tokens", "Tokens of a prompt", &t->prompt);
    histogram(out, "request_generation_tokens", "Tokens of an answer", &t->answer);
}

static void tokens(fr_buffer *out, const fr_scheduler_state *l) {
    const fr_counters *t = &l->counters;
    counter(out, "prompt_tokens_total", "Tokens of prompts that were read", t->prompt_tokens);
    counter(out, "generation_tokens_total", "Tokens that were written", t->tokens);
    counter(out, "prefix_cache_queries_total", "Tokens of prompts",
            t->prompt_tokens + t->reused_tokens);
    counter(out, "prefix_cache_hits_total", "Of these, known from before", t->reused_tokens);
    add(out, "kv_cache_usage_perc", "gauge", "Used part of the contexts at work, 1 is all",
        l->kv_use);
}

static void passes(fr_buffer *out, const fr_counters *t) {
    counter(out, "passes_total", "Passes of the model", t->passes);
    add(out, "pass_seconds_total", "counter", "Time of all passes", t->passed);
    add(out, "pass_predicted_seconds_total", "counter",
        "The same as the cost of passes predicted it, before each", t->predicted);
    add(out, "busy_seconds_total", "counter", "Time of all steps, with drafting and drawing",
        t->busy);
    histogram(out, "rows_per_pass", "Tokens that a pass reads: of prompts, the last ones, drafted",
              &t->rows);
    histogram(out, "iteration_tokens_total", "Tokens that a pass gives, of all texts",
              &t->pass_tokens);
}

static void drafts(fr_buffer *out, const fr_counters *t) {
    int deepest = 0;
    for (int i = 0; i < FR_MAX_DEPTH; i++)
        if (t->accepted[i]) deepest = i + 1;
    counter(out, "spec_decode_num_drafts_total", "Drafts", t->drafts);
    counter(out, "spec_decode_num_draft_tokens_total", "Drafted tokens", t->drafted);
    counter(out, "spec_decode_num_accepted_tokens_total", "Of these, accepted",
            fr_counters_accepted(t));
    head(out, "spec_decode_num_accepted_tokens_per_pos_total", "counter",
         "Accepted tokens by their place in the draft");
    for (int i = 0; i < deepest; i++)
        line(out, "forerun:spec_decode_num_accepted_tokens_per_pos_total{position=\"%d\"} %llu\n",
             i, (unsigned long long)t->accepted[i]);
}

void fr_handle_metrics(fr_exchange *x, void *server) {
    fr_server *s = server;
    if (!s->metrics) {
        fr_reply_error(x, 501, "not_supported_error",
                       "this server does not count. Start it with `--metrics`");
        return;
    }
    const fr_scheduler_state l = fr_scheduler_look(s->scheduler);
    fr_buffer out = {0};
    char started[24];
    requests(&out, &l);
    tokens(&out, &l);
    passes(&out, &l.counters);
    drafts(&out, &l.counters);
    fr_add_llama_metrics(&l, &out);
    snprintf(started, sizeof started, "%lld", (long long)s->created);
    fr_exchange_set(x, "Process-Start-Time-Unix", started);
    fr_exchange_reply(x, 200, "text/plain; version=0.0.4", out.data ? out.data : "", out.n);
    fr_buffer_free(&out);
}
