// activity.c — the work of this moment: /slots in llama.cpp's form, /activity with passes and
// memory.
#include "base/system_file.h"
#include "serve/server.h"
#include <string.h>

// False: the endpoint is switched off, and the refusal was replied.
static bool is_told(fr_exchange *x, const fr_server *s) {
    if (!s->slots)
        fr_reply_error(x, 501, "not_supported_error",
                       "this server does not tell of its slots. Start it with `--slots`");
    return s->slots;
}

static json_t *slots_json(const fr_server *s) {
    json_t *list = json_array();
    fr_context_state context[FR_SLOTS_MOST];
    const int n = fr_scheduler_contexts(s->scheduler, context);
    for (int i = 0; i < n; i++) {
        const fr_context_state *c = &context[i];
        json_array_append_new(
            list,
            json_pack("{s:i, s:i, s:b, s:b, s:b, s:I, s:s, s:i, s:i, s:i, s:[{s:b, s:i, s:i}]}",
                      "id", i, "n_ctx", s->n_ctx, "is_processing", c->busy, "is_paused", c->paused,
                      "speculative", strcmp(s->drafters[c->drafter], "none") != 0, "id_task",
                      (json_int_t)c->job, "drafter", s->drafters[c->drafter], "n_prompt_tokens",
                      c->n_prompt, "n_prompt_tokens_processed", c->n_read, "n_tokens", c->n_tokens,
                      "next_token", "has_next_token", c->busy, "n_remain",
                      c->busy && c->n_predict >= 0 ? c->n_predict - c->n_written : -1, "n_decoded",
                      c->busy ? c->n_written : 0));
    }
    return list;
}

void fr_handle_slots(fr_exchange *x, void *server) {
    const fr_server *s = server;
    const char *fails = fr_exchange_argument(x, "fail_on_no_slot");
    if (!is_told(x, s)) return;
    if (fails && *fails && fr_scheduler_look(s->scheduler).runs >= s->n_slots)
        fr_reply_error(x, 503, "unavailable_error", "no slot available");
    else
        fr_reply_json(x, 200, slots_json(s));
}

// ---------------------------------------------------------------- /activity

// Of all passes since the start, and of the last one; of both the tokens that they gave.
static json_t *passes_json(const fr_counters *t) {
    return json_pack("{s:I, s:I, s:I, s:f, s:{s:i, s:i, s:i, s:f, s:f}}", "passes",
                     (json_int_t)t->passes, "rows", (json_int_t)t->rows.sum, "tokens",
                     (json_int_t)t->pass_tokens.sum, "seconds", t->passed, "last", "texts",
                     t->last.sessions, "rows", t->last.rows, "tokens", t->last_tokens, "ms",
                     1e3 * t->last.seconds, "predicted_ms", 1e3 * t->last.predicted);
}

// Bytes: of the process, of the weights that a pass reads, of the contexts that are open.
static json_t *memory_json(const fr_server *s, int n_contexts) {
    uint64_t resident = 0;
    fr_system_entry("", "/proc/self/status", "VmRSS", &resident);
    return json_pack("{s:I, s:I, s:I}", "resident", (json_int_t)resident * 1024, "weights",
                     (json_int_t)fr_engine_describe(s->engine)->memory_bytes, "contexts",
                     (json_int_t)s->context_bytes * n_contexts);
}

void fr_handle_activity(fr_exchange *x, void *server) {
    const fr_server *s = server;
    if (!is_told(x, s)) return;
    const fr_scheduler_state state = fr_scheduler_look(s->scheduler);
    json_t *slots = slots_json(s);
    json_t *memory = memory_json(s, (int)json_array_size(slots));
    fr_reply_json(x, 200,
                  json_pack("{s:i, s:i, s:i, s:i, s:o, s:o, s:o}", "running", state.runs, "paused",
                            state.paused, "waiting", state.waits, "most", s->n_slots, "passes",
                            passes_json(&state.counters), "memory", memory, "slots", slots));
}
