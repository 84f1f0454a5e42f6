// about.c — what the server and its model are: /v1/models, /health, /ready, /props.
#include "serve/server.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

// The parts of a list with commas.
static json_t *parts_of(const char *list) {
    json_t *parts = json_array();
    for (const char *at = list; at && *at;) {
        const size_t n = strcspn(at, ",");
        if (n) json_array_append_new(parts, fr_json_text(at, n));
        at += n;
        at += strspn(at, ", ");
    }
    return parts;
}

// The members with which Anthropic's API describes a model.
static void add_anthropics(const fr_server *s, json_t *doc) {
    char date[32];
    struct tm utc;
    const time_t created = (time_t)s->created;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&created, &utc));
    json_object_set_new(doc, "type", json_string("model"));
    json_object_set_new(doc, "display_name", fr_json_string(s->name));
    json_object_set_new(doc, "created_at", json_string(date));
}

static json_t *describe(const fr_server *s) {
    const fr_engine_info *e = fr_engine_describe(s->engine);
    const fr_text_info *t = fr_text_describe(s->text);
    json_t *meta =
        json_pack("{s:i, s:i, s:i, s:I, s:I, s:s}", "n_vocab", e->n_vocab, "n_ctx_train",
                  e->n_ctx_train, "n_embd", e->n_embd, "n_params", (json_int_t)e->parameters,
                  "size", (json_int_t)e->file_bytes, "quantization", e->quantization);
    json_t *doc =
        json_pack("{s:s, s:s, s:I, s:s, s:i, s:o, s:b, s:o, s:o}", "id", s->name, "object", "model",
                  "created", (json_int_t)s->created, "owned_by", "forerun", "max_model_len",
                  s->n_ctx, "meta", meta, "supports_tools", t->chat_tools, "aliases",
                  parts_of(s->aliases), "tags", parts_of(s->tags));
    add_anthropics(s, doc);
    return doc;
}

void fr_handle_models(fr_exchange *x, void *server) {
    const fr_server *s = server;
    fr_reply_json(x, 200,
                  json_pack("{s:s, s:[o], s:b, s:s, s:s}", "object", "list", "data", describe(s),
                            "has_more", 0, "first_id", s->name, "last_id", s->name));
}

// Whether a part of a path is that name of n bytes. The path may have %2F in place of '/'.
static bool is_name(const char *part, const char *name, size_t n) {
    for (const char *end = name + n; name < end; name++) {
        unsigned byte;
        char digits[3] = {0};
        if (*part == '%' && part[1] && part[2]) {
            memcpy(digits, part + 1, 2);
            if (sscanf(digits, "%2x", &byte) != 1 || (char)byte != *name) return false;
            part += 3;
        } else if (!*part || *part++ != *name) {
            return false;
        }
    }
    return !*part;
}

// ... or one of a list with commas.
static bool is_alias(const char *part, const char *list) {
    for (const char *at = list; at && *at;) {
        const size_t n = strcspn(at, ",");
        if (n && is_name(part, at, n)) return true;
        at += n;
        at += strspn(at, ", ");
    }
    return false;
}

void fr_handle_model(fr_exchange *x, void *server) {
    static const char above[] = "/v1/models/";
    const fr_server *s = server;
    const char *part = fr_exchange_path(x) + sizeof above - 1;
    if (is_name(part, s->name, strlen(s->name)) || is_alias(part, s->aliases))
        fr_reply_json(x, 200, describe(s));
    else
        fr_reply_error(x, 404, "not_found_error", "this server has another model; see /v1/models");
}

void fr_handle_health(fr_exchange *x, void *server) {
    (void)server;
    fr_reply_json(x, 200, json_pack("{s:s}", "status", "ok"));
}

void fr_handle_ready(fr_exchange *x, void *server) {
    fr_server *s = server;
    if (atomic_load(&s->ready))
        fr_reply_json(x, 200, json_pack("{s:s}", "status", "ready"));
    else
        fr_reply_error(x, 503, "unavailable_error", "this server is shutting down");
}

void fr_handle_props(fr_exchange *x, void *server) {
    const fr_server *s = server;
    const fr_text_info *t = fr_text_describe(s->text);
    const fr_api_sampling *d = &s->defaults.sampling;
    json_t *params = json_pack(
        "{s:f, s:i, s:f, s:f, s:f, s:i, s:f, s:f, s:i, s:I}", "temperature", (double)d->temperature,
        "top_k", d->top_k, "top_p", (double)d->top_p, "min_p", (double)d->min_p, "repeat_penalty",
        (double)d->repeat_penalty, "repeat_last_n", d->repeat_last_n, "frequency_penalty",
        (double)d->frequency_penalty, "presence_penalty", (double)d->presence_penalty, "n_predict",
        s->defaults.n_predict, "seed", s->seed_given ? (json_int_t)d->seed : -1);
    json_t *drafters = json_array();
    for (int i = 0; s->drafters[i]; i++)
        json_array_append_new(drafters, fr_json_string(s->drafters[i]));
    json_t *props = json_pack(
        "{s:{s:i, s:o}, s:i, s:s, s:o, s:o, s:o, s:s, s:s, s:o, s:b}",
        "default_generation_settings", "n_ctx", s->n_ctx, "params", params, "total_slots",
        s->n_slots, "model_alias", s->name, "model_path", fr_json_string(s->path), "modalities",
        json_pack("{s:b, s:b}", "vision", 0, "audio", 0), "chat_template",
        t->chat_template ? fr_json_text(t->chat_template, t->chat_template_bytes) : json_null(),
        "build_info", "forerun " FR_VERSION, "isa", fr_engine_describe(s->engine)->isa, "drafters",
        drafters, "is_sleeping", 0);
    if (t->tool_template)
        json_object_set_new(props, "chat_template_tool_use",
                            fr_json_text(t->tool_template, t->tool_template_bytes));
    fr_reply_json(x, 200, props);
}
