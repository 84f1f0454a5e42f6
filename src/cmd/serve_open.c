// serve_open.c — opens what `serve` needs: lists of the command line, the model, the scheduler.
#include "cmd/serve_job.h"
#include "draft/registry.h"
#include "serve/slots.h"
#include "text/stream.h"
#include <stdlib.h>
#include <string.h>

enum { USUAL_CONTEXT = 4096 };

// ---------------------------------------------------------------- lists

static fr_status take_drafters(fr_serve_job *j, fr_error *err) {
    int n = 0;
    j->drafters[n++] = j->args->drafter;
    if (j->args->drafters && !(j->list = strdup(j->args->drafters)))
        return fr_fail(err, FR_ENOMEM, "--drafters: no memory");
    char *rest = NULL;
    for (char *at = j->list ? strtok_r(j->list, ",", &rest) : NULL; at;
         at = strtok_r(NULL, ",", &rest)) {
        if (n == FR_SERVE_DRAFTERS)
            return fr_fail(err, FR_EARG, "--drafters: expected at most %d", FR_SERVE_DRAFTERS - 1);
        j->drafters[n++] = at;
    }
    for (int i = 0; i < n; i++) {
        const fr_status st = fr_drafter_check(j->drafters[i], err);
        if (st) return st;
    }
    return FR_OK;
}

static fr_status add_key(fr_serve_job *j, const char *key, fr_error *err) {
    if (j->n_keys == FR_SERVE_KEYS)
        return fr_fail(err, FR_EARG, "API keys: expected at most %d, found more", FR_SERVE_KEYS);
    j->keys[j->n_keys++] = key;
    return FR_OK;
}

// Cuts the text, which the keys stay in.
static fr_status split_keys(fr_serve_job *j, char *text, const char *between, fr_error *err) {
    char *rest = NULL;
    fr_status st = FR_OK;
    for (char *at = strtok_r(text, between, &rest); at && !st; at = strtok_r(NULL, between, &rest))
        st = add_key(j, at, err);
    return st;
}

// One a line of the file, commas and all; several with commas on the command line.
static fr_status take_keys(fr_serve_job *j, fr_error *err) {
    const char *file = j->args->api_key_file, *line = j->args->api_key;
    fr_status st = file ? fr_cmd_read_file(&j->key_file, file, err) : FR_OK;
    if (!st && j->key_file.data) st = split_keys(j, j->key_file.data, "\r\n", err);
    if (!st && line) st = fr_buffer_add(&j->key_line, line, strlen(line) + 1, err);
    if (!st && line) st = split_keys(j, j->key_line.data, ",", err);
    if (!st && file && !j->n_keys)
        st = fr_fail(err, FR_EARG, "%s: expected an API key a line, found none", file);
    if (!st && j->args->api_key && !j->n_keys)
        st = fr_fail(err, FR_EARG, "--api-key: expected a key, found none");
    return st;
}

fr_status fr_serve_take_lists(fr_serve_job *j, fr_error *err) {
    const fr_status st = take_drafters(j, err);
    return st ? st : take_keys(j, err);
}

// ---------------------------------------------------------------- settings

// Tokens of each context.
static int context_of(const fr_cmd_args *args, const fr_engine *engine) {
    const int most = fr_engine_describe(engine)->n_ctx_train;
    const int asked = args->slot_ctx ? args->slot_ctx : args->ctx;
    int n = args->slot_ctx ? args->slot_ctx
            : args->ctx    ? args->ctx / args->parallel
                           : USUAL_CONTEXT;
    if (n < 64) n = 64;
    if (n <= most) return n;
    if (asked)
        fprintf(stderr, "forerun: %s %d: the model's context has %d tokens, which is taken\n",
                args->slot_ctx ? "--slot-ctx" : "--ctx-size", asked, most);
    return most;
}

// As many contexts as the memory for them holds.
static int kept_of(const fr_cmd_args *args, const fr_engine *engine, int n_ctx) {
    const size_t each = fr_kv_bytes(&engine->model.config, n_ctx, fr_cmd_kv_kind(args));
    const size_t n = ((size_t)args->cache_ram << 20) / each;
    const size_t most = (size_t)(FR_SLOTS_MOST - args->parallel);
    return (int)(n < most ? n : most);
}

static fr_api_defaults defaults_of(const fr_cmd_args *args) {
    fr_api_defaults d = fr_api_usual(0);
    d.sampling.temperature = (float)args->temp;
    d.sampling.top_k = args->top_k;
    d.sampling.top_p = (float)args->top_p;
    d.sampling.min_p = (float)args->min_p;
    d.sampling.seed = args->seed;
    d.sampling.repeat_penalty = (float)args->repeat_penalty;
    d.sampling.repeat_last_n = args->repeat_last_n;
    d.n_predict = args->n_predict;
    d.no_thinking = args->reasoning == FR_REASONING_OFF;
    return d;
}

// ---------------------------------------------------------------- open

// Names go into JSON, so they are UTF-8 whatever the line holds.
static void take_name(fr_serve_job *j, const char *from, size_t n) {
    char clean[3 * sizeof j->name];
    const size_t room = sizeof j->name - 1;
    n = fr_utf8_repair(from, n < room ? n : room, clean);
    if (n > room)
        for (n = room; n && ((unsigned char)clean[n] & 0xc0) == 0x80;) // no part of a character
            n--;
    memcpy(j->name, clean, n);
    j->name[n] = 0;
}

// Of several names the first in the order of their bytes, as llama-server has it.
static const char *first_alias(fr_serve_job *j) {
    const char *best = j->args->alias;
    for (const char *at = best; *at; at += strspn(at, ", ")) {
        const size_t n = strcspn(at, ",");
        if (strcmp(at, best) < 0) best = at;
        at += n;
    }
    take_name(j, best, strcspn(best, ","));
    return j->name;
}

// A model is called as its file is, unless it was called otherwise.
static const char *name_of(fr_serve_job *j) {
    const char *slash = strrchr(j->args->model, '/');
    if (j->args->alias) return first_alias(j);
    const char *file = slash ? slash + 1 : j->args->model;
    take_name(j, file, strlen(file));
    char *end = strrchr(j->name, '.');
    if (end && end != j->name && !strcmp(end, ".gguf")) *end = 0;
    return j->name;
}

// The drafters that requests may name are opened when one does: that they can be is seen now.
static fr_status try_drafters(const fr_serve_job *j, fr_error *err) {
    const fr_server *s = &j->server;
    fr_status st = FR_OK;
    for (int i = 1; j->drafters[i] && !st; i++) {
        fr_session *session;
        const fr_session_options o = {.size = sizeof o,
                                      .drafter = j->drafters[i],
                                      .kv_type = fr_cmd_kv_type(j->args),
                                      .n_ctx = s->n_ctx < 64 ? s->n_ctx : 64};
        st = fr_session_open(&session, s->engine, &o, err);
        if (!st) fr_session_close(session);
    }
    return st;
}

static fr_status open_scheduler(fr_serve_job *j, fr_error *err) {
    const fr_cmd_args *args = j->args;
    fr_server *s = &j->server;
    s->n_ctx = context_of(args, s->engine);
    s->n_slots = args->parallel;
    s->context_bytes = fr_kv_bytes(&s->engine->model.config, s->n_ctx, fr_cmd_kv_kind(args));
    const fr_scheduler_options o = {
        .contexts = {.drafters = j->drafters,
                     .kv_type = fr_cmd_kv_type(args),
                     .tree = args->tree,
                     .no_adapt = args->no_adapt,
                     .draft_opts = args->draft_opts.n ? args->draft_opts.item : NULL,
                     .n_ctx = s->n_ctx,
                     .prompt_share = (float)args->prompt_share,
                     .ready = args->parallel,
                     .most = args->parallel + kept_of(args, s->engine, s->n_ctx)},
        .n_queue = args->queue};
    return fr_scheduler_open(&s->scheduler, s->engine, &o, err);
}

// Whether any request may be drafted for.
static bool drafts(const fr_serve_job *j) {
    for (int i = 0; j->drafters[i]; i++)
        if (strcmp(j->drafters[i], "none") != 0) return true;
    return false;
}

fr_status fr_serve_open(fr_serve_job *j, const fr_parsed *parsed, fr_error *err) {
    const fr_cmd_args *args = j->args;
    fr_server *s = &j->server;
    fr_status st = fr_cmd_engine_open(&s->engine, args, err);
    if (!st && drafts(j)) st = fr_cmd_profile(s->engine, args, 0, err);
    if (st) return st;
    fr_cmd_text_lend(&j->text, s->engine);
    if (args->chat_template || args->chat_template_file)
        st = fr_cmd_text_template(&j->text, args, err);
    if (st) return st;
    s->text = j->text.text;
    s->api = (fr_api_model){.tokenizer = s->engine->tokenizer,
                            .chat = &s->text->chat,
                            .n_vocab = s->engine->model.config.n_vocab,
                            .shown = &j->shown};
    s->defaults = defaults_of(args);
    s->seed_given = fr_option_given(&fr_cmd_serve.table, parsed, "seed");
    s->name = name_of(j);
    s->aliases = args->alias;
    s->tags = args->tags;
    s->verbose = args->verbose;
    s->path = args->model;
    s->drafters = j->drafters;
    s->timeout = args->timeout;
    s->metrics = args->metrics;
    s->slots = !args->no_slots;
    s->page = !args->no_page;
    s->json_log = args->log_format == 1;
    s->quiet = args->quiet;
    s->created = time(NULL);
    st = fr_api_shown_open(&j->shown, s->engine->tokenizer, err);
    if (!st) st = open_scheduler(j, err);
    if (!st) st = fr_preparer_open(&s->preparer, err);
    if (!st) st = try_drafters(j, err);
    atomic_store(&s->ready, !st);
    return st;
}

void fr_serve_close(fr_serve_job *j) {
    fr_http_close(j->http);
    fr_preparer_close(j->server.preparer);
    fr_scheduler_close(j->server.scheduler);
    fr_api_shown_close(&j->shown);
    fr_cmd_text_close(&j->text);
    fr_engine_close(j->server.engine);
    fr_buffer_free(&j->key_file);
    fr_buffer_free(&j->key_line);
    free(j->list);
}
