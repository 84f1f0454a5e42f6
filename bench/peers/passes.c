// passes.c — what llama.cpp's own tools do not print: passes with logits on every row, and plain
// greedy text.
//
//     passes [-rtr] curve MODEL THREADS CONTEXT ROUNDS N,N,...   ms of passes of n rows behind
//     CONTEXT tokens, and the
//                                                         greatest difference of the first row's
//                                                         logits to those of the first count
//     passes plain MODEL THREADS PROMPT_FILE N            N greedy tokens, one a pass: text and
//     speed
//
// With PEER_IK it is for ik_llama.cpp, whose interface is that of an earlier time; -rtr, there
// only, repacks the weights as they are loaded.
// Prints one JSON document. Contexts are llama.cpp's defaults but for their size and the threads.
#include "llama.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef PEER_IK
#define llama_model_free     llama_free_model
#define llama_tokenize       llama_vocab_tokenize
#define llama_token_to_piece llama_token_to_piece_vocab
#endif

enum { COUNTS_MAX = 32, ROWS_MAX = 512, AGAIN = 2 };

typedef struct peer {
    struct llama_model *model;
    struct llama_context *context;
    const struct llama_vocab *vocab;
    struct llama_batch batch;
} peer;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

_Noreturn static void fail(const char *what) {
    fprintf(stderr, "passes: %s\n", what);
    exit(1);
}

static void quiet(enum ggml_log_level level, const char *text, void *user) {
    (void)user;
    if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

static struct llama_model_params model_params(int repack) {
    struct llama_model_params m = llama_model_default_params();
#ifdef PEER_IK
    m.repack_tensors = repack;
    if (repack) m.use_mmap = 0;
#else
    if (repack) fail("-rtr is for ik_llama.cpp");
#endif
    return m;
}

// Drops what the cache holds at and behind a position.
static void forget(struct llama_context *c, int from) {
#ifdef PEER_IK
    llama_kv_cache_seq_rm(c, 0, from, -1);
#else
    llama_memory_seq_rm(llama_get_memory(c), 0, from, -1);
#endif
}

static void open_model(peer *p, const char *path, int repack) {
    llama_log_set(quiet, NULL);
    llama_backend_init();
    p->model = llama_model_load_from_file(path, model_params(repack));
    if (!p->model) fail("the model cannot be loaded");
    p->vocab = llama_model_get_vocab(p->model);
    p->batch = llama_batch_init(ROWS_MAX, 0, 1);
}

static void open_context(peer *p, int threads, int size) {
    struct llama_context_params c = llama_context_default_params();
    c.n_ctx = (uint32_t)size;
    c.n_threads = c.n_threads_batch = threads;
    p->context = llama_init_from_model(p->model, c);
    if (!p->context) fail("no context");
}

static void close_peer(peer *p) {
    llama_batch_free(p->batch);
    llama_free(p->context);
    llama_model_free(p->model);
    llama_backend_free();
}

// Puts n ids behind `past` tokens through the model, logits on all of them or on the last; seconds.
static double pass(peer *p, const llama_token *ids, int n, int past, int all) {
    for (int i = 0; i < n; i++) {
        p->batch.token[i] = ids[i];
        p->batch.pos[i] = past + i;
        p->batch.n_seq_id[i] = 1;
        p->batch.seq_id[i][0] = 0;
        p->batch.logits[i] = (int8_t)(all || i == n - 1);
    }
    p->batch.n_tokens = n;
    const double start = now();
    if (llama_decode(p->context, p->batch)) fail("llama_decode failed");
    llama_synchronize(p->context);
    const double seconds = now() - start;
    if (!llama_get_logits_ith(p->context, n - 1)) fail("no logits");
    return seconds;
}

// By the function that forerun's curve takes its ids from.
static llama_token some_id(const peer *p, int i) {
    return (llama_token)(((uint32_t)i * 2654435761u >> 8) %
                         (uint32_t)llama_vocab_n_tokens(p->vocab));
}

// Each count is timed AGAIN times after a pass of the same size that is not: llama.cpp keeps the
// graph of the pass before, so this is the better case for it. Every pass has other tokens, as
// forerun's have: the experts that the same ones read would lie in a cache.
static double time_count(peer *p, int n, int past) {
    llama_token ids[ROWS_MAX];
    double least = 0;
    for (int k = 0; k <= AGAIN; k++) {
        for (int i = 0; i < n; i++)
            ids[i] = some_id(p, k * ROWS_MAX + i);
        const double seconds = pass(p, ids, n, past, 1);
        if (k == 1 || (k && seconds < least)) least = seconds;
        forget(p->context, past);
    }
    return least;
}

// The first row sees the same tokens whatever the count is. NaN is as different as can be (and JSON
// has no word for it).
static double first_row_difference(const peer *p, float *first, int set) {
    const float *z = llama_get_logits_ith(p->context, 0);
    const int n = llama_vocab_n_tokens(p->vocab);
    double greatest = 0;
    if (set) memcpy(first, z, (size_t)n * sizeof *z);
    for (int i = 0; i < n; i++) {
        const double d = z[i] > first[i] ? (double)z[i] - first[i] : (double)first[i] - z[i];
        if (d != d) return 1e30;
        if (d > greatest) greatest = d;
    }
    return greatest;
}

static void print_list(const char *name, const double *values, int n, const char *format) {
    printf("\"%s\":[", name);
    for (int i = 0; i < n; i++) {
        if (i) printf(",");
        printf(format, values[i]);
    }
    printf("]");
}

static void curve(peer *p, int threads, int context, int rounds, char *list) {
    int n = 0;
    double rows[COUNTS_MAX], least[COUNTS_MAX], difference[COUNTS_MAX];
    float *first = calloc((size_t)llama_vocab_n_tokens(p->vocab), sizeof *first);
    if (!first) fail("no memory");
    for (char *rest, *s = strtok_r(list, ",", &rest); s && n < COUNTS_MAX;
         s = strtok_r(NULL, ",", &rest), n++) {
        rows[n] = atoi(s);
        if (rows[n] < 1 || rows[n] > ROWS_MAX) fail("rows: 1 to 512");
    }
    open_context(p, threads, context + ROWS_MAX);
    llama_token ids[ROWS_MAX];
    for (int past = 0; past < context;) {
        int count = context - past < ROWS_MAX ? context - past : ROWS_MAX;
        for (int i = 0; i < count; i++)
            ids[i] = some_id(p, past + i + 64);
        pass(p, ids, count, past, 0);
        past += count;
    }
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < n; i++) {
            const double seconds = time_count(p, (int)rows[i], context);
            if (!r || 1e3 * seconds < least[i]) least[i] = 1e3 * seconds;
            if (!r) difference[i] = first_row_difference(p, first, i == 0);
        }
    printf("{");
    print_list("rows", rows, n, "%.0f");
    printf(",");
    print_list("ms", least, n, "%.4f");
    printf(",");
    print_list("difference", difference, n, "%.6g");
    printf("}\n");
    free(first);
}

static void print_hex(const char *bytes, int n) {
    for (int i = 0; i < n; i++)
        printf("%02x", (unsigned char)bytes[i]);
}

static char *read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) fail("the prompt file cannot be opened");
    char *text = calloc(1, 1 << 20);
    if (!text || fread(text, 1, (1 << 20) - 1, f) == 0) fail("the prompt file is empty");
    fclose(f);
    return text;
}

static llama_token greatest(const peer *p, int row) {
    const float *z = llama_get_logits_ith(p->context, row);
    int best = 0;
    for (int i = 1; i < llama_vocab_n_tokens(p->vocab); i++)
        if (z[i] > z[best]) best = i;
    return best;
}

// The prompt's last token has a pass of its own, as in llama.cpp's speculative programs: then their
// text can differ from this one only by what was drafted.
static void plain(peer *p, int threads, const char *path, int n_predict) {
    char *text = read_file(path), piece[256];
    const int bytes = (int)strlen(text), room = bytes + 8;
    llama_token *ids = calloc((size_t)room, sizeof *ids);
    const int n = ids ? llama_tokenize(p->vocab, text, bytes, ids, room, true, true) : 0;
    if (n < 2) fail("the prompt cannot be tokenized");
    open_context(p, threads, n + n_predict + 8);
    for (int past = 0; past < n - 1; past += ROWS_MAX)
        pass(p, ids + past, n - 1 - past < ROWS_MAX ? n - 1 - past : ROWS_MAX, past, 0);
    llama_token id = ids[n - 1];
    int made = 0, ended = 0;
    printf("{\"prompt_tokens\":%d,\"hex\":\"", n);
    const double start = now();
    while (made < n_predict && !ended) {
        pass(p, &id, 1, n - 1 + made++, 1);
        id = greatest(p, 0);
        ended = llama_vocab_is_eog(p->vocab, id);
        if (!ended)
            print_hex(piece, llama_token_to_piece(p->vocab, id, piece, sizeof piece, 0, true));
    }
    printf("\",\"tokens\":%d,\"seconds\":%.6f,\"ended\":%s}\n", made, now() - start,
           ended ? "true" : "false");
    free(ids);
    free(text);
}

int main(int argc, char **argv) {
    peer p = {0};
    const int repack = argc > 1 && !strcmp(argv[1], "-rtr");
    argc -= repack;
    argv += repack;
    if (argc == 7 && !strcmp(argv[1], "curve")) {
        open_model(&p, argv[2], repack);
        curve(&p, atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), argv[6]);
    } else if (argc == 6 && !strcmp(argv[1], "plain")) {
        open_model(&p, argv[2], repack);
        plain(&p, atoi(argv[3]), argv[4], atoi(argv[5]));
    } else {
        fail("usage: passes [-rtr] curve MODEL THREADS CONTEXT ROUNDS N,N... | passes [-rtr] plain "
             "MODEL THREADS PROMPT_FILE N");
    }
    close_peer(&p);
}
