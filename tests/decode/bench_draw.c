// bench_draw.c — how long one draw takes, by setting: benchdraw [MODEL.gguf [ISA]].
//
// Rows of 151936 logits: "normal" and "uniform" are random, so flat that most tokens count (the
// worst that can be met), "equal" is one value; with a model also its own, "real". Milliseconds of
// processor time of one thread, mean over the rows, the least of several rounds.
#include "decode/draw/sampler.h"
#include "engine/engine.h"
#include "kern/math.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_RANDOM = 151936, ROWS = 24, ROUNDS = 5, IDS = 512 };

typedef struct rows {
    const char *name;
    int n_vocab, n;
    float *logits; // [n][n_vocab]
} rows;

static const struct setting {
    const char *name;
    fr_sampling s;
} SETTINGS[] = {
    {"greedy", {.temperature = 0}},
    {"temp 1", {.temperature = 1}},
    {"temp 0.8", {.temperature = 0.8f}},
    {"temp 1.5", {.temperature = 1.5f}},
    {"temp 1, top-p 0.95", {.temperature = 1, .top_p = 0.95f}},
    {"temp 1, top-p 0.9", {.temperature = 1, .top_p = 0.9f}},
    {"temp 0.8, top-p 0.95", {.temperature = 0.8f, .top_p = 0.95f}},
    {"temp 1, min-p 0.05", {.temperature = 1, .min_p = 0.05f}},
    {"temp 1, min-p 0.001", {.temperature = 1, .min_p = 0.001f}},
    {"temp 1, top-k 40", {.temperature = 1, .top_k = 40}},
    {"temp 1, top-k 1000", {.temperature = 1, .top_k = 1000}},
    {"temp 1, top-k 100000", {.temperature = 1, .top_k = 100000}},
    {"temp 1, penalty 1.1", {.temperature = 1, .repeat_penalty = 1.1f, .repeat_last_n = -1}},
    {"temp 0.8, top-k 40, top-p 0.95, min-p 0.05",
     {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f}},
    {"temp 0.8, top-k 1000, top-p 0.95, penalty 1.1",
     {.temperature = 0.8f, .top_k = 1000, .top_p = 0.95f, .repeat_penalty = 1.1f}},
    {"temp 0.8, top-p 0.95, min-p 0.001, penalty 1.1",
     {.temperature = 0.8f, .top_p = 0.95f, .min_p = 0.001f, .repeat_penalty = 1.1f}},
    {"temp 0.8, top-k 100000, top-p 0.95", {.temperature = 0.8f, .top_k = 100000, .top_p = 0.95f}},
};

static double seconds_used(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *get(size_t bytes) {
    void *p = malloc(bytes);
    if (p) return p;
    fprintf(stderr, "benchdraw: no memory\n");
    exit(1);
}

// ---------------------------------------------------------------- rows
enum kind { NORMAL, UNIFORM, EQUAL };

static float random_logit(enum kind kind, uint64_t *k) {
    const double u = fr_uniform(1, (*k)++), v = fr_uniform(1, (*k)++);
    if (kind == EQUAL) return 1.5f;
    if (kind == UNIFORM) return (float)(8 * u - 4);
    return (float)(sqrt(-2 * fr_log(1 - u)) * cos(2 * M_PI * v));
}

static rows random_rows(const char *name, enum kind kind) {
    rows r = {name, N_RANDOM, 4, get(sizeof(float) * 4 * N_RANDOM)};
    uint64_t k = 0;
    for (int i = 0; i < r.n * r.n_vocab; i++)
        r.logits[i] = random_logit(kind, &k);
    return r;
}

static const char TEXT[] =
    "The old harbour lay still in the morning light. Two men sat on the wall and mended a net; the "
    "younger one sang, the other counted the boats that had come home.\n"
    "def mean(values):\n    total = 0\n    for v in values:\n        total += v\n    return total "
    "/ "
    "len(values)\n";

static void give_up(const fr_error *err) {
    fprintf(stderr, "benchdraw: %s\n", err->text);
    exit(1);
}

static rows real_rows(const char *path) {
    fr_error err = {0};
    fr_engine *e;
    fr_ids ids = {0};
    fr_kv kv, *kvs = &kv;
    fr_forward *f;
    fr_row pass[ROWS];
    if (fr_engine_open(&e, path,
                       &(fr_engine_options){.size = sizeof(fr_engine_options), .threads = 2},
                       &err) ||
        fr_text_encode(e->text, TEXT, strlen(TEXT), FR_TEXT_BOS, NULL, &ids, &err) ||
        fr_kv_open(&kv, &e->model.config, 256, FR_KV_F16, &err) ||
        fr_forward_open(&f, &e->model, &(fr_forward_limits){.max_rows = ROWS, .max_logits = ROWS},
                        &err))
        give_up(&err);
    rows r = {"real", e->model.config.n_vocab, ROWS, NULL};
    r.logits = get(sizeof(float) * ROWS * (size_t)r.n_vocab);
    for (size_t at = 0; at + ROWS <= ids.n; at += ROWS) { // of the last pass
        int path_of[ROWS];
        for (int i = 0; i < ROWS; i++) {
            pass[i] = fr_row_token(ids.data[at + (size_t)i], i ? i - 1 : FR_PARENT_COMMITTED,
                                   FR_WANT_LOGITS);
            path_of[i] = i;
        }
        fr_forward_run(f, &(fr_pass){.rows = pass, .n_rows = ROWS, .kv = &kvs, .n_seq = 1});
        for (int i = 0; i < ROWS; i++)
            memcpy(r.logits + (size_t)i * (size_t)r.n_vocab, fr_forward_logits(f, i),
                   sizeof(float) * (size_t)r.n_vocab);
        fr_kv_commit(&kv, path_of, ROWS);
    }
    fr_forward_close(f);
    fr_kv_close(&kv);
    fr_ids_free(&ids);
    fr_engine_close(e);
    return r;
}

// ---------------------------------------------------------------- draws
static double time_setting(fr_sampler *s, const rows *r, const fr_sampling *g, float *copy) {
    static int32_t ids[IDS];
    double best = 1e9;
    for (int i = 0; i < IDS; i++)
        ids[i] = i * 37 % r->n_vocab;
    fr_sampler_begin(s, g, 0);
    for (int round = 0; round < ROUNDS; round++) {
        double spent = 0;
        for (int i = 0; i < r->n; i++) {
            memcpy(copy, r->logits + (size_t)i * (size_t)r->n_vocab,
                   sizeof(float) * (size_t)r->n_vocab);
            const double start = seconds_used();
            fr_sampler_token(s, copy, ids, IDS, IDS + round * ROWS + i);
            spent += seconds_used() - start;
        }
        if (spent < best) best = spent;
    }
    return 1e3 * best / r->n;
}

static void bench_rows(const rows *r, const fr_kern *kern) {
    fr_error err = {0};
    fr_sampler s;
    float *copy = get(sizeof(float) * (size_t)r->n_vocab);
    if (fr_sampler_open(&s, kern, r->n_vocab, &err)) give_up(&err);
    printf("%s logits, %d tokens, %s\n", r->name, r->n_vocab, kern->name);
    for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++)
        printf("  %7.3f ms  %s\n", time_setting(&s, r, &SETTINGS[i].s, copy), SETTINGS[i].name);
    fr_sampler_close(&s);
    free(copy);
    free(r->logits);
}

int main(int argc, char **argv) {
    fr_error err = {0};
    const fr_kern *kern;
    rows r;
    if (fr_kern_pick(&kern, argc > 2 ? argv[2] : "auto", &err)) give_up(&err);
    if (argc > 1) bench_rows((r = real_rows(argv[1]), &r), kern);
    bench_rows((r = random_rows("normal", NORMAL), &r), kern);
    bench_rows((r = random_rows("uniform", UNIFORM), &r), kern);
    bench_rows((r = random_rows("equal", EQUAL), &r), kern);
    return 0;
}
