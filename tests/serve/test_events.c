// Streams: what they are made of is copied out of a job, which is locked for that alone; they begin
// when a context takes the job; a silent one says that it lives; and an event costs what is new in
// it.
#include "base/alloc.h"
#include "serve/events.h"
#include "serve/exchange.h"
#include "server_world.h"

enum { TOKENS = 300 };

// ---- what JSON takes, and whether the job at hand was locked meanwhile
static fr_job *watched;
static size_t built, while_locked;

static void watch(size_t n) {
    if (!watched) return;
    built += n;
    if (pthread_mutex_trylock(&watched->lock))
        while_locked++;
    else
        pthread_mutex_unlock(&watched->lock);
}

static void *watched_malloc(size_t n) {
    watch(n);
    return malloc(n);
}

static void watched_free(void *p) {
    watch(0);
    free(p);
}

// ---- JSON of which one allocation fails
static int until_failure; // allocations, that one too; 0: none fails

static void *scarce_malloc(size_t n) {
    return until_failure && !--until_failure ? NULL : malloc(n);
}

// ---- a stream whose job gets its text step by step
typedef struct open_events {
    const fr_dialect *dialect;
    fr_events *events;
    fr_choice *choice;
    fr_exchange x;
    fr_buffer text, pieces, out;
    int32_t ids[TOKENS];
    fr_logprobs score;
    const fr_logprobs *scores[TOKENS];
    fr_stats stats;
    fr_result result;
} open_events;

static const struct api {
    const fr_dialect *dialect;
    const char *path;
} APIS[] = {{&fr_dialect_chat, "/v1/chat/completions"},
            {&fr_dialect_text, "/v1/completions"},
            {&fr_dialect_llama, "/completion"},
            {&fr_dialect_anthropic, "/v1/messages"},
            {&fr_dialect_responses, "/v1/responses"}};
enum { N_APIS = sizeof APIS / sizeof *APIS };

static void open_stream(open_events *s, const struct api *api, const char *body, bool progress) {
    static const int32_t prompt[8];
    fr_ask *ask = fr_alloc_zero(sizeof *ask);
    *s = (open_events){.dialect = api->dialect, .x = {.path = api->path}, .score = {.n_top = 1}};
    s->choice = fr_alloc_array(1, sizeof *s->choice);
    assert_non_null(ask);
    assert_non_null(s->choice);
    *ask = (fr_ask){.server = &server,
                    .body = json_loads(body, 0, NULL),
                    .request = {.kind = api->dialect->ask.kind,
                                .n = 1,
                                .prompt = fr_alloc_array(1, sizeof(fr_ids)),
                                .n_prompts = 1,
                                .sampling = {.seed = 7531},
                                .logprobs = true,
                                .n_probs = 1,
                                .return_progress = progress,
                                .include_usage = true,
                                .timings_per_token = true},
                    .choice = s->choice,
                    .n = 1,
                    .tag = "tag"};
    *s->choice = (fr_choice){.request = {.prompt = prompt, .n_prompt = 8},
                             .job = {.request = &s->choice->request},
                             .copy = {.stopped_by = -1}};
    fr_job_open(&s->choice->job);
    fr_api_answer_open(&s->choice->answer, true, false, true, NULL);
    s->result =
        (fr_result){.tokens = s->ids, .logprobs = s->scores, .stats = &s->stats, .stopped_by = -1};
    s->events = fr_events_open(ask, api->dialect);
    assert_non_null(s->events);
}

static void close_stream(open_events *s) {
    fr_events_close(s->events);
    fr_buffer_free(&s->text);
    fr_buffer_free(&s->pieces);
    fr_buffer_free(&s->out);
}

static void tell(open_events *s, const char *word) {
    fr_error err;
    const int n = s->result.n_tokens++;
    s->ids[n] = 'a';
    s->scores[n] = &s->score;
    assert_int_equal(fr_buffer_add(&s->text, word, strlen(word), &err), FR_OK);
    assert_int_equal(fr_job_tell(&s->choice->job, &s->result, &s->text, &s->pieces, false, &err),
                     FR_OK);
}

// The events that a look gives, as text; "" where it gives none.
static const char *look(open_events *s) {
    s->out.n = 0;
    const bool news = fr_events_look(s->events, &s->x, &s->out);
    assert_true(news == (s->out.n > 0));
    return news ? s->out.data : "";
}

static const char *live(open_events *s) {
    s->out.n = 0;
    fr_events_live(s->events, &s->out);
    return s->out.data;
}

static int count(const char *in, const char *part) {
    int n = 0;
    for (; (in = strstr(in, part)); in++)
        n++;
    return n;
}

// ---- the promises

// The scheduler's thread waits for that lock.
static void nothing_is_built_while_a_job_is_locked(void **state) {
    (void)state;
    json_set_alloc_funcs(watched_malloc, watched_free);
    for (int i = 0; i < N_APIS; i++) {
        open_events s;
        open_stream(&s, &APIS[i], "{}", true);
        watched = &s.choice->job;
        built = while_locked = 0;
        fr_job_begin(watched, 0, 2);
        look(&s);
        tell(&s, "one ");
        assert_true(*look(&s));
        live(&s);
        fr_job_finish(watched, FR_JOB_STOP, NULL, NULL);
        assert_true(*look(&s));
        assert_false(fr_events_next(s.events, &s.x, &s.out));
        if (!built || while_locked)
            fail_msg("%s: %zu bytes, %zu times while locked", APIS[i].path, built, while_locked);
        watched = NULL;
        close_stream(&s);
    }
    json_set_alloc_funcs(malloc, free);
}

// Where text goes on and on, the JSON of an event is not longer for what was sent before it.
static void an_event_costs_what_is_new(void **state) {
    (void)state;
    json_set_alloc_funcs(watched_malloc, watched_free);
    for (int i = 0; i < N_APIS; i++) {
        open_events s;
        size_t early = 0;
        open_stream(&s, &APIS[i], "{}", false);
        watched = &s.choice->job;
        fr_job_begin(watched, 0, 2);
        for (int k = 0; k < TOKENS; k++) {
            built = 0;
            tell(&s, "a word ");
            const size_t bytes = strlen(look(&s));
            if (k == 10) early = built + bytes;
            if (k > 10 && built + bytes > early + 200)
                fail_msg("%s: %zu bytes for event 10, %zu for event %d", APIS[i].path, early,
                         built + bytes, k);
            if (s.dialect == &fr_dialect_text) assert_int_equal(s.choice->n_counted, k);
        }
        watched = NULL;
        close_stream(&s);
    }
    json_set_alloc_funcs(malloc, free);
}

static void streams_begin_when_a_context_takes_the_job(void **state) {
    (void)state;
    static const char *const begin[N_APIS][2] = {
        [3] = {"event: message_start\n", NULL},
        [4] = {"event: response.created\n", "event: response.in_progress\n"}};
    for (int i = 0; i < N_APIS; i++) {
        open_events s;
        open_stream(&s, &APIS[i], "{}", false);
        assert_string_equal(look(&s), ""); // it waits
        fr_job_begin(&s.choice->job, 0, 2);
        const char *found = look(&s);
        const int n = !!begin[i][0] + !!begin[i][1];
        assert_int_equal(count(found, "data: "), n);
        for (int k = 0; k < n; k++)
            if (!strstr(found, begin[i][k])) fail_msg("%s: %s", APIS[i].path, found);
        if (n) assert_non_null(strstr(found, "\"seed\":7531"));
        assert_string_equal(look(&s), ""); // once
        tell(&s, "one");
        found = look(&s);
        assert_true(!n || (!strstr(found, begin[i][0]) && strstr(found, "one")));
        close_stream(&s);
    }
}

// In the queue, too: first what a stream begins with, where its API has that, then events that
// clients count. The seed is in the first of them.
static void a_silent_stream_lives(void **state) {
    (void)state;
    static const char *const right[N_APIS][2] = {
        {"\"delta\":{\"role\":\"assistant\"", "\"delta\":{}"},
        {"\"text\":\"\"", "\"text\":\"\""},
        {"\"content\":\"\"", "\"content\":\"\""},
        {"event: message_start\n", "event: ping\ndata: {\"type\":\"ping\"}\n\n"},
        {"event: response.created\n", "event: response.in_progress\n"}};
    for (int i = 0; i < N_APIS; i++) {
        open_events s;
        open_stream(&s, &APIS[i], "{}", false);
        for (int k = 0; k < 3; k++) {
            const char *found = live(&s);
            if (!strstr(found, right[i][k > 0])) fail_msg("%s, %d: %s", APIS[i].path, k, found);
            if (!k) assert_non_null(strstr(found, "\"seed\":7531"));
            assert_int_equal(count(found, "data: "), !k && i == 4 ? 2 : 1);
        }
        fr_job_begin(&s.choice->job, 0, 2);
        assert_string_equal(look(&s), ""); // it has begun already
        tell(&s, "one");
        const char *found = look(&s);
        assert_true(strstr(found, "one") && !strstr(found, right[i][0]));
        close_stream(&s);
    }
}

// What a stream has begun with is no answer yet.
static void a_stream_that_has_begun_ends_with_its_error(void **state) {
    (void)state;
    static const char *const right[N_APIS] = {
        "data: {\"error\":{\"code\":503,", "data: {\"error\":{\"code\":503,",
        "data: {\"error\":{\"code\":503,",
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",",
        "event: error\ndata: {\"type\":\"error\",\"code\":\"unavailable_error\","};
    for (int i = 0; i < N_APIS; i++) {
        open_events s;
        open_stream(&s, &APIS[i], "{}", false);
        fr_job_begin(&s.choice->job, 0, 2);
        look(&s);
        fr_job_finish(&s.choice->job, FR_JOB_TIMED_OUT, NULL, NULL);
        const char *found = look(&s);
        if (strncmp(found, right[i], strlen(right[i]))) fail_msg("%s: %s", APIS[i].path, found);
        assert_int_equal(count(found, "data: "), 1);
        close_stream(&s);
    }
}

// A prompt that is read in many passes: numbers alone, whatever the body was.
static void progress_does_not_repeat_the_request(void **state) {
    (void)state;
    char body[3000];
    snprintf(body, sizeof body, "{\"metadata\":{\"a\":\"%02000d\"}}", 0);
    open_events s;
    open_stream(&s, &APIS[4], body, true);
    fr_job_begin(&s.choice->job, 0, 0);
    const char *found = look(&s);
    assert_int_equal(count(found, "data: "), 3); // created, in progress, nothing read
    assert_int_equal(count(found, "\"metadata\":{\"a\":\"0000"), 2);
    for (int read = 2; read < 8; read += 2) {
        s.choice->job.n_read = read;
        found = look(&s);
        assert_int_equal(count(found, "event: response.in_progress\n"), 1);
        assert_non_null(strstr(found, "\"prompt_progress\":{\"total\":8,"));
        assert_true(strlen(found) < 1000);
    }
    tell(&s, "one");
    assert_int_equal(count(look(&s), "\"metadata\""), 0);
    fr_job_finish(&s.choice->job, FR_JOB_STOP, NULL, NULL);
    assert_int_equal(count(look(&s), "\"metadata\":{\"a\":\"0000"), 1);
    close_stream(&s);
}

// A sanitizer sees what is left, or freed twice. Two calls are so many events that their list
// has to grow.
static void events_without_memory_do_no_harm(void **state) {
    (void)state;
    static const char call[] = "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
    json_set_alloc_funcs(scarce_malloc, free);
    for (int i = 0; i < N_APIS; i++) {
        bool failed = true;
        for (int n = 1; failed; n++) {
            open_events s;
            until_failure = 0;
            open_stream(&s, &APIS[i], "{}", true);
            until_failure = n;
            fr_job_begin(&s.choice->job, 0, 2);
            fr_events_look(s.events, &s.x, &s.out);
            fr_events_live(s.events, &s.out);
            tell(&s, call);
            tell(&s, call);
            fr_job_finish(&s.choice->job, FR_JOB_STOP, NULL, NULL);
            fr_events_look(s.events, &s.x, &s.out);
            fr_events_next(s.events, &s.x, &s.out);
            failed = !until_failure;
            close_stream(&s);
        }
    }
    json_set_alloc_funcs(malloc, free);
}

static void *await_begin(void *user) {
    open_events *s = user;
    fr_job_copy_await(&s->choice->copy, &s->choice->job, 1e6);
    return NULL;
}

// No reader has to look again and again.
static void a_reader_wakes_when_its_job_begins(void **state) {
    (void)state;
    open_events s;
    pthread_t waits;
    open_stream(&s, &APIS[4], "{}", false);
    assert_int_equal(pthread_create(&waits, NULL, await_begin, &s), 0);
    fr_job_begin(&s.choice->job, 0, 2);
    assert_int_equal(pthread_join(waits, NULL), 0);
    assert_int_equal(count(look(&s), "data: "), 2);
    close_stream(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_built_while_a_job_is_locked),
        cmocka_unit_test(an_event_costs_what_is_new),
        cmocka_unit_test(a_reader_wakes_when_its_job_begins),
        cmocka_unit_test(streams_begin_when_a_context_takes_the_job),
        cmocka_unit_test(a_silent_stream_lives),
        cmocka_unit_test(a_stream_that_has_begun_ends_with_its_error),
        cmocka_unit_test(progress_does_not_repeat_the_request),
        cmocka_unit_test(events_without_memory_do_no_harm)};
    return cmocka_run_group_tests_name("serve/events", tests, open_world, close_world);
}
