// scheduler_world.c — opens the scheduler of these tests, and asks it.
#define _GNU_SOURCE
#include "scheduler_world.h"
#include "support/tiny_model.h"
#include "support/tiny_pack.h"
#include <math.h>
#include <unistd.h>

void world_open(world *w) {
    static const fr_tiny_pack eagle = {.form = &fr_eagle_form, .n_draft = 200};
    const fr_tiny_options tiny = {.type = FR_TYPE_Q8_0, .n_ctx = 256, .head_dim = 32};
    const fr_engine_options o = {.size = sizeof o, .threads = 2};
    fr_error err;
    snprintf(w->model, sizeof w->model, "scheduler-%d.gguf", (int)getpid());
    assert_int_equal(fr_tiny_write(&tiny, w->model, &err), FR_OK);
    if (fr_engine_open(&w->engine, w->model, &o, &err)) fail_msg("%s", err.text);
    strcpy(w->pack, "pack-XXXXXX");
    fr_tiny_pack_write(w->pack, &eagle, &w->engine->model);
    snprintf(w->spec, sizeof w->spec, "eagle:%s+prompt-lookup", w->pack);
    w->drafters[0] = w->spec;
    w->drafters[1] = "none";
    w->drafters[2] = "prompt-lookup";
    w->drafters[3] = NULL;
}

void world_schedule(world *w, int slots, int kept, int queue) {
    const fr_scheduler_options o = {
        .contexts = {.drafters = w->drafters, .n_ctx = CTX, .ready = slots, .most = slots + kept},
        .n_queue = queue};
    fr_error err;
    if (fr_scheduler_open(&w->scheduler, w->engine, &o, &err)) fail_msg("%s", err.text);
}

void world_close(world *w) {
    fr_scheduler_close(w->scheduler);
    fr_engine_close(w->engine);
    unlink(w->pack);
    unlink(w->model);
}

// ---------------------------------------------------------------- one request

void fill(asked *a, unsigned *seed, int clients_text) {
    static const float temperatures[] = {0, 0.8f, 1.3f};
    static const char *const names[] = {"one", "two", "three"};
    const int n = 1 + rand_r(seed) % PROMPT, shared = rand_r(seed) % 2 ? n / 2 : 0;
    unsigned common = 7;
    for (int i = 0; i < n; i++)
        a->prompt[i] = 'a' + (int)(i < shared ? rand_r(&common) : rand_r(seed)) % 26;
    a->sampling = (fr_sampling){.size = sizeof a->sampling,
                                .temperature = temperatures[rand_r(seed) % 3],
                                .repeat_penalty = rand_r(seed) % 3 ? 0 : 1.2f,
                                .frequency_penalty = rand_r(seed) % 3 ? 0 : 0.4f,
                                .seed = (uint64_t)rand_r(seed)};
    a->request = (fr_request){.size = sizeof a->request,
                              .prompt = a->prompt,
                              .n_prompt = n,
                              .n_predict = 1 + rand_r(seed) % 40,
                              .sampling = &a->sampling,
                              .logprobs = rand_r(seed) % 4 == 0,
                              .top_logprobs = 3,
                              .ignore_eos = rand_r(seed) % 2};
    a->job = (fr_job){.request = &a->request,
                      .owner = clients_text % 3 ? NULL : "one",
                      .client = clients_text % 4 == 3 ? NULL : names[clients_text % 4],
                      .drafter = rand_r(seed) % SPECS,
                      .slot = rand_r(seed) % 5 ? -1 : rand_r(seed) % 4,
                      .forget = rand_r(seed) % 5 == 0};
}

// Bytes of a text without the U+FFFD at its end, which stands for the beginning of a character.
static size_t without_cut(const fr_buffer *text) {
    const size_t n = text->n;
    return n >= 3 && !memcmp(text->data + n - 3, "\xef\xbf\xbd", 3) ? n - 3 : n;
}

bool is_right(const world *w, const asked *a) {
    const fr_session_options o = {.size = sizeof o, .drafter = "none", .n_ctx = CTX};
    const fr_job *job = &a->job;
    const bool whole = job->end == FR_JOB_STOP || job->end == FR_JOB_LENGTH;
    fr_session *s;
    const fr_result *r;
    fr_error err;
    if (fr_session_open(&s, w->engine, &o, &err) || fr_session_generate(s, &a->request, &r, &err)) {
        print_message("%s\n", err.text);
        return false;
    }
    const size_t bytes = whole ? job->text.n : without_cut(&job->text);
    bool same = job->n_tokens <= r->n_tokens && (!whole || job->n_tokens == r->n_tokens) &&
                bytes <= r->text_bytes && (!whole || bytes == r->text_bytes);
    if (job->n_tokens)
        same = same && !memcmp(job->tokens, r->tokens, sizeof *r->tokens * (size_t)job->n_tokens);
    if (bytes) same = same && !memcmp(job->text.data, r->text, bytes);
    for (int i = 0; same && a->request.logprobs && i < job->n_tokens; i++)
        same = !memcmp(&job->logprobs[i], r->logprobs[i], sizeof *job->logprobs);
    if (whole) same = same && (job->end == FR_JOB_STOP) == (r->stats->finish == FR_FINISH_STOP);
    fr_session_close(s);
    return same;
}

// The prompt is in place.
void prepare_prompt(asked *a, int n, int n_predict) {
    a->request = (fr_request){.size = sizeof a->request,
                              .prompt = a->prompt,
                              .n_prompt = n,
                              .n_predict = n_predict,
                              .ignore_eos = true};
    fr_job job = {.request = &a->request, .slot = -1, .drafter = 1};
    job.timeout = a->job.timeout;
    job.owner = a->job.owner;
    job.client = a->job.client;
    job.next = a->job.next;
    job.forget = a->job.forget;
    if (a->job.slot) job.slot = a->job.slot;
    if (a->pinned) job.slot = job.drafter = 0; // contexts are open for the first drafter
    if (a->usual) job.drafter = 0;
    a->job = job;
    fr_job_open(&a->job);
}

void submit_prompt(world *w, asked *a, int n, int n_predict) {
    prepare_prompt(a, n, n_predict);
    assert_int_equal(fr_scheduler_submit(w->scheduler, &a->job), FR_SUBMITTED);
}

void prepare_text(asked *a, int32_t first, int n, int n_predict) {
    for (int i = 0; i < n; i++)
        a->prompt[i] = first + i % 26;
    prepare_prompt(a, n, n_predict);
}

void submit_text(world *w, asked *a, int32_t first, int n, int n_predict) {
    prepare_text(a, first, n, n_predict);
    assert_int_equal(fr_scheduler_submit(w->scheduler, &a->job), FR_SUBMITTED);
}

// Contexts that were opened since are seen too.
static void see(void *user, const fr_tree *proposed, int n_ids) {
    world *w = user;
    (void)proposed;
    (void)n_ids;
    world_watch(w, w->act, w->user);
    w->act(w->user);
}

void world_watch(world *w, void (*act)(void *user), void *user) {
    w->act = act;
    w->user = user;
    for (int i = 0; i < w->scheduler->slots.n; i++)
        if (w->scheduler->slots.slot[i].session)
            fr_session_watch(w->scheduler->slots.slot[i].session, see, w);
}

void wait_for_end(asked *a) {
    while (!fr_job_await_end(&a->job, 1)) {
    }
}
