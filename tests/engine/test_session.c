// The public interface on tiny models: what a program that links the library sees.
#define _GNU_SOURCE
#include "decode/decoder.h"
#include "engine/engine.h"
#include "support/tiny_model.h"
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char model_path[64];

static int write_model(void **state) {
    (void)state;
    fr_error err;
    snprintf(model_path, sizeof model_path, "session-test-%d.gguf", (int)getpid());
    return fr_tiny_write(&(fr_tiny_options){.type = FR_TYPE_Q8_0, .n_ctx = 128, .head_dim = 32},
                         model_path, &err);
}

static int remove_model(void **state) {
    (void)state;
    return remove(model_path);
}

static fr_engine *open_engine(const char *isa, int threads) {
    fr_engine *e;
    fr_error err;
    fr_engine_options o = {.size = sizeof o, .isa = isa, .threads = threads};
    if (fr_engine_open(&e, model_path, &o, &err)) fail_msg("%s", err.text);
    return e;
}

static fr_session *open_session(fr_engine *e, const char *drafter, int n_ctx) {
    fr_session *s;
    fr_error err;
    fr_session_options o = {.size = sizeof o, .drafter = drafter, .n_ctx = n_ctx};
    if (fr_session_open(&s, e, &o, &err)) fail_msg("%s", err.text);
    return s;
}

static const int32_t PROMPT[] = {'t', 'h', 'e', ' ', 'a', 'n', 'd', ' ', 't', 'h', 'e', ' ', 'a'};
enum { N_PROMPT = sizeof PROMPT / sizeof *PROMPT };

typedef struct heard {
    char text[4096];
    size_t bytes;
    int pieces, stop_after;
} heard;

static bool hear(void *user, const fr_piece *piece) {
    heard *h = user;
    memcpy(h->text + h->bytes, piece->text, piece->bytes);
    h->bytes += piece->bytes;
    h->pieces += piece->bytes > 0;
    return h->stop_after == 0 || h->pieces < h->stop_after;
}

static fr_request request(int n, heard *h) {
    return (fr_request){.size = sizeof(fr_request),
                        .prompt = PROMPT,
                        .n_prompt = N_PROMPT,
                        .n_predict = n,
                        .ignore_eos = true,
                        .stream = h ? hear : NULL,
                        .user = h};
}

static void the_stream_is_the_text(void **state) {
    (void)state;
    fr_engine *e = open_engine(NULL, 2);
    fr_session *s = open_session(e, "prompt-lookup", 0);
    heard h = {.bytes = 0};
    const fr_result *r;
    fr_request q = request(60, &h);
    q.sampling = &(fr_sampling){.size = sizeof(fr_sampling), .temperature = 1, .seed = 8};
    assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
    assert_int_equal(r->n_tokens, 60);
    assert_int_equal(r->text_bytes, h.bytes);
    assert_memory_equal(r->text, h.text, h.bytes);
    assert_int_equal(r->stats->finish, FR_FINISH_LENGTH);
    assert_int_equal(r->stats->completion_tokens, 60);
    assert_string_equal(r->stats->used, "prompt-lookup");
    assert_true(r->stats->lossless && r->stats->exact_law && r->stats->passes <= 60);
    fr_session_close(s);
    fr_engine_close(e);
}

static void every_mode_gives_the_same_text(void **state) {
    (void)state;
    const char *isa[] = {"scalar", "auto"}, *drafter[] = {"none", "prompt-lookup", "auto"};
    char expected[4096];
    size_t bytes = 0;
    for (int i = 0; i < 2; i++)
        for (int threads = 1; threads <= 3; threads++) {
            fr_engine *e = open_engine(isa[i], threads);
            for (int k = 0; k < 3; k++) {
                fr_session *s = open_session(e, drafter[k], 0);
                fr_request q = request(-1, NULL);
                const fr_result *r;
                q.sampling = &(fr_sampling){.size = sizeof(fr_sampling),
                                            .temperature = 0.9f,
                                            .top_k = 40,
                                            .seed = 77,
                                            .repeat_penalty = 1.1f};
                assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
                assert_int_equal(r->n_tokens, 128 - N_PROMPT); // to the context's end
                if (!bytes) memcpy(expected, r->text, bytes = r->text_bytes);
                assert_int_equal(r->text_bytes, bytes);
                assert_memory_equal(r->text, expected, bytes);
                fr_session_close(s);
            }
            fr_engine_close(e);
        }
}

// What a host program has set for its own numbers, as rounding upward, is not for these.
static void the_host_may_round_as_it_likes(void **state) {
    (void)state;
    enum { N = 60 };
    fr_engine *e = open_engine(NULL, 2);
    float expected[N_PROMPT + N];
    for (int round = 0; round < 2; round++) {
        fr_session *s = open_session(e, "prompt-lookup", 0);
        const fr_result *r;
        fr_request q = request(N, NULL);
        q.sampling = &(fr_sampling){.size = sizeof(fr_sampling), .temperature = 0.9f, .seed = 3};
        q.logprobs = q.prompt_logprobs = true;
        const int before = fegetround();
        fesetround(round ? FE_UPWARD : before);
        const fr_status st = fr_session_generate(s, &q, &r, NULL);
        const int after = fegetround();
        fesetround(before);
        assert_int_equal(st, FR_OK);
        assert_int_equal(after, round ? FE_UPWARD : before);
        assert_int_equal(r->n_tokens, N);
        for (int i = 1; i < N_PROMPT + N; i++) {
            const fr_logprobs *at =
                i < N_PROMPT ? r->prompt_logprobs[i] : r->logprobs[i - N_PROMPT];
            if (!round) expected[i] = at->logprob;
            if (at->logprob != expected[i]) fail_msg("token %d", i);
        }
        fr_session_close(s);
    }
    fr_engine_close(e);
}

static fr_stats generate_by(fr_engine *e, const char *accept, uint64_t seed, char text[4096]) {
    fr_error err;
    fr_session *s;
    const fr_result *r;
    const fr_session_options o = {.size = sizeof o, .drafter = "prompt-lookup", .accept = accept};
    fr_request q = request(60, NULL);
    q.sampling = &(fr_sampling){.size = sizeof(fr_sampling), .temperature = 1.5f, .seed = seed};
    if (fr_session_open(&s, e, &o, &err)) fail_msg("%s", err.text);
    assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_OK);
    assert_int_equal(r->n_tokens, 60);
    memcpy(text, r->text, r->text_bytes);
    text[r->text_bytes] = 0;
    const fr_stats stats = *r->stats;
    fr_session_close(s);
    return stats;
}

static void every_rule_says_what_it_promises(void **state) {
    (void)state;
    fr_engine *e = open_engine(NULL, 2);
    char exact[4096], other[4096], again[4096];
    fr_stats s = generate_by(e, "exact", 6, exact);
    assert_true(s.lossless && s.exact_law);
    s = generate_by(e, NULL, 6, other);
    assert_true(s.lossless && s.exact_law);
    assert_string_equal(exact, other);
    s = generate_by(e, "rejection", 6, other); // noise of its own
    assert_true(!s.lossless && s.exact_law);
    assert_string_not_equal(exact, other);
    generate_by(e, "rejection", 6, again); // but that of the seed
    assert_string_equal(other, again);
    s = generate_by(e, "typical:0.2,0.4", 6, other);
    assert_true(!s.lossless && !s.exact_law);
    fr_engine_close(e);
}

static void a_stop_string_cuts_exactly_before_it(void **state) {
    (void)state;
    fr_engine *e = open_engine(NULL, 1);
    char whole[4096];
    const fr_result *r;
    fr_session *plain = open_session(e, "none", 0);
    fr_request q = request(80, NULL);
    q.sampling = &(fr_sampling){.size = sizeof(fr_sampling), .temperature = 1, .seed = 5};
    assert_int_equal(fr_session_generate(plain, &q, &r, NULL), FR_OK);
    memcpy(whole, r->text, r->text_bytes);
    size_t n = r->text_bytes;
    fr_session_close(plain);
    int tried = 0;
    for (size_t at = 3; at + 3 < n && tried < 6; at++) {
        if ((whole[at] & 0x80) || (whole[at + 1] & 0x80) || (whole[at + 2] & 0x80))
            continue; // pieces of U+FFFD
        tried++;
        char stop[4] = {whole[at], whole[at + 1], whole[at + 2]};
        const char *first = memmem(whole, n, stop, 3), *stops[] = {"never in there", stop, NULL};
        for (int k = 0; k < 2; k++) {
            fr_session *s = open_session(e, k ? "prompt-lookup" : "none", 0);
            q.stop = stops;
            assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
            assert_int_equal(r->stats->finish, FR_FINISH_STOP);
            assert_int_equal(r->text_bytes, first - whole);
            assert_memory_equal(r->text, whole, r->text_bytes);
            assert_int_equal(r->stopped_by, 1);
            q.stop = NULL;
            assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
            assert_int_equal(r->stopped_by, -1);
            fr_session_close(s);
        }
    }
    assert_true(tried > 1);
    fr_engine_close(e);
}

static int first_of(const int32_t *tokens, int n, int32_t token) {
    int at = 0;
    while (at < n && tokens[at] != token)
        at++;
    return at;
}

// A control token is no text, and still ends the text where a stop string names it: at that token,
// wherever it stands in a draft. The bias has <|im_start|> drawn now and then.
static void a_stop_string_may_name_a_control_token(void **state) {
    (void)state;
    enum { N = 100 };
    static const char *const drafters[] = {"none", "prompt-lookup"};
    fr_engine *e = open_engine(NULL, 1);
    const int32_t mark = fr_tokenizer_find(e->tokenizer, "<|im_start|>", 12);
    const fr_logit_bias bias = {mark, 5};
    int32_t whole[N];
    char text[4096] = "";
    int marks = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        const fr_sampling drawn = {
            .size = sizeof drawn, .temperature = 0.7f, .seed = seed, .bias = &bias, .n_bias = 1};
        fr_request q = request(N, NULL);
        const fr_result *r;
        fr_session *s = open_session(e, "none", 0);
        q.sampling = &drawn;
        assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
        memcpy(whole, r->tokens, sizeof whole);
        const int at = first_of(whole, N, mark);
        q.n_predict = at;
        assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
        snprintf(text, sizeof text, "%s", r->text);
        fr_session_close(s);
        q.n_predict = N;
        q.stop = (const char *[]){"never in there", "<|im_start|>", NULL};
        marks += at < N;
        for (int k = 0; k < 2 && at < N; k++) {
            s = open_session(e, drafters[k], 0);
            assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
            assert_int_equal(r->n_tokens, at + 1);
            assert_int_equal(r->stats->finish, FR_FINISH_STOP);
            assert_int_equal(r->stopped_by, 1);
            assert_string_equal(r->text, text);
            fr_session_close(s);
        }
    }
    assert_in_range(marks, 2, 8);
    fr_engine_close(e);
}

// An end that a stop string names is reported as that string, though it would end the text anyway.
static void an_end_that_a_stop_string_names_is_that_string(void **state) {
    (void)state;
    fr_engine *e = open_engine(NULL, 1);
    fr_session *s = open_session(e, "none", 0);
    const fr_result *r;
    const int32_t end = fr_tokenizer_find(e->tokenizer, "<|im_end|>", 10);
    const fr_logit_bias bias = {end, 100};
    fr_request q = request(3, NULL);
    q.ignore_eos = false;
    q.sampling = &(fr_sampling){.size = sizeof(fr_sampling), .bias = &bias, .n_bias = 1};
    for (int k = 0; k < 2; k++) {
        q.stop = k ? (const char *[]){"<|im_end|>", NULL} : NULL;
        assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
        assert_int_equal(r->n_tokens, 1);
        assert_int_equal(r->stats->finish, FR_FINISH_STOP);
        assert_int_equal(r->stopped_by, k ? 0 : -1);
        assert_int_equal(r->text_bytes, 0);
    }
    fr_session_close(s);
    fr_engine_close(e);
}

static void a_stop_token_is_the_last(void **state) {
    (void)state;
    enum { N = 80 };
    static const char *const drafters[] = {"none", "prompt-lookup"};
    fr_engine *e = open_engine(NULL, 1);
    const fr_result *r;
    int32_t whole[N];
    fr_request q = request(N, NULL);
    q.sampling = &(fr_sampling){.size = sizeof(fr_sampling), .temperature = 1, .seed = 5};
    for (int k = 0; k < 2; k++) {
        fr_session *s = open_session(e, drafters[k], 0);
        q.n_stop_tokens = 0;
        assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
        assert_int_equal(r->stop_token, -1);
        memcpy(whole, r->tokens, sizeof whole);
        for (int i = 5; i < N; i += 20) {
            const int32_t stops[] = {whole[N - 1], whole[i]};
            const int here = first_of(whole, N, whole[i]), last = first_of(whole, N, whole[N - 1]);
            const int at = here < last ? here : last;
            fr_request some = q;
            some.n_predict = at + 1;
            assert_int_equal(fr_session_generate(s, &some, &r, NULL), FR_OK);
            char text[4096];
            snprintf(text, sizeof text, "%s", r->text);
            q.stop_tokens = stops;
            q.n_stop_tokens = 2;
            assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
            assert_int_equal(r->n_tokens, at + 1);
            assert_memory_equal(r->tokens, whole, sizeof *whole * (size_t)(at + 1));
            assert_string_equal(r->text, text); // with the token's own
            assert_int_equal(r->stats->finish, FR_FINISH_STOP);
            assert_int_equal(r->stop_token, whole[at]);
            assert_int_equal(r->stopped_by, -1);
        }
        fr_session_close(s);
    }
    fr_engine_close(e);
}

// Although ignore_eos is set, which forbids all other ends.
static void an_end_may_be_a_stop_token(void **state) {
    (void)state;
    fr_engine *e = open_engine(NULL, 1);
    fr_session *s = open_session(e, "none", 0);
    const fr_result *r;
    const int32_t end = fr_tokenizer_find(e->tokenizer, "<|im_end|>", 10);
    const fr_logit_bias bias = {end, 100};
    fr_request q = request(80, NULL);
    q.sampling = &(fr_sampling){.size = sizeof(fr_sampling), .bias = &bias, .n_bias = 1};
    q.stop_tokens = &end;
    q.n_stop_tokens = 1;
    assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
    assert_int_equal(r->n_tokens, 1);
    assert_int_equal(r->stop_token, end);
    fr_session_close(s);
    fr_engine_close(e);
}

static void stop_tokens_lie_in_the_vocabulary(void **state) {
    (void)state;
    fr_engine *e = open_engine(NULL, 1);
    fr_session *s = open_session(e, "none", 0);
    fr_error err;
    fr_request q = request(80, NULL);
    q.stop_tokens = (const int32_t[]){1 << 30};
    q.n_stop_tokens = 1;
    assert_int_equal(fr_session_generate(s, &q, NULL, &err), FR_EARG);
    assert_non_null(strstr(err.text, "stop tokens: expected token ids below"));
    q.stop_tokens = NULL;
    assert_int_equal(fr_session_generate(s, &q, NULL, &err), FR_EARG);
    fr_session_close(s);
    fr_engine_close(e);
}

static void the_listener_can_stop_it_and_the_session_goes_on(void **state) {
    (void)state;
    fr_engine *e = open_engine(NULL, 2);
    fr_session *s = open_session(e, "prompt-lookup", 0);
    heard h = {.stop_after = 5}, again = {.bytes = 0};
    const fr_result *r;
    fr_request q = request(50, &h);
    assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
    assert_int_equal(r->stats->finish, FR_FINISH_INTERRUPTED);
    assert_int_equal(h.pieces, 5);
    q = request(50, &again);
    assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
    assert_int_equal(r->stats->prompt_reused, N_PROMPT - 1);
    assert_int_equal(r->n_tokens, 50);
    assert_memory_equal(again.text, h.text, h.bytes);
    fr_session_close(s);
    fr_engine_close(e);
}

// Sessions of one engine that take turns give what each gives alone; one that is broken off keeps
// what it has, and goes on with another request.
static void sessions_take_turns(void **state) {
    (void)state;
    static const char *const drafters[] = {"none", "prompt-lookup", "lookahead"};
    enum { N = 3, TOKENS = 50 };
    fr_engine *e = open_engine(NULL, 2);
    fr_session *s[N];
    const fr_result *alone, *r[N];
    heard h[N] = {{.bytes = 0}};
    fr_request q[N];
    const fr_sampling drawn = {.size = sizeof drawn, .temperature = 1, .seed = 4};
    bool going = true;
    fr_error err;
    for (int i = 0; i < N; i++) {
        s[i] = open_session(e, drafters[i], 0);
        q[i] = request(TOKENS, &h[i]);
        q[i].sampling = &drawn;
        r[i] = fr_session_result(s[i]);
        assert_int_equal(fr_session_begin(s[i], &q[i], NULL), FR_OK);
        assert_int_equal(r[i]->n_tokens, 0);
    }
    assert_int_equal(fr_session_begin(s[0], &q[0], &err), FR_EARG); // one at a time
    assert_non_null(strstr(err.text, "at work"));
    while (going) {
        const int before = r[0]->n_tokens;
        going = false;
        for (int i = 0; i < N; i++)
            going |= fr_session_step(s[i]);
        if (before < TOKENS) assert_int_equal(r[0]->n_tokens, before + 1); // plain decoding's pass
    }
    for (int i = 0; i < N; i++) {
        assert_false(fr_session_step(s[i]));
        assert_int_equal(fr_session_end(s[i], NULL), FR_OK);
        assert_int_equal(r[i]->stats->finish, FR_FINISH_LENGTH);
        assert_int_equal(r[i]->stats->completion_tokens, TOKENS);
        assert_true(r[i]->stats->seconds_decode > 0);
        assert_int_equal(h[i].bytes, r[i]->text_bytes);
    }
    fr_session *other = open_session(e, "none", 0);
    assert_int_equal(fr_session_generate(other, &q[0], &alone, NULL), FR_OK);
    for (int i = 0; i < N; i++) {
        assert_memory_equal(r[i]->tokens, alone->tokens, sizeof *alone->tokens * TOKENS);
        assert_int_equal(r[i]->text_bytes, alone->text_bytes);
        assert_memory_equal(r[i]->text, alone->text, alone->text_bytes);
    }
    assert_int_equal(fr_session_begin(s[1], &q[1], NULL), FR_OK);
    assert_true(fr_session_step(s[1]));
    assert_int_equal(fr_session_end(s[1], NULL), FR_OK); // broken off
    assert_int_equal(r[1]->stats->finish, FR_FINISH_INTERRUPTED);
    assert_true(r[1]->n_tokens >= 1 && r[1]->n_tokens < TOKENS);
    assert_memory_equal(r[1]->tokens, alone->tokens,
                        sizeof *alone->tokens * (size_t)r[1]->n_tokens);
    assert_int_equal(fr_session_begin(s[2], &q[2], NULL), FR_OK);
    fr_session_close(s[2]); // in the midst of one
    assert_int_equal(fr_session_generate(s[1], &q[1], &r[1], NULL), FR_OK);
    assert_memory_equal(r[1]->tokens, alone->tokens, sizeof *alone->tokens * TOKENS);
    fr_session_close(s[0]);
    fr_session_close(s[1]);
    fr_session_close(other);
    fr_engine_close(e);
}

// Token 250 spoils its row. What came before it is handed out; nothing after.
static void a_broken_model_ends_the_answer_with_a_sentence(void **state) {
    (void)state;
    static const char *const drafters[] = {"none", "prompt-lookup", "lookahead"};
    static const char *const accepts[] = {"exact", "rejection", "typical"};
    const fr_tiny_options tiny = {.untied = true, .n_ctx = 128};
    char path[80];
    fr_engine *e;
    fr_session *s;
    fr_error err;
    int32_t prompt[] = {'t', 'h', 'e', ' ', 'c', 't', 'h', 'e', ' '};
    enum { N = sizeof prompt / sizeof *prompt };
    snprintf(path, sizeof path, "%s.broken", model_path);
    const size_t at = 64 * 250 + 7;
    if (fr_tiny_write_broken(&tiny, path, "token_embd.weight", at, NAN, &err))
        fail_msg("%s", err.text);
    if (fr_engine_open(&e, path,
                       &(fr_engine_options){.size = sizeof(fr_engine_options), .threads = 1}, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 9; i++) {
        const fr_session_options o = {
            .size = sizeof o, .drafter = drafters[i / 3], .accept = accepts[i % 3]};
        const fr_result *r;
        heard h = {.bytes = 0};
        fr_request q = {.size = sizeof q,
                        .prompt = prompt,
                        .n_prompt = N,
                        .n_predict = 20,
                        .ignore_eos = true,
                        .stream = hear,
                        .user = &h};
        if (fr_session_open(&s, e, &o, &err)) fail_msg("%s", err.text);
        prompt[N - 1] = ' ';
        assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_OK); // never comes to it
        assert_int_equal(r->n_tokens, 20);
        prompt[N - 1] = 250;
        h.bytes = 0;
        assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_EDATA);
        assert_non_null(strstr(err.text, "behind 9 tokens are not finite"));
        assert_true(!r->n_tokens && !r->text_bytes && !h.bytes && !r->stats->completion_tokens);
        prompt[N - 1] = ' ';
        assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_OK); // nor does it last
        fr_session_close(s);
    }
    fr_engine_close(e);
    remove(path);
}

// A context may come from a session that is at work, is longer than there is room for, or differs
// from the session's own.
static void a_session_may_adopt_the_context_of_another(void **state) {
    (void)state;
    static const char *const drafters[] = {"none", "prompt-lookup", "lookahead"};
    enum { N = 3, TOKENS = 40, READ = 20, SMALL = 32 };
    fr_engine *e = open_engine(NULL, 2), *e2 = open_engine(NULL, 1);
    fr_session *from = open_session(e, "prompt-lookup", 0), *stranger = open_session(e2, "none", 0);
    fr_session *small = open_session(e, "none", SMALL), *q8, *mixed;
    heard h = {.bytes = 0}, unheard = {.bytes = 0};
    const fr_result *whole, *r;
    fr_error err;
    int32_t text[N_PROMPT + TOKENS];
    fr_request q = request(TOKENS, &h), more = request(TOKENS - READ, &unheard);
    whole = fr_session_result(from);
    assert_int_equal(fr_session_begin(from, &q, NULL), FR_OK);
    while (whole->n_tokens < READ)
        assert_true(fr_session_step(from));
    memcpy(text, PROMPT, sizeof PROMPT);
    memcpy(text + N_PROMPT, whole->tokens, sizeof *text * READ);
    more.prompt = text;
    more.n_prompt = N_PROMPT + READ;
    fr_session *s[N];
    for (int i = 0; i < N; i++) {
        s[i] = open_session(e, drafters[i], 0);
        if (i)
            assert_int_equal(fr_session_generate(s[i],
                                                 &(fr_request){.size = sizeof(fr_request),
                                                               .prompt = text + i,
                                                               .n_prompt = 9,
                                                               .n_predict = 5},
                                                 &r, NULL),
                             FR_OK);
        assert_int_equal(fr_session_adopt(s[i], from, NULL), FR_OK);
    }
    assert_int_equal(fr_session_adopt(small, from, NULL), FR_OK);
    while (fr_session_step(from)) {
    }
    assert_int_equal(fr_session_end(from, NULL), FR_OK);
    for (int i = 0; i < N; i++) {
        unheard.bytes = 0;
        assert_int_equal(fr_session_generate(s[i], &more, &r, NULL), FR_OK);
        assert_int_equal(r->stats->prompt_reused, more.n_prompt - 1);
        assert_int_equal(r->n_tokens, TOKENS - READ);
        assert_memory_equal(r->tokens, whole->tokens + READ, sizeof *text * (TOKENS - READ));
    }
    more.n_prompt = SMALL - 4;
    more.n_predict = 4;
    assert_int_equal(fr_session_generate(small, &more, &r, NULL), FR_OK);
    assert_int_equal(r->stats->prompt_reused, SMALL - 5);
    assert_memory_equal(r->tokens, whole->tokens + SMALL - 4 - N_PROMPT, sizeof *text * 4);

    assert_int_equal(fr_session_adopt(s[0], stranger, &err), FR_EARG);
    assert_non_null(strstr(err.text, "engine"));
    assert_int_equal(fr_session_open(&q8, e,
                                     &(fr_session_options){.size = sizeof(fr_session_options),
                                                           .drafter = "none",
                                                           .kv_type = "q8_0"},
                                     &err),
                     FR_OK);
    assert_int_equal(fr_session_adopt(s[0], q8, &err), FR_EARG);
    assert_non_null(strstr(err.text, "kv-type"));
    const fr_session_options mixed_too = {
        .size = sizeof mixed_too, .drafter = "none", .kv_type = "f16+q8_0"};
    assert_int_equal(fr_session_open(&mixed, e, &mixed_too, &err), FR_OK);
    assert_int_equal(fr_session_adopt(mixed, q8, &err), FR_EARG);
    fr_session_close(mixed);
    const fr_session_options q8_smaller = {
        .size = sizeof q8_smaller, .drafter = "prompt-lookup", .kv_type = "q8_0", .n_ctx = 100};
    fr_session *to;
    assert_int_equal(fr_session_generate(q8, &q, &whole, NULL), FR_OK);
    assert_int_equal(fr_session_open(&to, e, &q8_smaller, &err), FR_OK);
    assert_int_equal(fr_session_adopt(to, q8, NULL), FR_OK);
    assert_int_equal(fr_session_generate(to, &q, &r, NULL), FR_OK);
    assert_int_equal(r->stats->prompt_reused, N_PROMPT - 1);
    assert_memory_equal(r->tokens, whole->tokens, sizeof *text * TOKENS);
    fr_session_close(to);
    r = fr_session_result(s[0]);
    assert_int_equal(fr_session_begin(s[0], &q, NULL), FR_OK);
    assert_int_equal(fr_session_adopt(s[0], from, &err), FR_EARG);
    assert_non_null(strstr(err.text, "at work"));
    assert_int_equal(fr_session_end(s[0], NULL), FR_OK);
    for (int i = 0; i < N; i++)
        fr_session_close(s[i]);
    fr_session_close(q8);
    fr_session_close(small);
    fr_session_close(stranger);
    fr_session_close(from);
    fr_engine_close(e2);
    fr_engine_close(e);
}

static bool count_polls(void *user, const fr_piece *piece) {
    int *polls = user;
    return piece->bytes > 0 || ++*polls < 4;
}

// Pieces of characters and control tokens give no text at once; the listener is still asked.
static void tokens_without_text_can_be_interrupted(void **state) {
    (void)state;
    fr_engine *e = open_engine(NULL, 1);
    fr_session *s = open_session(e, "none", 0);
    const fr_result *r;
    int polls = 0;
    const int32_t one = 'a'; // a prompt of one token is not asked about
    fr_request q = {
        .size = sizeof q, .prompt = &one, .n_prompt = 1, .n_predict = 120, .ignore_eos = true};
    q.sampling = &(fr_sampling){.size = sizeof(fr_sampling), .temperature = 5, .seed = 3};
    q.stream = count_polls;
    q.user = &polls;
    assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
    assert_int_equal(polls, 4);
    assert_int_equal(r->stats->finish, FR_FINISH_INTERRUPTED);
    fr_session_close(s);
    fr_engine_close(e);
}

// What is known of a generation while it is at work: who drafts, and what passes were so far.
static void counts_go_along(void **state) {
    (void)state;
    enum { TOKENS = 110 };
    fr_engine *e = open_engine(NULL, 2);
    const fr_session_options o = {.size = sizeof o, .drafter = "prompt-lookup", .no_adapt = true};
    fr_session *s;
    assert_int_equal(fr_session_open(&s, e, &o, NULL), FR_OK);
    heard h = {.bytes = 0};
    const fr_request q = request(TOKENS, &h);
    const fr_result *r = fr_session_result(s);
    assert_int_equal(fr_session_begin(s, &q, NULL), FR_OK);
    assert_string_equal(r->stats->used, "prompt-lookup");
    assert_int_equal(r->stats->passes, 0);
    while (fr_session_runs(s)) {
        const int tokens = r->n_tokens;
        const int64_t passes = r->stats->passes, rows = r->stats->rows;
        fr_session_step(s);
        if (r->n_tokens == tokens) continue;
        assert_int_equal(r->stats->passes, passes + 1);
        assert_true(r->stats->rows > rows);
    }
    const fr_stats before = *r->stats;
    assert_int_equal(fr_session_end(s, NULL), FR_OK);
    assert_true(r->stats->passes > 0 && r->stats->accepted[0] > 0);
    assert_int_equal(r->stats->passes, before.passes);
    assert_int_equal(r->stats->rows, before.rows);
    assert_int_equal(r->stats->plain_passes, before.plain_passes);
    assert_memory_equal(r->stats->seconds_by_rows, before.seconds_by_rows,
                        sizeof before.seconds_by_rows);
    assert_memory_equal(r->stats->accepted, before.accepted, sizeof before.accepted);
    fr_session_close(s);
    fr_engine_close(e);
}

// A prompt is read in parts, and the listener asked before each.
typedef struct patience {
    int asked, left;
} patience;

static bool lose_patience(void *user, const fr_piece *piece) {
    patience *p = user;
    (void)piece;
    return ++p->asked <= p->left;
}

static void a_prompt_can_be_interrupted_between_its_parts(void **state) {
    (void)state;
    enum { N = FR_PREFILL_ROWS + 40, TOKENS = 10 };
    fr_engine *e = open_engine(NULL, 2);
    fr_session *s = open_session(e, "prompt-lookup", 0), *other = open_session(e, "none", 0);
    int32_t ids[N];
    for (int i = 0; i < N; i++)
        ids[i] = 'a' + i % 7;
    patience p = {0, 1};
    heard h = {.bytes = 0};
    fr_request cut = request(TOKENS, &h), q = cut;
    cut.stream = lose_patience;
    cut.user = &p;
    cut.prompt = q.prompt = ids;
    cut.n_prompt = q.n_prompt = N;
    const fr_result *r, *whole;
    r = fr_session_result(s);
    assert_int_equal(fr_session_begin(s, &cut, NULL), FR_OK); // it has begun, and is over
    assert_int_equal(p.asked, 2);
    assert_false(fr_session_step(s));
    assert_int_equal(fr_session_end(s, NULL), FR_OK);
    assert_int_equal(r->stats->finish, FR_FINISH_INTERRUPTED);
    assert_int_equal(r->n_tokens, 0);
    assert_int_equal(r->text_bytes, 0);
    assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
    assert_int_equal(r->stats->prompt_reused, FR_PREFILL_ROWS); // what had been read is kept
    assert_int_equal(fr_session_generate(other, &q, &whole, NULL), FR_OK);
    assert_int_equal(r->n_tokens, TOKENS);
    assert_memory_equal(r->tokens, whole->tokens, sizeof *whole->tokens * TOKENS);
    fr_session_close(s);
    fr_session_close(other);
    fr_engine_close(e);
}

// Control tokens are no text, but for those that the request names.
static void control_tokens_are_text_where_that_is_asked_for(void **state) {
    (void)state;
    fr_engine *e = open_engine(NULL, 1);
    fr_session *s = open_session(e, "none", 0);
    const fr_result *r;
    const int32_t mark = fr_tokenizer_find(e->tokenizer, "<|im_start|>", 12);
    assert_true(fr_token_is_control(e->tokenizer, mark));
    const fr_logit_bias bias = {mark, 100};
    fr_request q = request(3, NULL);
    q.sampling = &(fr_sampling){.size = sizeof(fr_sampling), .bias = &bias, .n_bias = 1};
    assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
    assert_int_equal(r->n_tokens, 3);
    assert_int_equal(r->text_bytes, 0);
    q.shown = &mark;
    q.n_shown = 1;
    assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_OK);
    assert_int_equal(r->n_tokens, 3);
    assert_string_equal(r->text, "<|im_start|><|im_start|><|im_start|>");
    q.shown = &(int32_t){-1};
    assert_int_equal(fr_session_generate(s, &q, &r, NULL), FR_EARG);
    fr_session_close(s);
    fr_engine_close(e);
}

static void expect_refusal(fr_session *s, fr_request q, fr_status right, const char *says) {
    const fr_result *r;
    fr_error err = {0};
    const fr_status st = fr_session_generate(s, &q, &r, &err);
    if (st != right || !strstr(err.text, says)) fail_msg("%d: %s", (int)st, err.text);
}

static void bad_requests_are_sentences(void **state) {
    (void)state;
    fr_engine *e = open_engine(NULL, 1);
    fr_session *s = open_session(e, NULL, 20);
    const fr_result *r;
    fr_error err;
    int32_t ids[64] = {0};
    fr_request q = {.size = sizeof q, .prompt = ids, .n_prompt = 20, .n_predict = 4};
    expect_refusal(s, q, FR_ECONTEXT, "20");
    q.n_prompt = 0;
    expect_refusal(s, q, FR_EARG, "prompt: expected at least one token");
    q.n_prompt = 3;
    ids[1] = 1 << 30;
    expect_refusal(s, q, FR_EARG, "prompt: expected token ids below");
    ids[1] = -1;
    expect_refusal(s, q, FR_EARG, "found -1 at 1");
    ids[1] = 0;
    q.sampling = &(fr_sampling){.size = sizeof(fr_sampling), .temperature = -2};
    expect_refusal(s, q, FR_EARG, "temp");
    q.sampling = NULL;
    q.stop = (const char *[]){"", NULL};
    expect_refusal(s, q, FR_EARG, "stop");
    q.stop = NULL;
    q.n_predict = -2;
    expect_refusal(s, q, FR_EARG, "n-predict: expected -1 or more, found -2");
    q.n_predict = 4;
    q.top_logprobs = 21;
    expect_refusal(s, q, FR_EARG, "top-logprobs: expected 0 to 20, found 21");
    q.top_logprobs = -1;
    expect_refusal(s, q, FR_EARG, "top-logprobs: expected 0 to 20, found -1");
    q.top_logprobs = 0;
    q.size = 3;
    expect_refusal(s, q, FR_EARG, "fr_request");
    q.size = sizeof q;
    fr_logit_bias never[1024];
    const int n_vocab = fr_engine_describe(e)->n_vocab;
    assert_true(n_vocab <= 1024);
    for (int i = 0; i < n_vocab; i++)
        never[i] = (fr_logit_bias){i, -INFINITY};
    fr_sampling none = {.size = sizeof none, .bias = never, .n_bias = n_vocab};
    q.sampling = &none;
    expect_refusal(s, q, FR_EARG, "logit-bias: expected a token that may come");
    never[7].bias = -100;
    assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_OK);
    assert_int_equal(r->tokens[0], 7);
    q.sampling = NULL;
    assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_OK); // and it still works
    fr_session_close(s);
    fr_session_options typical = {.size = sizeof typical, .accept = "typical", .n_ctx = 20};
    assert_int_equal(fr_session_open(&s, e, &typical, &err), FR_OK);
    q.logprobs = true;
    expect_refusal(s, q, FR_EARG, "logprobs: not with accept typical");
    fr_session_close(s);
    fr_engine_close(e);
}

// While an answer is written its context is nobody else's.
static void a_session_at_work_is_left_alone(void **state) {
    (void)state;
    fr_engine *e = open_engine(NULL, 1);
    fr_session *s = open_session(e, NULL, 60), *other = open_session(e, NULL, 60);
    const fr_result *r;
    fr_error err;
    const fr_request q = request(4, NULL);
    assert_int_equal(fr_session_begin(s, &q, &err), FR_OK);
    assert_int_equal(fr_session_forget(s, &err), FR_EARG);
    assert_int_equal(fr_session_begin(s, &q, &err), FR_EARG);
    assert_int_equal(fr_session_generate(s, &q, &r, &err), FR_EARG);
    assert_int_equal(fr_session_adopt(s, other, &err), FR_EARG);
    while (fr_session_step(s)) {
    }
    assert_int_equal(fr_session_end(s, &err), FR_OK);
    assert_int_equal(fr_session_forget(s, &err), FR_OK);
    fr_session_close(other);
    fr_session_close(s);
    fr_engine_close(e);
}

static void bad_options_are_sentences(void **state) {
    (void)state;
    static const char *const unknown[] = {"x=1", NULL}, *const valueless[] = {"depth", NULL};
    const struct {
        fr_session_options options;
        fr_status status;
        const char *says;
    } wrong[] = {
        {{.n_ctx = 129}, FR_EARG, "128"},
        {{.n_ctx = -1}, FR_EARG, "-1"},
        {{.drafter = "nope"}, FR_EARG, "nope"},
        {{.tree = "big"}, FR_EARG, "big"},
        {{.accept = "all"}, FR_EARG, "all"},
        {{.kv_type = "q3"}, FR_EARG, "q3"},
        {{.drafter = "prompt-lookup", .draft_opts = unknown}, FR_EARG, "x=1"},
        {{.drafter = "prompt-lookup", .draft_opts = valueless}, FR_EARG, "depth"},
    };
    fr_engine *e = open_engine(NULL, 1), *none;
    fr_session *no_session;
    fr_error err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fr_session_options o = wrong[i].options;
        o.size = sizeof o;
        const fr_status st = fr_session_open(&no_session, e, &o, &err);
        if (st != wrong[i].status || !strstr(err.text, wrong[i].says))
            fail_msg("%zu: %d: %s", i, (int)st, err.text);
        assert_null(no_session);
    }
    assert_int_equal(fr_engine_open(&none, "no-such-file.gguf", NULL, &err), FR_EIO);
    assert_int_equal(
        fr_engine_open(&none, model_path,
                       &(fr_engine_options){.size = sizeof(fr_engine_options), .threads = 10000},
                       &err),
        FR_EARG);
    assert_int_equal(
        fr_engine_open(&none, model_path,
                       &(fr_engine_options){.size = sizeof(fr_engine_options), .isa = "sse9"},
                       &err),
        FR_EARG);
    assert_null(none);
    fr_session_close(NULL);
    fr_engine_close(e);
    fr_engine_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stream_is_the_text),
        cmocka_unit_test(every_mode_gives_the_same_text),
        cmocka_unit_test(the_host_may_round_as_it_likes),
        cmocka_unit_test(every_rule_says_what_it_promises),
        cmocka_unit_test(a_stop_string_cuts_exactly_before_it),
        cmocka_unit_test(a_stop_string_may_name_a_control_token),
        cmocka_unit_test(an_end_that_a_stop_string_names_is_that_string),
        cmocka_unit_test(a_stop_token_is_the_last),
        cmocka_unit_test(an_end_may_be_a_stop_token),
        cmocka_unit_test(stop_tokens_lie_in_the_vocabulary),
        cmocka_unit_test(the_listener_can_stop_it_and_the_session_goes_on),
        cmocka_unit_test(sessions_take_turns),
        cmocka_unit_test(a_broken_model_ends_the_answer_with_a_sentence),
        cmocka_unit_test(a_session_may_adopt_the_context_of_another),
        cmocka_unit_test(tokens_without_text_can_be_interrupted),
        cmocka_unit_test(counts_go_along),
        cmocka_unit_test(a_prompt_can_be_interrupted_between_its_parts),
        cmocka_unit_test(control_tokens_are_text_where_that_is_asked_for),
        cmocka_unit_test(bad_requests_are_sentences),
        cmocka_unit_test(a_session_at_work_is_left_alone),
        cmocka_unit_test(bad_options_are_sentences),
    };
    return cmocka_run_group_tests(tests, write_model, remove_model);
}
