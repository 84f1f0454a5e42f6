// ask.c — a body becomes jobs. Then what answers say besides their text: how they ended, what they
// took.
#include "serve/ask.h"
#include "api/logprobs.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "decode/counts.h"
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

// The tokens of a prompt that leaves no room for an answer; 0: there is none.
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

// Whether there will ever be room for all choices.
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
        c->told.stopped_by = c->told.context = -1;
        if (i) ask->choice[i - 1].job.next = &c->job;
    }
    return FR_OK;
}

// False: there is no room for it, or will be none.
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

static void wait_for_end(fr_job *job) {
    pthread_mutex_lock(&job->lock);
    while (job->state != FR_JOB_ENDED)
        fr_job_await(job, INT32_MAX, SIZE_MAX, 1);
    pthread_mutex_unlock(&job->lock);
}

void fr_ask_close(fr_ask *ask) {
    if (!ask) return;
    for (int i = 0; i < ask->n; i++)
        if (ask->submitted) fr_scheduler_cancel(ask->server->scheduler, &ask->choice[i].job);
    for (int i = 0; i < ask->n; i++)
        if (ask->submitted) wait_for_end(&ask->choice[i].job);
    for (int i = 0; i < ask->n; i++) {
        fr_job_close(&ask->choice[i].job);
        fr_told_close(&ask->choice[i].told);
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
    for (int i = 0; i < ask->n; i++) {
        fr_job *job = &ask->choice[i].job;
        bool ended = false;
        while (!ended) {
            pthread_mutex_lock(&job->lock);
            fr_job_await(job, INT32_MAX, SIZE_MAX, 0.25);
            ended = job->state == FR_JOB_ENDED;
            pthread_mutex_unlock(&job->lock);
            if (!ended && !fr_exchange_is_wanted(x)) return false;
        }
    }
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
        json_object_set_new(piece, "drafter", part_name(c->told.stats.used, of->drafter));
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
    if (to > from) st = fr_api_answer_push(a, c->told.text.data + from, to - from, err);
    if (!st && last) st = fr_api_answer_finish(a, err);
    if (!c->job.keep_pieces) return st;
    note_piece(c, "reasoning_content", &a->thinking, thought, of);
    note_piece(c, "content", &a->content, said, of);
    return st;
}

// Why a job that has ended has no answer. What came in time is one; what a server that ends has cut
// off is none, so that a proxy may ask another.
static fr_status why_none(const fr_ask *ask, const fr_told *t, fr_error *err) {
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
    const fr_told *t = &c->told;
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

// ---------------------------------------------------------------- parts of answers

const char *fr_ask_finish(const fr_choice *c) {
    if (c->told.end != FR_JOB_STOP) return "length";
    return c->answer.n_calls ? "tool_calls" : "stop";
}

const char *fr_ask_stop_string(const fr_choice *c) {
    return c->told.stopped_by < 0 ? NULL : c->request.stop[c->told.stopped_by];
}

int fr_ask_thought(const fr_ask *ask, const fr_choice *c) {
    return fr_api_thought_tokens(&c->answer, ask->server->api.tokenizer, &ask->request.shown,
                                 c->told.tokens, c->told.n_tokens);
}

json_t *fr_ask_usage(const fr_ask *ask) {
    int prompt = 0, cached = 0, written = 0, thought = 0;
    for (int i = 0; i < ask->n; i++) {
        const fr_told *t = &ask->choice[i].told;
        written += t->n_tokens;
        thought += fr_ask_thought(ask, &ask->choice[i]);
        if (i % ask->request.n) continue; // a prompt counts once
        prompt += ask->choice[i].request.n_prompt;
        cached += t->stats.prompt_reused;
    }
    return json_pack("{s:i, s:i, s:i, s:{s:i}, s:{s:i, s:i, s:i}}", "prompt_tokens", prompt,
                     "completion_tokens", written, "total_tokens", prompt + written,
                     "prompt_tokens_details", "cached_tokens", cached, "completion_tokens_details",
                     "reasoning_tokens", thought, "accepted_prediction_tokens", 0,
                     "rejected_prediction_tokens", 0);
}

static double per(double a, double b) {
    return b > 0 ? a / b : 0;
}

// Seconds of a job's parts, also while it is at work.
static double reading_of(const fr_told *t) {
    if (t->first_token > 0) return t->first_token - t->started;
    return (t->ended > 0 ? t->ended : fr_seconds()) - t->started;
}

static double writing_of(const fr_told *t) {
    if (t->first_token <= 0) return 0;
    return (t->ended > 0 ? t->ended : fr_seconds()) - t->first_token;
}

// Seconds that plain decoding of the same tokens would take: as the measured cost of passes predicts
// them, and by what these passes took beside their own prediction. 0: nothing is known.
static double plain_seconds(const fr_stats *s) {
    const double took = fr_pass_seconds(s->seconds_by_rows);
    return s->predicted > 0 ? s->predicted_plain * took / s->predicted : 0;
}

static json_t *timings(const fr_told *t, int reused, int read, double prompt, double wrote) {
    const fr_stats *s = &t->stats;
    const int later = t->n_tokens - t->n_first; // the first come with the prompt's last pass
    int64_t accepted = 0;
    for (int i = 0; i < FR_MAX_DEPTH; i++)
        accepted += s->accepted[i];
    json_t *doc =
        json_pack("{s:i, s:i, s:f, s:f, s:f, s:i, s:f, s:f, s:f, s:I, s:I, s:I}", "cache_n", reused,
                  "prompt_n", read, "prompt_ms", prompt, "prompt_per_token_ms", per(prompt, read),
                  "prompt_per_second", per(1e3 * read, prompt), "predicted_n", t->n_tokens,
                  "predicted_ms", wrote, "predicted_per_token_ms", per(wrote, later),
                  "predicted_per_second", per(1e3 * later, wrote), "draft_n",
                  (json_int_t)(s->rows - s->passes > 0 ? s->rows - s->passes : 0),
                  "draft_n_accepted", (json_int_t)accepted, "passes", (json_int_t)s->passes);
    if (doc && plain_seconds(s) > 0)
        json_object_set_new(doc, "plain_ms", json_real(1e3 * plain_seconds(s)));
    return doc;
}

json_t *fr_ask_timings(const fr_choice *c) {
    const fr_told *t = &c->told;
    const bool ended = t->state == FR_JOB_ENDED;
    const int reused = ended ? t->stats.prompt_reused : t->n_reused;
    const int known = ended         ? t->stats.prompt_tokens
                      : t->n_tokens ? c->request.n_prompt
                                    : t->n_read;
    return timings(t, reused, known - reused, 1e3 * reading_of(t), 1e3 * writing_of(t));
}

void fr_ask_add_seed(const fr_ask *ask, json_t *doc) {
    json_object_set_new(doc, "seed", json_integer((json_int_t)ask->request.sampling.seed));
}

void fr_ask_add_progress(json_t *doc, const fr_choice *c, int n_read) {
    const fr_told *t = &c->told;
    const int read = n_read - t->n_reused;
    const double ms = read > 0 ? 1e3 * reading_of(t) : 0; // before the first pass nothing is
    if (!doc) return;
    json_object_set_new(doc, "prompt_progress",
                        json_pack("{s:i, s:i, s:i, s:f}", "total", c->request.n_prompt, "cache",
                                  t->n_reused, "processed", n_read, "time_ms", ms));
    json_object_set_new(doc, "timings", timings(&(fr_told){0}, t->n_reused, read, ms, 0));
}

void fr_ask_add_prompt(const fr_ask *ask, const fr_choice *c, fr_buffer *text) {
    const int index = (int)(c - ask->choice);
    fr_error never;
    fr_api_prompt_text(&ask->request, &ask->server->api, index / ask->request.n, text, &never);
}

// Of a prompt and the answer that is behind it.
static json_t *echoed_logprobs(const fr_ask *ask, const fr_choice *c) {
    fr_buffer text = {0};
    fr_ask_add_prompt(ask, c, &text);
    json_t *list = fr_api_echoed_logprobs(&(fr_api_scored){.tokenizer = ask->server->api.tokenizer,
                                                           .token = c->request.prompt,
                                                           .score = c->told.prompt_logprobs,
                                                           .n = c->request.n_prompt,
                                                           .n_top = ask->request.top_logprobs,
                                                           .echoed = &text},
                                          &(fr_api_scored){.token = c->told.tokens,
                                                           .score = c->told.logprobs,
                                                           .n = c->told.n_tokens});
    fr_buffer_free(&text);
    return list;
}

static int prompt_characters(const fr_ask *ask, const fr_choice *c) {
    fr_buffer text = {0};
    fr_ask_add_prompt(ask, c, &text);
    const int n = fr_api_text_characters(text.data, text.n);
    fr_buffer_free(&text);
    return n;
}

// Characters of the text in front of a token, as text completions count them. What an earlier event
// has counted is not counted again.
static int offset_of(const fr_ask *ask, fr_choice *c, int token) {
    if (!c->n_counted && ask->request.echo) c->characters = prompt_characters(ask, c);
    if (token > c->n_counted) {
        c->characters += fr_api_characters(ask->server->api.tokenizer,
                                           c->told.tokens + c->n_counted, token - c->n_counted);
        c->n_counted = token;
    }
    return c->characters;
}

json_t *fr_ask_logprobs(const fr_ask *ask, fr_choice *c, int from) {
    if (ask->request.logprobs && ask->request.kind == FR_API_COMPLETION &&
        c->told.prompt_logprobs && !from)
        return echoed_logprobs(ask, c);
    fr_api_scored s = {.tokenizer = ask->server->api.tokenizer,
                       .token = c->told.tokens + from,
                       .score = c->told.logprobs + from,
                       .n = c->told.n_tokens - from,
                       .n_top = ask->request.top_logprobs,
                       .drawn = ask->request.post_sampling};
    if (!ask->request.logprobs || s.n < 1) return json_null();
    if (ask->request.kind == FR_API_CHAT) return fr_api_chat_logprobs(&s);
    s.offset = offset_of(ask, c, from);
    return fr_api_text_logprobs(&s);
}
