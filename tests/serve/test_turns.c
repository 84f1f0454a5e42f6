// Places and the queue are shared among clients: who has more than its share gives way, goes on later,
// and its answer has the bytes that it has alone. All contexts have the drafter "none", so a pass gives
// each text a token, and what comes before what does not depend on the machine.
#define _GNU_SOURCE
#include "scheduler_world.h"
#include <unistd.h>

enum { MOST = 12 };
static asked all[MOST];

// What the names of tests are: clients of no owner, clients of one, owners of several clients.
typedef enum named { CLIENTS, OF_ONE, OWNERS, NAMED } named;
static named are;

static void open_plain(world *w, int slots, int kept, int queue) {
    memset(all, 0, sizeof all);
    *w = (world){0};
    are = CLIENTS;
    world_open(w);
    w->drafters[0] = "none";
    world_schedule(w, slots, kept, queue);
}

static asked *new_one(int i, const char *name) {
    static const char *const clients[] = {"x", "y", "z"};
    all[i].usual = true;
    all[i].job.client = are == OWNERS ? clients[i % 3] : name;
    all[i].job.owner = are == OWNERS ? name : are == OF_ONE ? "K" : NULL;
    return &all[i];
}

// To the end of its context.
static void submit_endless(world *w, int i, const char *client) {
    submit_text(w, new_one(i, client), 'a' + i, 20, -1);
}

static void submit_short(world *w, int i, const char *client) {
    submit_text(w, new_one(i, client), 'a' + i, 20, 4);
}

// All have ended, whole and right.
static void expect_whole(const world *w, int n) {
    for (int i = 0; i < n; i++) {
        wait_for_end(&all[i]);
        assert_int_equal(all[i].job.end, FR_JOB_LENGTH);
        if (!is_right(w, &all[i])) fail_msg("answer %d differs", i);
    }
}

static void close_all(world *w, int n) {
    for (int i = 0; i < n; i++)
        fr_job_close(&all[i].job);
    world_close(w);
}

static uint64_t preemptions(const world *w) {
    return fr_scheduler_look(w->scheduler).counters.preemptions;
}

// ---------------------------------------------------------------- places

static void another_client_gets_a_place_at_once(void **state) {
    (void)state;
    for (int how = 0; how < 2 * NAMED; how++) { // with contexts to pause in, and without
        world w;
        open_plain(&w, 2, how % 2 * 2, 8);
        are = how / 2;
        fr_pool_hold(w.engine->pool);
        for (int i = 0; i < 4; i++)
            submit_endless(&w, i, "A");
        submit_short(&w, 4, "B");
        fr_pool_release(w.engine->pool);
        expect_whole(&w, 5);
        for (int i = 0; i < 4; i++)
            assert_true(all[4].job.ended < all[i].job.ended);
        assert_true(preemptions(&w) > 0);
        close_all(&w, 5);
    }
}

// Four places, six of each: the first four to end are two of each, and so on.
static void expect_equal_shares(named names) {
    world w;
    int ended[2] = {0};
    open_plain(&w, 4, 0, 12);
    are = names;
    fr_pool_hold(w.engine->pool);
    for (int i = 0; i < 12; i++)
        submit_text(&w, new_one(i, i < 6 ? "A" : "B"), 'a' + i, 20, 20);
    fr_pool_release(w.engine->pool);
    expect_whole(&w, 12);
    for (int i = 0; i < 12; i++)
        for (int half = 0; half < 2; half++) {
            int before = 0; // of the other client, when this one ended
            for (int k = 6 * half; k < 6 * half + 6; k++)
                before += all[k].job.ended < all[i].job.ended;
            int own = 0;
            for (int k = 6 * (i >= 6); k < 6 * (i >= 6) + 6; k++)
                own += all[k].job.ended < all[i].job.ended;
            if (half != (i >= 6)) assert_in_range(before, own < 2 ? 0 : own - 2, own + 2);
            ended[half] += before;
        }
    assert_true(ended[0] && ended[1]);
    close_all(&w, 12);
}

static void clients_have_equal_shares(void **state) {
    (void)state;
    for (int i = 0; i < NAMED; i++)
        expect_equal_shares(i);
}

// More clients than places: all get on, and one that wants little has it soon.
static void with_one_place_clients_take_turns(void **state) {
    (void)state;
    for (int kept = 0; kept < 4; kept += 3) {
        world w;
        open_plain(&w, 1, kept, 8);
        fr_pool_hold(w.engine->pool);
        submit_endless(&w, 0, "A");
        submit_endless(&w, 1, "A");
        submit_endless(&w, 2, "B");
        submit_short(&w, 3, "C");
        fr_pool_release(w.engine->pool);
        expect_whole(&w, 4);
        double first_end = all[0].job.ended;
        for (int i = 1; i < 3; i++)
            if (all[i].job.ended < first_end) first_end = all[i].job.ended;
        for (int i = 0; i < 4; i++)
            assert_true(all[i].job.first_token < first_end);
        assert_true(all[3].job.ended < first_end);
        assert_true(preemptions(&w) >= 4);
        close_all(&w, 4);
    }
}

// Among the requests of one client too.
static void a_new_request_does_not_wait_for_endless_ones(void **state) {
    (void)state;
    for (int kept = 0; kept < 6; kept += 5) {
        world w;
        open_plain(&w, 2, kept, 8);
        fr_pool_hold(w.engine->pool);
        for (int i = 0; i < 4; i++)
            submit_endless(&w, i, NULL);
        submit_short(&w, 4, NULL);
        fr_pool_release(w.engine->pool);
        expect_whole(&w, 5);
        for (int i = 0; i < 4; i++)
            assert_true(all[4].job.ended < all[i].job.ended);
        close_all(&w, 5);
    }
}

// Without contexts to pause in, new ones of a client push in no faster than what they set aside is read
// again: not for each of ten answers.
static void short_answers_wait_for_each_other(void **state) {
    (void)state;
    world w;
    open_plain(&w, 2, 0, 12);
    fr_pool_hold(w.engine->pool);
    for (int i = 0; i < 10; i++)
        submit_text(&w, new_one(i, NULL), 'a' + i, 60, 7);
    fr_pool_release(w.engine->pool);
    expect_whole(&w, 10);
    assert_true(preemptions(&w) <= 2);
    close_all(&w, 10);
}

static void link_jobs(int from, int n) {
    for (int i = from; i < from + n - 1; i++)
        all[i].job.next = &all[i + 1].job;
}

static void prepare_bundle(int from, int n, const char *client, int n_predict) {
    for (int i = from; i < from + n; i++)
        prepare_text(new_one(i, client), 'a' + i, 20, n_predict);
    link_jobs(from, n);
}

static void the_choices_of_a_request_count_as_one(void **state) {
    (void)state;
    world w;
    open_plain(&w, 2, 4, 12);
    fr_pool_hold(w.engine->pool);
    prepare_bundle(0, 6, NULL, -1);
    assert_int_equal(fr_scheduler_submit(w.scheduler, &all[0].job), FR_SUBMITTED);
    submit_short(&w, 6, NULL);
    submit_short(&w, 7, NULL);
    fr_pool_release(w.engine->pool);
    expect_whole(&w, 8);
    for (int i = 0; i < 6; i++)
        assert_true(all[6].job.ended < all[i].job.ended && all[7].job.ended < all[i].job.ended);
    close_all(&w, 8);
}

// The one that has read and written least of late.
static void the_prompt_of_a_client_that_had_little_is_read_first(void **state) {
    (void)state;
    for (int names = 0; names < NAMED; names++) {
        world w;
        open_plain(&w, 3, 2, 8);
        are = names;
        submit_text(&w, new_one(3, "A"), 'x', 90, 20);
        wait_for_end(&all[3]);
        fr_pool_hold(w.engine->pool);
        for (int i = 0; i < 3; i++)
            submit_text(&w, new_one(i, i < 2 ? "A" : "B"), 'a' + i, PROMPT, 2);
        fr_pool_release(w.engine->pool);
        expect_whole(&w, 4);
        assert_true(all[2].job.first_token < all[0].job.first_token);
        assert_true(all[2].job.first_token < all[1].job.first_token);
        close_all(&w, 4);
    }
}

// ---------------------------------------------------------------- the queue

// It has four places, the first job one more.
static void expect_a_shared_queue(named names) {
    world w;
    open_plain(&w, 1, 0, 4);
    are = names;
    fr_pool_hold(w.engine->pool);
    for (int i = 0; i < 5; i++)
        submit_short(&w, i, "A");
    prepare_text(new_one(5, "A"), 'f', 20, 4);
    assert_int_equal(fr_scheduler_submit(w.scheduler, &all[5].job), FR_QUEUE_FULL);
    fr_job_close(&all[5].job);
    all[5].job.next = NULL;
    submit_short(&w, 5, "B");                  // instead of A's last
    submit_short(&w, 6, "B");                  // ... and the one before
    prepare_text(new_one(7, "B"), 'h', 20, 4); // now A has no more than B would have
    assert_int_equal(fr_scheduler_submit(w.scheduler, &all[7].job), FR_QUEUE_FULL);
    fr_job_close(&all[7].job);
    fr_pool_release(w.engine->pool);
    int refused = 0;
    for (int i = 0; i < 7; i++) {
        wait_for_end(&all[i]);
        const bool is = all[i].job.end == FR_JOB_REFUSED;
        if (names != OWNERS) assert_int_equal(is, i == 3 || i == 4); // else of any client of A's
        if (!i || i > 4) assert_false(is);
        if (!is) assert_int_equal(all[i].job.end, FR_JOB_LENGTH);
        assert_true(is_right(&w, &all[i]));
        refused += is;
    }
    assert_int_equal(refused, 2);
    close_all(&w, 7);
}

static void a_full_queue_is_shared(void **state) {
    (void)state;
    for (int i = 0; i < NAMED; i++)
        expect_a_shared_queue(i);
}

static void a_request_is_refused_as_a_whole(void **state) {
    (void)state;
    world w;
    open_plain(&w, 2, 0, 4);
    fr_pool_hold(w.engine->pool);
    prepare_bundle(0, 6, "A", -1); // two of them may have a place by now
    assert_int_equal(fr_scheduler_submit(w.scheduler, &all[0].job), FR_SUBMITTED);
    submit_short(&w, 6, "B");
    // All or none: two more of B have room, seven have not.
    prepare_bundle(7, 2, "B", 4);
    assert_int_equal(fr_scheduler_submit(w.scheduler, &all[7].job), FR_SUBMITTED);
    fr_pool_release(w.engine->pool);
    for (int i = 0; i < 9; i++) {
        wait_for_end(&all[i]);
        assert_int_equal(all[i].job.end, i < 6 ? FR_JOB_REFUSED : FR_JOB_LENGTH);
        assert_true(is_right(&w, &all[i]));
    }
    close_all(&w, 9);
}

// Eight may wait: two of a client for contexts that they name, who are in nobody's way.
static void jobs_that_name_a_context_are_bounded(void **state) {
    (void)state;
    world w;
    open_plain(&w, 2, 0, 8);
    fr_pool_hold(w.engine->pool);
    all[0].pinned = true;
    submit_text(&w, new_one(0, "A"), 'a', 20, 60);
    while (fr_scheduler_look(w.scheduler).runs < 1) {
    }
    for (int i = 1; i < 4; i++) {
        all[i].pinned = true;
        prepare_text(new_one(i, "A"), 'a' + i, 20, 4);
        assert_int_equal(fr_scheduler_submit(w.scheduler, &all[i].job),
                         i < 3 ? FR_SUBMITTED : FR_CONTEXT_BUSY);
    }
    fr_job_close(&all[3].job);
    all[3] = (asked){0};
    submit_short(&w, 3, "A");
    submit_short(&w, 4, "B");
    fr_pool_release(w.engine->pool);
    expect_whole(&w, 5);
    assert_true(all[3].job.ended < all[0].job.ended && all[4].job.ended < all[0].job.ended);
    close_all(&w, 5);
}

// ---------------------------------------------------------------- waiting for a reader

// A reader that leaves nothing is not waited for; one that reads for others is, once.
static void a_reader_that_leaves_nothing_makes_nobody_wait(void **state) {
    (void)state;
    world w;
    open_plain(&w, 2, 0, 8);
    fr_pool_hold(w.engine->pool);
    all[0].job.forget = true;
    for (int i = 0; i < 2; i++)
        submit_text(&w, new_one(i, NULL), 'a', PROMPT, 4);
    fr_pool_release(w.engine->pool);
    expect_whole(&w, 2);
    assert_true(all[1].job.started < all[0].job.first_token);
    assert_int_equal(all[1].job.stats.prompt_reused, 0);
    close_all(&w, 2);
}

static world *of_act;
static void cancel_the_reader(void *user) {
    (void)user;
    const asked *reader = &all[0];
    if (reader->job.at == FR_JOB_PLACED) fr_scheduler_cancel(of_act->scheduler, &all[0].job);
}

// Two wait for the first; when it is broken off both go on, and neither waits for the other.
static void a_wait_ends_with_its_reader(void **state) {
    (void)state;
    world w;
    open_plain(&w, 3, 0, 8);
    of_act = &w;
    world_watch(&w, cancel_the_reader, NULL);
    fr_pool_hold(w.engine->pool);
    submit_text(&w, new_one(3, NULL), 'x', 20, -1); // in whose steps the reader is cancelled
    while (fr_scheduler_look(w.scheduler).runs < 1)
        usleep(100);
    for (int i = 0; i < 3; i++)
        submit_text(&w, new_one(i, NULL), 'a', PROMPT, 4);
    fr_pool_release(w.engine->pool);
    for (int i = 0; i < 4; i++) {
        wait_for_end(&all[i]);
        assert_int_equal(all[i].job.end, i ? FR_JOB_LENGTH : FR_JOB_CANCELLED);
        assert_true(is_right(&w, &all[i]));
    }
    assert_true(all[1].job.started >= all[0].job.ended);
    assert_true(all[2].job.started < all[1].job.first_token);
    close_all(&w, 4);
}

// ---------------------------------------------------------------- paused ones end as others do

typedef struct ending { // one job is paused in its context, or set aside
    world w;
    fr_job_at at;
    int how; // CANCEL...
    bool done;
} ending;
enum { CANCEL, CANCEL_ALL, DRAIN, TIME_OUT };

static void end_the_paused(void *user) {
    ending *e = user;
    fr_job *job = &all[0].job;
    if (e->done || job->at != e->at || !job->n_tokens) return;
    e->done = true;
    if (e->how == CANCEL) fr_scheduler_cancel(e->w.scheduler, job);
    if (e->how == CANCEL_ALL) fr_scheduler_cancel_all(e->w.scheduler);
    if (e->how == DRAIN) fr_scheduler_drain(e->w.scheduler);
    if (e->how == TIME_OUT) job->timeout = 1e-9;
}

static void a_job_without_a_place_ends_as_others_do(void **state) {
    (void)state;
    static const fr_job_end ends[] = {FR_JOB_CANCELLED, FR_JOB_CANCELLED, FR_JOB_LENGTH,
                                      FR_JOB_TIMED_OUT};
    for (int i = 0; i < 8; i++) {
        static ending e;
        e = (ending){.how = i % 4, .at = i < 4 ? FR_JOB_PAUSED : FR_JOB_ASIDE};
        open_plain(&e.w, 1, i < 4 ? 1 : 0, 8);
        world_watch(&e.w, end_the_paused, &e);
        fr_pool_hold(e.w.engine->pool);
        submit_endless(&e.w, 0, "A");
        submit_endless(&e.w, 1, "B");
        fr_pool_release(e.w.engine->pool);
        for (int k = 0; k < 2; k++) {
            wait_for_end(&all[k]);
            const bool same = k == 0 || e.how == CANCEL_ALL;
            assert_int_equal(all[k].job.end, same ? ends[e.how] : FR_JOB_LENGTH);
            assert_true(is_right(&e.w, &all[k]));
        }
        assert_true(e.done && all[0].job.n_tokens > 0);
        assert_int_equal(all[0].job.stats.completion_tokens, all[0].job.n_tokens);
        assert_true(fr_scheduler_idle(e.w.scheduler, 10));
        close_all(&e.w, 2);
    }
}

// Ends the scheduler while one is paused and another one set aside.
static void close_ends_what_is_paused(void **state) {
    (void)state;
    world w;
    open_plain(&w, 1, 1, 8);
    for (int i = 0; i < 3; i++)
        submit_endless(&w, i, i == 0 ? "A" : i == 1 ? "B" : "C");
    while (!preemptions(&w) && !all[0].job.ended) {
    }
    fr_scheduler_close(w.scheduler);
    w.scheduler = NULL;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(all[i].job.state, FR_JOB_ENDED);
        assert_true(is_right(&w, &all[i]));
    }
    close_all(&w, 3);
}

// Scores, stop strings, penalties and pieces go on where they were.
static void what_was_set_aside_goes_on_as_it_was(void **state) {
    (void)state;
    static const char *const stop[] = {"\x01zz", "qqqq", NULL};
    world w;
    unsigned seed = 5;
    open_plain(&w, 1, 0, 8);
    fr_pool_hold(w.engine->pool);
    for (int i = 0; i < 6; i++) {
        asked *a = &all[i];
        static const char *const names[] = {"A", "B", "C"};
        fill(a, &seed, 1);
        a->request.n_prompt = 20;
        a->request.n_predict = 100;
        a->request.ignore_eos = true;
        a->request.logprobs = true;
        a->request.prompt_logprobs = i % 2;
        a->request.stop = i < 4 ? NULL : stop;
        a->job.slot = -1;
        a->job.client = names[i % 3];
        a->job.keep_pieces = true;
        fr_job_open(&a->job);
        assert_int_equal(fr_scheduler_submit(w.scheduler, &a->job), FR_SUBMITTED);
    }
    fr_pool_release(w.engine->pool);
    int aside = 0;
    for (int i = 0; i < 6; i++) {
        fr_job *job = &all[i].job;
        wait_for_end(&all[i]);
        assert_int_equal(job->end, FR_JOB_LENGTH);
        assert_true(is_right(&w, &all[i]));
        aside += job->before.prompt_tokens > 0;
        assert_int_equal(job->stats.completion_tokens, 100);
        const fr_job_piece *piece = (const void *)job->pieces.data;
        const size_t n = job->pieces.n / sizeof *piece;
        assert_true(n && piece[n - 1].end == job->text.n);
        for (size_t k = 1; k < n; k++)
            assert_true(piece[k - 1].end < piece[k].end);
        assert_true(!all[i].request.prompt_logprobs || job->prompt_logprobs);
    }
    assert_true(aside > 2);
    close_all(&w, 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_client_gets_a_place_at_once),
        cmocka_unit_test(clients_have_equal_shares),
        cmocka_unit_test(with_one_place_clients_take_turns),
        cmocka_unit_test(a_new_request_does_not_wait_for_endless_ones),
        cmocka_unit_test(short_answers_wait_for_each_other),
        cmocka_unit_test(the_choices_of_a_request_count_as_one),
        cmocka_unit_test(the_prompt_of_a_client_that_had_little_is_read_first),
        cmocka_unit_test(a_full_queue_is_shared),
        cmocka_unit_test(a_request_is_refused_as_a_whole),
        cmocka_unit_test(jobs_that_name_a_context_are_bounded),
        cmocka_unit_test(a_reader_that_leaves_nothing_makes_nobody_wait),
        cmocka_unit_test(a_wait_ends_with_its_reader),
        cmocka_unit_test(a_job_without_a_place_ends_as_others_do),
        cmocka_unit_test(close_ends_what_is_paused),
        cmocka_unit_test(what_was_set_aside_goes_on_as_it_was)};
    return cmocka_run_group_tests_name("serve/turns", tests, NULL, NULL);
}
