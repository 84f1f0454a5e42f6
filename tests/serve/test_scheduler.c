// The scheduler under many clients at once: whatever the others do, every answer is that of plain
// decoding alone, or the beginning of it where it was broken off; and every job ends once.
#define _GNU_SOURCE
#include "scheduler_world.h"
#include "serve/job_copy.h"
#include <unistd.h>

enum { CLIENTS = 12, REQUESTS = 10 };

// ---------------------------------------------------------------- clients

typedef struct client {
    world *w;
    pthread_t thread;
    int number;
    asked asked[REQUESTS];
    int n, refused, broken_off;
} client;

// Reads along as a stream does.
static void read_along(client *c, asked *a, unsigned *seed) {
    const bool leaves = rand_r(seed) % 6 == 0;
    const int patience = rand_r(seed) % 10;
    fr_job_copy copy = {0};
    fr_error err;
    while (copy.state != FR_JOB_ENDED) {
        fr_job_copy_await(&copy, &a->job, 0.5);
        if (fr_job_copy_update(&copy, &a->job, &err)) abort(); // this is not the test's thread
        if (leaves && copy.n_tokens >= patience) fr_scheduler_cancel(c->w->scheduler, &a->job);
    }
    fr_job_copy_close(&copy);
}

static void *run_client(void *arg) {
    client *c = arg;
    unsigned seed = 1000u + (unsigned)c->number;
    for (int i = 0; i < REQUESTS; i++) {
        asked *a = &c->asked[c->n];
        fill(a, &seed, c->number);
        fr_job_open(&a->job);
        if (fr_scheduler_submit(c->w->scheduler, &a->job) != FR_SUBMITTED) {
            fr_job_close(&a->job);
            c->refused++;
            continue;
        }
        read_along(c, a, &seed);
        c->n++;
        if (rand_r(&seed) % 3 == 0) usleep(2000);
    }
    return NULL;
}

static void answers_are_those_of_one_alone(void **state) {
    (void)state;
    static const struct {
        int slots, kept, queue;
    } sizes[] = {{4, 2, 120}, {1, 0, 120}, {2, 1, 120}, {8, 8, 2}};
    static client clients[CLIENTS];
    world w = {0};
    world_open(&w);
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        int answered = 0, refused = 0, broken_off = 0, aside = 0;
        world_schedule(&w, sizes[size].slots, sizes[size].kept, sizes[size].queue);
        memset(clients, 0, sizeof clients);
        for (int i = 0; i < CLIENTS; i++) {
            clients[i].w = &w;
            clients[i].number = i + 100 * (int)size;
            assert_int_equal(pthread_create(&clients[i].thread, NULL, run_client, &clients[i]), 0);
        }
        for (int i = 0; i < CLIENTS; i++)
            pthread_join(clients[i].thread, NULL);
        assert_true(fr_scheduler_idle(w.scheduler, 10));
        const fr_scheduler_state look = fr_scheduler_look(w.scheduler);
        for (int i = 0; i < CLIENTS; i++) {
            client *c = &clients[i];
            for (int k = 0; k < c->n; k++) {
                fr_job *job = &c->asked[k].job;
                if (job->end == FR_JOB_FAILED) fail_msg("%s", job->error.text);
                aside += job->before.prompt_tokens > 0;
                if (!is_right(&w, &c->asked[k])) fail_msg("client %d, request %d differs", i, k);
                broken_off += job->end == FR_JOB_CANCELLED;
                fr_job_close(job);
            }
            answered += c->n;
            refused += c->refused;
        }
        uint64_t jobs = 0;
        for (int i = 0; i <= FR_JOB_FAILED; i++)
            jobs += look.counters.ended[i];
        assert_int_equal(jobs, answered);
        assert_int_equal(look.counters.ended[FR_JOB_CANCELLED], broken_off);
        assert_int_equal(look.counters.rows.n, look.counters.passes);
        assert_true(look.counters.rows.sum >= look.counters.pass_tokens.sum);
        assert_int_equal(answered + refused, CLIENTS * REQUESTS);
        if (sizes[size].queue > 2) assert_int_equal(refused, 0);
        if (sizes[size].slots == 1) assert_true(look.counters.preemptions > 0 && aside > 0);
        print_message("%d slots: %d answered, %d refused, %d broken off, %llu passes, %llu times "
                      "paused, %d set aside\n",
                      sizes[size].slots, answered, refused, broken_off,
                      (unsigned long long)look.counters.passes,
                      (unsigned long long)look.counters.preemptions, aside);
        fr_scheduler_close(w.scheduler);
        w.scheduler = NULL;
    }
    world_close(&w);
}

// ---------------------------------------------------------------- one rule each

static void what_was_read_is_read_once_within_one_owner(void **state) {
    (void)state;
    world w = {0};
    static asked a[6];
    memset(a, 0, sizeof a);
    world_open(&w);
    world_schedule(&w, 2, 2, 8);
#define SOMEBODY "somebody whose key is as long as those that a program makes for others: "
    a[0].job.owner = a[1].job.owner = SOMEBODY "1";
    a[2].job.owner = a[3].job.owner = SOMEBODY "2";
    a[4].job.forget = true;
    for (int i = 0; i < 5; i++) {
        submit_text(&w, &a[i], 'a', 60, 4);
        wait_for_end(&a[i]);
        assert_int_equal(a[i].job.end, FR_JOB_LENGTH);
        assert_true(is_right(&w, &a[i]));
    }
    assert_int_equal(a[0].job.stats.prompt_reused, 0);
    assert_int_equal(a[1].job.stats.prompt_reused, 59);
    assert_int_equal(a[2].job.stats.prompt_reused, 0); // another owner's first
    assert_int_equal(a[3].job.stats.prompt_reused, 59);
    assert_int_equal(a[4].job.stats.prompt_reused, 0); // asked to forget
    const fr_scheduler_state look = fr_scheduler_look(w.scheduler);
    assert_int_equal(look.counters.reused_tokens, 2 * 59);
    for (int i = 0; i < 5; i++)
        fr_job_close(&a[i].job);
    world_close(&w);
}

// A reader sees what a job reuses as soon as it has begun: the first progress of a stream has it.
static void what_is_reused_is_told_with_the_beginning(void **state) {
    (void)state;
    world w = {0};
    static asked a;
    world_open(&w);
    world_schedule(&w, 1, 1, 8);
    for (int i = 0; i < 100; i++) {
        int seen = 0;
        memset(&a, 0, sizeof a);
        submit_text(&w, &a, 'a', PROMPT, 1);
        for (bool began = false; !began;) {
            pthread_mutex_lock(&a.job.lock);
            began = a.job.started > 0 || a.job.state == FR_JOB_ENDED;
            seen = a.job.n_reused;
            pthread_mutex_unlock(&a.job.lock);
        }
        wait_for_end(&a);
        assert_int_equal(a.job.stats.prompt_reused, i ? PROMPT - 1 : 0);
        assert_int_equal(seen, a.job.stats.prompt_reused);
        fr_job_close(&a.job);
    }
    world_close(&w);
}

// As it is where there was no memory for it.
static void a_context_that_is_not_open_is_not_taken(void **state) {
    (void)state;
    world w = {0};
    static fr_slots s;
    fr_slot *slot;
    fr_error err;
    const int32_t prompt[] = {'a', 'b'};
    world_open(&w);
    const fr_slots_options o = {.drafters = w.drafters, .n_ctx = CTX, .ready = 2, .most = 2};
    if (fr_slots_open(&s, w.engine, &o, &err)) fail_msg("%s", err.text);
    fr_session_close(s.slot[1].session);
    s.slot[1].session = NULL;
    assert_int_equal(fr_slots_take(&slot, &s, prompt, 2, 0, NULL, false, 1, &err), FR_OK);
    assert_true(slot && slot->session && slot->busy);
    fr_slots_close(&s);
    world_close(&w);
}

// Another one is, with what its owner's contexts know.
static void what_is_known_is_read_once_also_for_a_wanted_context(void **state) {
    (void)state;
    static const char key[] = "key";
    world w = {0};
    static asked a[2];
    memset(a, 0, sizeof a);
    world_open(&w);
    world_schedule(&w, 1, 3, 8);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 70; k++)
            a[i].prompt[k] = 'a' + (k < 40 ? k % 7 : (k * (i + 2)) % 23);
        a[i].job.owner = key;
        a[i].job.slot = FR_SLOTS_MOST - 1;
        submit_prompt(&w, &a[i], 70, 30);
        wait_for_end(&a[i]);
        assert_int_equal(a[i].job.end, FR_JOB_LENGTH);
        assert_true(is_right(&w, &a[i]));
    }
    assert_in_range((int)a[1].job.stats.prompt_reused, 40, 45);
    for (int i = 0; i < 2; i++)
        fr_job_close(&a[i].job);
    world_close(&w);
}

// What they leave is taken again before one more context is opened; what others leave is kept.
static void requests_that_reuse_nothing_open_no_context(void **state) {
    (void)state;
    world w = {0};
    static asked a[7];
    fr_context_state context[FR_SLOTS_MOST];
    int open = 0;
    memset(a, 0, sizeof a);
    world_open(&w);
    world_schedule(&w, 1, 3, 8);
    for (int i = 0; i < 7; i++) {
        a[i].job.forget = i < 5;
        submit_text(&w, &a[i], 'a' + 3 * i, 60, 4);
        wait_for_end(&a[i]);
        assert_int_equal(a[i].job.end, FR_JOB_LENGTH);
        assert_true(is_right(&w, &a[i]));
        if (i == 0) open = fr_scheduler_contexts(w.scheduler, context);
        assert_int_equal(fr_scheduler_contexts(w.scheduler, context), i < 6 ? open : open + 1);
    }
    for (int i = 0; i < 7; i++)
        fr_job_close(&a[i].job);
    world_close(&w);
}

// Three that begin with the same 40 tokens, as with one system prompt; then each goes on, then the
// last is answered once more, which takes no context from anybody.
static void conversations_that_begin_alike_stay(void **state) {
    (void)state;
    world w = {0};
    static asked a[7];
    fr_context_state context[FR_SLOTS_MOST];
    memset(a, 0, sizeof a);
    world_open(&w);
    world_schedule(&w, 1, 3, 8);
    for (int i = 0; i < 7; i++) {
        const int n = i < 3 ? 70 : 90, which = i < 6 ? i % 3 : 2;
        for (int k = 0; k < n; k++)
            a[i].prompt[k] = 'a' + (k < 40 ? k % 7 : (k * (which + 2)) % 23);
        submit_prompt(&w, &a[i], n, 30);
        wait_for_end(&a[i]);
        assert_int_equal(a[i].job.end, FR_JOB_LENGTH);
        assert_true(is_right(&w, &a[i]));
        const int reused = (int)a[i].job.stats.prompt_reused;
        if (i < 3)
            assert_in_range(reused, i ? 40 : 0, i ? 45 : 0);
        else
            assert_in_range(reused, i < 6 ? 70 : 89, i < 6 ? 80 : 89);
        // One more is open for the first drafter.
        assert_int_equal(fr_scheduler_contexts(w.scheduler, context), i < 3 ? i + 2 : 4);
    }
    for (int i = 0; i < 7; i++)
        fr_job_close(&a[i].job);
    world_close(&w);
}

// Jobs that begin alike come together: one reads, the others wait for it and take it over; a longer
// one goes on from there, and one that begins otherwise waits for nobody.
static void what_is_being_read_is_waited_for(void **state) {
    (void)state;
    world w = {0};
    static asked a[6];
    static const int n[6] = {PROMPT, PROMPT, PROMPT, PROMPT - 5, PROMPT, PROMPT};
    memset(a, 0, sizeof a);
    world_open(&w);
    world_schedule(&w, 6, 2, 8);
    a[5].job.forget = true;
    for (int i = 0; i < 6; i++)
        submit_text(&w, &a[i], i == 4 ? 'b' : 'a', n[i], 6);
    for (int i = 0; i < 6; i++) {
        wait_for_end(&a[i]);
        assert_int_equal(a[i].job.end, FR_JOB_LENGTH);
        assert_true(is_right(&w, &a[i]));
    }
    assert_int_equal(a[0].job.stats.prompt_reused, 0);
    for (int i = 1; i < 4; i++)
        assert_true(a[i].job.stats.prompt_reused >= n[i] - 17);
    assert_int_equal(a[4].job.stats.prompt_reused, 0);
    assert_int_equal(a[5].job.stats.prompt_reused, 0);
    fr_context_state context[FR_SLOTS_MOST];
    const int open = fr_scheduler_contexts(w.scheduler, context);
    assert_true(open >= 6);
    for (int i = 0; i < open; i++)
        assert_false(context[i].busy);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(context[a[i].job.context].n_written, 6);
        fr_job_close(&a[i].job);
    }
    world_close(&w);
}

// One runs and two wait, or all three wait: there is room for no other.
static void a_full_queue_refuses(void **state) {
    (void)state;
    world w = {0};
    static asked a[4];
    memset(a, 0, sizeof a);
    world_open(&w);
    world_schedule(&w, 1, 0, 2);
    fr_pool_hold(w.engine->pool); // nothing gets on
    for (int i = 0; i < 3; i++)
        submit_text(&w, &a[i], 'a' + i, 30, 4);
    a[3].job = a[2].job;
    fr_job_open(&a[3].job);
    assert_int_equal(fr_scheduler_submit(w.scheduler, &a[3].job), FR_QUEUE_FULL);
    fr_job_close(&a[3].job);
    fr_pool_release(w.engine->pool);
    for (int i = 0; i < 3; i++) {
        wait_for_end(&a[i]);
        assert_true(is_right(&w, &a[i]));
    }
    a[3].job = (fr_job){0};
    submit_text(&w, &a[3], 'd', 30, 4);
    wait_for_end(&a[3]);
    assert_true(is_right(&w, &a[3]));
    for (int i = 0; i < 4; i++)
        fr_job_close(&a[i].job);
    world_close(&w);
}

// Others do not wait with it.
static void a_wanted_context_is_waited_for_alone(void **state) {
    (void)state;
    world w = {0};
    static asked a[3];
    memset(a, 0, sizeof a);
    world_open(&w);
    world_schedule(&w, 2, 0, 8);
    for (int i = 0; i < 3; i++) {
        a[i].pinned = i < 2;
        a[i].job.forget = true;
    }
    fr_pool_hold(w.engine->pool); // no pass is run before all three are there
    submit_text(&w, &a[0], 'a', 30, 100);
    submit_text(&w, &a[1], 'b', 30, 4);
    submit_text(&w, &a[2], 'c', 30, 4);
    fr_pool_release(w.engine->pool);
    for (int i = 0; i < 3; i++) {
        wait_for_end(&a[i]);
        assert_int_equal(a[i].job.end, FR_JOB_LENGTH);
        assert_true(is_right(&w, &a[i]));
    }
    assert_true(a[0].job.context == 0 && a[1].job.context == 0 && a[2].job.context == 1);
    assert_true(a[2].job.ended < a[0].job.ended && a[0].job.ended <= a[1].job.started);
    for (int i = 0; i < 3; i++)
        fr_job_close(&a[i].job);
    world_close(&w);
}

static void a_job_ends_in_time_or_with_the_scheduler(void **state) {
    (void)state;
    world w = {0};
    static asked a[4];
    memset(a, 0, sizeof a);
    world_open(&w);
    world_schedule(&w, 1, 0, 8);
    a[1].job.timeout = 1e-6;
    submit_text(&w, &a[0], 'a', 30, -1);
    submit_text(&w, &a[1], 'b', 30, -1);
    submit_text(&w, &a[2], 'c', 30, -1);
    wait_for_end(&a[1]);
    assert_int_equal(a[1].job.end, FR_JOB_TIMED_OUT);
    fr_scheduler_drain(w.scheduler);
    fr_job_open(&a[3].job);
    assert_int_equal(fr_scheduler_submit(w.scheduler, &a[3].job), FR_DRAINING);
    wait_for_end(&a[0]);
    assert_int_equal(a[0].job.end, FR_JOB_LENGTH); // the end of the context
    assert_int_equal(a[0].job.n_tokens, CTX - 30);
    fr_scheduler_close(w.scheduler);
    w.scheduler = NULL;
    assert_int_equal(a[2].job.state, FR_JOB_ENDED);
    for (int i = 0; i < 4; i++)
        fr_job_close(&a[i].job);
    world_close(&w);
}

static void a_wrong_request_fails_alone(void **state) {
    (void)state;
    world w = {0};
    static asked a[2];
    memset(a, 0, sizeof a);
    world_open(&w);
    world_schedule(&w, 2, 0, 8);
    submit_text(&w, &a[0], 'a', 30, 20);
    submit_text(&w, &a[1], 1 << 20, 3, 2);
    wait_for_end(&a[1]);
    assert_int_equal(a[1].job.end, FR_JOB_FAILED);
    assert_int_equal(a[1].job.error.code, FR_EARG);
    wait_for_end(&a[0]);
    assert_int_equal(a[0].job.end, FR_JOB_LENGTH);
    assert_true(is_right(&w, &a[0]));
    for (int i = 0; i < 2; i++)
        fr_job_close(&a[i].job);
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_one_alone),
        cmocka_unit_test(what_was_read_is_read_once_within_one_owner),
        cmocka_unit_test(what_is_reused_is_told_with_the_beginning),
        cmocka_unit_test(a_context_that_is_not_open_is_not_taken),
        cmocka_unit_test(what_is_known_is_read_once_also_for_a_wanted_context),
        cmocka_unit_test(requests_that_reuse_nothing_open_no_context),
        cmocka_unit_test(conversations_that_begin_alike_stay),
        cmocka_unit_test(what_is_being_read_is_waited_for),
        cmocka_unit_test(a_full_queue_refuses),
        cmocka_unit_test(a_wanted_context_is_waited_for_alone),
        cmocka_unit_test(a_job_ends_in_time_or_with_the_scheduler),
        cmocka_unit_test(a_wrong_request_fails_alone)};
    return cmocka_run_group_tests_name("serve/scheduler", tests, NULL, NULL);
}
