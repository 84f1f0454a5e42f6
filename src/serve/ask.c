// ask.c — makes jobs of a body, waits for them, and parses their texts.
#include "serve/ask.h"
#include "base/alloc.h"
#include "base/random.h"
#include "engine/text.h"
#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------- open

static int drafter_of(const fr_server *s, const char *name) {
    for (int i = 0; name && s->drafters[i]; i++)
        if (!strcmp(s->drafters[i], name)) return i;
    return name ? -1 : 0;
}

// Takes the chat request.
static fr_status read_chat(fr_api_request *r, const fr_server *s, fr_api_kind kind, json_t *chat,
                           const fr_api_model *model, fr_error *err) {
    fr_api_defaults defaults = s->defaults;
    if (!s->seed_given) defaults.sampling.seed = (uint32_t)fr_random();
    fr_status st = fr_api_parse_value(r, kind, chat, &defaults, err);
    if (!st && drafter_of(s, r->drafter) < 0)
        st = fr_fail(err, FR_EARG,
                     "drafter: expected one that the server was started with (/props has "
                     "\"drafters\"), found \"%.60s\"",
                     r->drafter);
    return st ? st : fr_api_encode(r, model, err);
}

fr_status fr_ask_read(fr_api_request *r, const fr_server *s, const fr_ask_options *options,
                      const json_t *body, int n_ctx, const fr_watch *watch, fr_error *err) {
    fr_api_model model = s->api;
    model.n_ctx = n_ctx;
    model.watch = watch;
    *r = (fr_api_request){0};
    json_t *chat =
        options->translate ? options->translate(body, watch, err) : json_incref((json_t *)body);
    if (!chat) return err->code;
    fr_status st = read_chat(r, s, options->kind, chat, &model, err);
    if (!st && options->translate && r->n != 1)
        st =
            fr_fail(err, FR_EARG, "n: there is one answer by this API: expected 1, found %d", r->n);
    if (st) fr_api_name_own(options->own, body, err);
    return st;
}

// What the client calls what the prompt is made of.
static const char *prompt_field(const fr_ask_options *options) {
    if (options->kind != FR_API_CHAT) return "prompt";
    for (const fr_api_own_name *at = options->own; at && at->chat; at++)
        if (!strcmp(at->chat, "messages")) return at->own;
    return "messages";
}

// The tokens of a prompt that fills the context; 0: there is no such prompt.
static size_t too_long(const fr_ask *ask) {
    for (int i = 0; i < ask->request.n_prompts; i++)
        if (ask->request.prompt[i].n >= (size_t)ask->server->n_ctx) return ask->request.prompt[i].n;
    return 0;
}

// Once, as clients that do it do so every time.
static void warn_of_beginnings(const fr_ask *ask) {
    const fr_api_request *r = &ask->request;
    fr_server *s = ask->server;
    fr_error says;
    for (int i = 0; r->kind == FR_API_COMPLETION && i < r->n_prompts; i++) {
        if (!fr_text_begins_twice(s->text, r->prompt[i].data, r->prompt[i].n, &says)) continue;
        if (!atomic_exchange(&s->said_twice, true)) fr_log_warning(s, says.text);
        return;
    }
}

// Whether the queue can ever hold all choices.
static fr_status check_room(const fr_ask *ask, fr_error *err) {
    const fr_api_request *r = &ask->request;
    const int room = fr_scheduler_room(ask->server->scheduler);
    if (fr_api_choices(r) <= room) return FR_OK;
    if (r->n_prompts == 1)
        return fr_fail(err, FR_EARG, "n: expected at most %d here, found %d", room, r->n);
    return fr_fail(err, FR_EARG, "prompt: expected at most %d answers here, found %d prompts of %d",
                   room, r->n_prompts, r->n);
}

static void open_answer(const fr_ask *ask, fr_choice *c) {
    const fr_api_request *r = &ask->request;
    const fr_text_info *t = fr_text_describe(ask->server->text);
    if (r->kind == FR_API_CHAT)
        fr_api_answer_open(&c->answer, !r->keeps_thinking, r->thinks, r->tools,
                           r->tools && t->tool_template ? t->tool_template : t->chat_template);
    c->answer.one_call = !r->several_calls;
    c->answer.offered = json_object_get(r->root, "tools");
}

static fr_status make_choices(fr_ask *ask, fr_exchange *x, fr_error *err) {
    const fr_api_request *r = &ask->request;
    const char *key = fr_exchange_key(x);
    ask->n = fr_api_choices(r);
    ask->choice = fr_alloc_array((size_t)ask->n, sizeof *ask->choice);
    if (!ask->choice) {
        ask->n = 0;
        return fr_fail(err, FR_ENOMEM, "no memory for %d choices", fr_api_choices(r));
    }
    for (int i = 0; i < ask->n; i++) {
        fr_choice *c = &ask->choice[i];
        fr_api_ask(r, i, &c->request, &c->sampling);
        open_answer(ask, c);
        c->job = (fr_job){.request = &c->request,
                          .owner = key,
                          .client = ask->address,
                          .drafter = drafter_of(ask->server, r->drafter),
                          .slot = i % r->n ? -1 : r->id_slot, // as in llama-server
                          .forget = !r->cache_prompt,
                          .keep_pieces = r->return_drafted,
                          .timeout = fr_seconds_left(ask->server, x),
                          .indent = r->indent,
                          .line_seconds = r->line_ms > 0 ? 1e-3 * (double)r->line_ms : 0};
        fr_job_open(&c->job);
        c->copy.stopped_by = c->copy.context = -1;
        if (i) ask->choice[i - 1].job.next = &c->job;
    }
    return FR_OK;
}

// False: it does not fit the queue now, or never will.
static bool submit(fr_ask *ask, fr_exchange *x) {
    static const char *const why[] = {
        [FR_QUEUE_FULL] = "too many requests wait already; try again",
        [FR_CONTEXT_BUSY] = "too many requests wait for a slot that they name; try again",
        [FR_DRAINING] = "this server is shutting down"};
    const fr_submitted said = fr_scheduler_submit(ask->server->scheduler, &ask->choice->job);
    ask->submitted = said == FR_SUBMITTED;
    if (!ask->submitted) fr_reply_error(x, 503, "unavailable_error", why[said]);
    return ask->submitted;
}

fr_status fr_ask_open(fr_ask **out, fr_server *server, fr_exchange *x,
                      const fr_ask_options *options, json_t *body, const fr_watch *watch,
                      fr_error *err) {
    *out = NULL;
    fr_ask *ask = fr_alloc_zero(sizeof *ask);
    if (!ask) {
        json_decref(body);
        return fr_fail(err, FR_ENOMEM, "no memory for the request");
    }
    ask->server = server;
    ask->body = body;
    fr_exchange_client(x, ask->address);
    ask->created = time(NULL);
    snprintf(ask->id, sizeof ask->id, "%s%016llx", options->id_prefix,
             (unsigned long long)fr_random());
    ask->tag = ask->id + strlen(options->id_prefix);
    fr_status st = fr_ask_read(&ask->request, server, options, body, server->n_ctx, watch, err);
    const bool unread = st == FR_ECONTEXT;
    const size_t length = unread ? ask->request.fewest : st ? 0 : too_long(ask);
    if (length) {
        fr_reply_too_long(x, prompt_field(options), length, unread, server->n_ctx);
        st = FR_OK;
    } else {
        if (!st) st = check_room(ask, err);
        if (!st) st = make_choices(ask, x, err);
        if (!st) warn_of_beginnings(ask);
        if (!st && submit(ask, x)) *out = ask;
    }
    if (!*out) fr_ask_close(ask);
    return st;
}

// ---------------------------------------------------------------- wait and close

void fr_ask_close(fr_ask *ask) {
    if (!ask) return;
    for (int i = 0; i < ask->n; i++)
        if (ask->submitted) fr_scheduler_cancel(ask->server->scheduler, &ask->choice[i].job);
    for (int i = 0; i < ask->n; i++)
        while (ask->submitted && !fr_job_await_end(&ask->choice[i].job, 1)) {
        }
    for (int i = 0; i < ask->n; i++) {
        fr_job_close(&ask->choice[i].job);
        fr_job_copy_close(&ask->choice[i].copy);
        fr_api_answer_close(&ask->choice[i].answer);
        json_decref(ask->choice[i].pieces);
        json_decref(ask->choice[i].items);
    }
    fr_free(ask->choice);
    fr_api_close(&ask->request);
    json_decref(ask->body);
    fr_free(ask);
}

bool fr_ask_wait(fr_ask *ask, fr_exchange *x) {
    for (int i = 0; i < ask->n; i++)
        while (!fr_job_await_end(&ask->choice[i].job, 0.25))
            if (!fr_exchange_is_wanted(x)) return false;
    return true;
}

// The name of a part of what drafts: "eagle" of "prompt-lookup+eagle".
static json_t *part_name(const char *used, int part) {
    for (; part > 0 && *used; part--) {
        used += strcspn(used, "+");
        used += *used == '+';
    }
    return json_stringn(used, strcspn(used, "+"));
}

// Adds a piece to the list of what the answer gained; nothing where it gained nothing.
static void note_piece(fr_choice *c, const char *name, const fr_buffer *text, size_t from,
                       const fr_job_piece *of) {
    if (text->n == from) return;
    if (!c->pieces) c->pieces = json_array();
    json_t *gained = fr_json_text(text->data + from, text->n - from);
    json_t *piece = json_pack("{s:o, s:i}", name, gained, "drafted", of->depth);
    if (of->depth)
        json_object_set_new(piece, "drafter", part_name(c->copy.stats.used, of->drafter));
    json_array_append_new(c->pieces, piece);
}

// Takes the text up to `to` apart; `last`: that is all. What the answer gains is the piece of that
// token, also where it was held back before.
static fr_status parse_to(fr_choice *c, size_t to, bool last, const fr_job_piece *of,
                          fr_error *err) {
    fr_api_answer *a = &c->answer;
    const size_t from = c->parsed, thought = a->thinking.n, said = a->content.n;
    fr_status st = FR_OK;
    c->parsed = to;
    if (to > from) st = fr_api_answer_push(a, c->copy.text.data + from, to - from, err);
    if (!st && last) st = fr_api_answer_finish(a, err);
    if (!c->job.keep_pieces) return st;
    note_piece(c, "reasoning_content", &a->thinking, thought, of);
    note_piece(c, "content", &a->content, said, of);
    return st;
}

// The error of an ended job without an answer. Text that came before a timeout is an answer. Text
// that an ending server has cut off is none, so that a proxy may retry at another server.
static fr_status why_none(const fr_ask *ask, const fr_job_copy *t, fr_error *err) {
    if (t->end == FR_JOB_FAILED) {
        *err = t->error;
        return err->code;
    }
    if (t->end == FR_JOB_CANCELLED)
        return fr_fail(err, FR_EINTR, "the answer was %s: this server is shutting down",
                       t->n_tokens ? "cut off" : "not begun");
    if (t->end == FR_JOB_REFUSED)
        return fr_fail(err, FR_EINTR, "the answer was %s: too many requests wait; try again",
                       t->n_tokens ? "broken off" : "not begun");
    if (t->n_tokens || t->end != FR_JOB_TIMED_OUT) return FR_OK;
    return fr_fail(err, FR_EINTR, "no answer could be begun within %g seconds; try again",
                   ask->server->timeout);
}

fr_status fr_ask_parse(const fr_ask *ask, fr_choice *c, fr_error *err) {
    const fr_job_copy *t = &c->copy;
    const bool ended = t->state == FR_JOB_ENDED;
    const fr_job_piece *piece = (const void *)t->pieces.data;
    const size_t n = t->pieces.n / sizeof *piece;
    static const fr_job_piece none = {0};
    fr_status st = ended ? why_none(ask, t, err) : FR_OK;
    if (st) return st;
    if (ask->request.kind != FR_API_CHAT) {
        c->parsed = t->text.n;
        return FR_OK;
    }
    for (; c->n_pieces < n && !st; c->n_pieces++)
        st = parse_to(c, piece[c->n_pieces].end, false, &piece[c->n_pieces], err);
    return st ? st : parse_to(c, t->text.n, ended, n ? &piece[n - 1] : &none, err);
}
