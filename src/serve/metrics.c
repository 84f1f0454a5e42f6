// metrics.c — /metrics in Prometheus' text form: vLLM's names where it has them.
#include "serve/server.h"
#include <stdio.h>

static void add(fr_buffer *out, const char *name, const char *type, const char *help,
                double value) {
    char line[512];
    fr_error never;
    const int n = snprintf(line, sizeof line,
                           "# HELP forerun:%s %s\n# TYPE forerun:%s %s\nforerun:%s %.17g\n", name,
                           help, name, type, name, value);
    fr_buffer_add(out, line, (size_t)n, &never);
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
    add(&out, "num_requests_running", "gauge", "Requests that are being answered", l.runs);
    add(&out, "num_requests_waiting", "gauge", "Requests in the queue", l.waits);
    add(&out, "prompt_tokens_total", "counter", "Tokens of prompts that were read",
        (double)l.prompt_tokens);
    add(&out, "prefix_cache_hits_total", "counter", "Tokens of prompts that were known",
        (double)l.reused_tokens);
    add(&out, "generation_tokens_total", "counter", "Tokens that were written", (double)l.tokens);
    add(&out, "requests_total", "counter", "Answers that have ended", (double)l.jobs);
    add(&out, "requests_cancelled_total", "counter", "Of these, broken off", (double)l.cancelled);
    add(&out, "requests_failed_total", "counter", "Of these, failed", (double)l.failed);
    add(&out, "passes_total", "counter", "Passes of the model", (double)l.passes);
    add(&out, "busy_seconds_total", "counter", "Time of all steps", l.busy);
    fr_add_llama_metrics(&l, &out);
    snprintf(started, sizeof started, "%lld", (long long)s->created);
    fr_exchange_set(x, "Process-Start-Time-Unix", started);
    fr_exchange_reply(x, 200, "text/plain; version=0.0.4", out.data ? out.data : "", out.n);
    fr_buffer_free(&out);
}
