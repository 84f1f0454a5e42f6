// The promises of the pass: a row's results depend on nothing but its ancestors, for every
// architecture and weight type.
#include "kern/repack.h"
#include "support/open_model.h"
#include "support/quick.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CTX = 40, MAX_NODES = 64 };

static const fr_tiny_options MODELS[] = {
    {.arch = "llama", .type = FR_TYPE_Q4_1},
    {.arch = "llama",
     .type = FR_TYPE_Q8_0,
     .d = 96,
     .d_ff = 160,
     .n_head = 6,
     .n_kv = 2,
     .head_dim = 16},
    {.arch = "llama", .type = FR_TYPE_F16, .window = 9},
    {.arch = "llama", .type = FR_TYPE_Q2_K},
    {.arch = "llama", .type = FR_TYPE_Q3_K},
    {.arch = "qwen2", .type = FR_TYPE_Q4_K, .untied = true},
    {.arch = "qwen2", .type = FR_TYPE_Q5_0},
    {.arch = "qwen2", .type = FR_TYPE_IQ4_NL},
    {.arch = "qwen3", .type = FR_TYPE_Q6_K},
    {.arch = "qwen3", .type = FR_TYPE_Q4_0},
    {.arch = "gemma3", .type = FR_TYPE_Q5_K, .window = 11},
    {.arch = "gemma3", .type = FR_TYPE_IQ4_XS, .window = 30},
    {.arch = "phi3", .type = FR_TYPE_Q5_1},
    {.arch = "phi3", .type = FR_TYPE_BF16},
    {.arch = "gemma2", .type = FR_TYPE_Q4_0, .window = 11},
    {.arch = "smollm3", .type = FR_TYPE_Q4_K, .n_layer = 4},
    {.arch = "granite", .type = FR_TYPE_IQ2_S},
    {.arch = "minicpm", .type = FR_TYPE_Q4_1},
    {.arch = "mistral3", .type = FR_TYPE_Q6_K},
    {.arch = "ernie4_5", .type = FR_TYPE_Q5_0, .head_dim = 32},
    {.arch = "seed_oss", .type = FR_TYPE_IQ4_NL},
    {.arch = "glm4", .type = FR_TYPE_Q5_1},
    {.arch = "hunyuan-dense", .type = FR_TYPE_F16},
    {.arch = "olmo2", .type = FR_TYPE_Q5_K, .window = 11},
    {.arch = "exaone4", .type = FR_TYPE_MXFP4, .window = 11, .n_layer = 4},
    {.arch = "command-r", .type = FR_TYPE_Q8_0},
    {.arch = "cohere2", .type = FR_TYPE_Q3_K, .window = 11, .n_layer = 4},
    {.arch = "starcoder2", .type = FR_TYPE_F32},
    {.arch = "llama", .type = FR_TYPE_Q4_1, .biases = true, .n_padding = 2100},
    {.arch = "glm4", .type = FR_TYPE_Q8_0, .biases = true},
    {.arch = "olmo2", .type = FR_TYPE_F16, .window = 11, .biases = true},
    {.arch = "qwen3moe", .type = FR_TYPE_Q4_K},
    {.arch = "gpt-oss", .type = FR_TYPE_Q8_0, .window = 11},
    {.arch = "glm4moe", .type = FR_TYPE_Q6_K, .biases = true},
    {.arch = "llama4", .type = FR_TYPE_IQ4_NL, .n_layer = 4},
    {.arch = "phimoe", .type = FR_TYPE_BF16},
};
enum { N_MODELS = sizeof MODELS / sizeof *MODELS };

// Whether case i of n, of the model, is tried: under FR_QUICK one, the next one of the next model.
static bool is_tried(int model, int i, int n) {
    return !fr_test_is_quick() || (model + i) % n == 0;
}

typedef struct bench {
    fr_opened o;
    fr_kv kv;
    fr_forward *f;
} bench;

static void open_bench_as(bench *b, const fr_tiny_options *options, const fr_kern *kern,
                          int threads, fr_kv_type type) {
    fr_error err;
    fr_opened_open(&b->o, options, kern, threads);
    assert_int_equal(fr_kv_open(&b->kv, &b->o.model.config, 128, type, &err), FR_OK);
    fr_forward_limits limits = {.max_logits = MAX_NODES, .max_taps = 4, .n_ctx = 128};
    assert_int_equal(fr_forward_open(&b->f, &b->o.model, &limits, &err), FR_OK);
}

static void open_bench(bench *b, const fr_tiny_options *options, const fr_kern *kern, int threads) {
    open_bench_as(b, options, kern, threads, FR_KV_F16);
}

static void close_bench(bench *b) {
    fr_forward_close(b->f);
    fr_kv_close(&b->kv);
    fr_opened_close(&b->o);
}

static void run_rows(bench *b, const fr_row *rows, int n) {
    fr_forward_run(b->f,
                   &(fr_pass){.rows = rows, .n_rows = n, .kv = (fr_kv *[]){&b->kv}, .n_seq = 1});
}

// Evaluates and commits ids as one chain; logits of its last row stay readable.
static const float *append(bench *b, const int32_t *ids, int n) {
    fr_row rows[CTX];
    int path[CTX];
    for (int i = 0; i < n; i++) {
        rows[i] = fr_row_token(ids[i], i - 1, i == n - 1 ? FR_WANT_LOGITS : 0);
        path[i] = i;
    }
    run_rows(b, rows, n);
    fr_kv_commit(&b->kv, path, n);
    return fr_forward_logits(b->f, n - 1);
}

static float *copy_logits(const bench *b, const float *logits) {
    size_t bytes = sizeof *logits * (size_t)b->o.model.config.n_vocab;
    float *copy = malloc(bytes);
    memcpy(copy, logits, bytes);
    return copy;
}

static void assert_same_bits(const bench *b, const float *x, const float *y, const char *what,
                             int row) {
    size_t bytes = sizeof *x * (size_t)b->o.model.config.n_vocab;
    if (memcmp(x, y, bytes)) fail_msg("%s: row %d differs", what, row);
}

static const char *label(const fr_tiny_options *m, const fr_kern *kern, int threads) {
    static char text[96];
    snprintf(text, sizeof text, "%s %s, %s, %d threads", m->arch, fr_qtype_name(m->type),
             kern->name, threads);
    return text;
}

// Every row of a random tree gives the logits that decoding its path one token at a time gives.
static void tree_rows_equal_plain_decoding(const fr_tiny_options *m, const fr_kern *kern,
                                           int threads, unsigned seed) {
    bench b;
    int32_t ids[CTX], node_id[MAX_NODES];
    int parent[MAX_NODES];
    open_bench(&b, m, kern, threads);
    int n_vocab = b.o.model.config.n_vocab;
    fr_test_ids(ids, CTX, n_vocab, seed);
    int n = 5 + rand() % 59, bushy = 1 + rand() % 4;

    append(&b, ids, 23);
    append(&b, ids + 23, CTX - 23);
    fr_row rows[MAX_NODES];
    for (int i = 0; i < n; i++) {
        int back = rand() % bushy;
        parent[i] = i == 0 ? -1 : i - 1 - back < 0 ? -1 : i - 1 - back;
        node_id[i] = rand() % n_vocab;
        rows[i] = fr_row_token(node_id[i], parent[i], FR_WANT_LOGITS);
    }
    run_rows(&b, rows, n);
    float *tree[MAX_NODES];
    for (int i = 0; i < n; i++)
        tree[i] = copy_logits(&b, fr_forward_logits(b.f, i));

    for (int checks = 0; checks < 6; checks++) {
        int path[MAX_NODES], length = 0, leaf = rand() % n;
        for (int i = leaf; i >= 0; i = parent[i])
            path[length++] = i;
        fr_kv_truncate(&b.kv, CTX);
        for (int i = length - 1; i >= 0; i--)
            assert_same_bits(&b, append(&b, &node_id[path[i]], 1), tree[path[i]],
                             label(m, kern, threads), path[i]);
    }
    for (int i = 0; i < n; i++)
        free(tree[i]);
    close_bench(&b);
}

static void tree_rows_equal_plain_decoding_everywhere(void **state) {
    (void)state;
    for (int m = 0; m < N_MODELS; m++)
        for (int isa = 0; isa < FR_ISA_COUNT; isa++)
            if (fr_kern_of(isa) && is_tried(m, isa, 3))
                tree_rows_equal_plain_decoding(&MODELS[m], fr_kern_of(isa), 1 + m % 3, 100 + m);
}

static void committing_a_path_equals_a_fresh_prompt(void **state) {
    (void)state;
    bench b;
    int32_t ids[CTX];
    open_bench(&b, &MODELS[1], fr_kern_of(FR_ISA_SCALAR), 2);
    fr_test_ids(ids, CTX, b.o.model.config.n_vocab, 7);
    append(&b, ids, 10);
    // A tree whose path 0 -> 2 -> 5 -> 6 holds ids[10..13]; the other nodes hold something else.
    const int parent[7] = {-1, 0, 0, 1, 3, 2, 5}, at[7] = {10, 30, 11, 31, 32, 12, 13};
    fr_row rows[7];
    for (int i = 0; i < 7; i++)
        rows[i] = fr_row_token(ids[at[i]], parent[i], FR_WANT_LOGITS);
    run_rows(&b, rows, 7);
    fr_kv_commit(&b.kv, (int[]){0, 2, 5, 6}, 4);
    float *after = copy_logits(&b, append(&b, ids + 14, 8));
    fr_kv_truncate(&b.kv, 0);
    append(&b, ids, 14);
    assert_same_bits(&b, append(&b, ids + 14, 8), after, "committed path", 0);
    free(after);
    close_bench(&b);
}

static void any_split_of_the_prompt_gives_the_same_bits(void **state) {
    (void)state;
    for (int m = 0; m < N_MODELS; m++) {
        bench b;
        int32_t ids[CTX];
        const fr_kern *best = fr_kern_of(FR_ISA_AVX2),
                      *kern = m % 2 && best ? best : fr_kern_of(FR_ISA_SCALAR);
        open_bench(&b, &MODELS[m], kern, 2);
        fr_test_ids(ids, CTX, b.o.model.config.n_vocab, 11);
        float *whole = copy_logits(&b, append(&b, ids, CTX));
        for (int k = 0, chunk = 1; chunk < CTX; k++, chunk = 2 * chunk + 1) {
            const float *last = NULL;
            if (!is_tried(m / 2, k, 2)) continue;
            fr_kv_truncate(&b.kv, 0);
            for (int i = 0; i < CTX; i += chunk)
                last = append(&b, ids + i, CTX - i < chunk ? CTX - i : chunk);
            assert_same_bits(&b, last, whole, label(&MODELS[m], kern, 2), chunk);
        }
        free(whole);
        close_bench(&b);
    }
}

static void every_instruction_set_and_thread_count_gives_the_same_bits(void **state) {
    (void)state;
    for (int m = 0; m < N_MODELS; m++) {
        bench b;
        int32_t ids[CTX];
        open_bench(&b, &MODELS[m], fr_kern_of(FR_ISA_SCALAR), 1);
        fr_test_ids(ids, CTX, b.o.model.config.n_vocab, 13);
        float *expected = copy_logits(&b, append(&b, ids, CTX));
        close_bench(&b);
        for (int isa = 0; isa < FR_ISA_COUNT; isa++)
            for (int threads = 1; threads <= 4 && fr_kern_of(isa); threads += 3) {
                if (!is_tried(m, isa + threads, 4)) continue;
                open_bench(&b, &MODELS[m], fr_kern_of(isa), threads);
                assert_same_bits(&b, append(&b, ids, CTX), expected,
                                 label(&MODELS[m], fr_kern_of(isa), threads), 0);
                close_bench(&b);
            }
        free(expected);
    }
}

static void sequences_of_one_pass_do_not_meet(void **state) {
    (void)state;
    bench b;
    fr_kv other;
    int32_t ids[CTX];
    open_bench(&b, &MODELS[5], fr_kern_of(FR_ISA_SCALAR), 2);
    assert_int_equal(fr_kv_open(&other, &b.o.model.config, 64, FR_KV_F16, NULL), FR_OK);
    fr_test_ids(ids, CTX, b.o.model.config.n_vocab, 17);
    float *first = copy_logits(&b, append(&b, ids, 6));
    fr_kv_truncate(&b.kv, 0);
    float *second = copy_logits(&b, append(&b, ids + 20, 9));
    fr_kv_truncate(&b.kv, 0);
    fr_row rows[15];
    int n = 0, last[2] = {-1, -1};
    for (int i = 0; i < 9; i++) // row by row in turn
        for (int s = 0; s < 2; s++) {
            if (s == 0 && i >= 6) continue;
            rows[n] = fr_row_token(s ? ids[20 + i] : ids[i], last[s], FR_WANT_LOGITS);
            rows[n].seq = s;
            last[s] = n++;
        }
    fr_forward_run(
        b.f, &(fr_pass){.rows = rows, .n_rows = n, .kv = (fr_kv *[]){&b.kv, &other}, .n_seq = 2});
    assert_same_bits(&b, fr_forward_logits(b.f, last[0]), first, "sequence", 0);
    assert_same_bits(&b, fr_forward_logits(b.f, last[1]), second, "sequence", 1);
    assert_int_equal(b.kv.n_scratch, 6);
    assert_int_equal(other.n_scratch, 9);
    free(first);
    free(second);
    fr_kv_close(&other);
    close_bench(&b);
}

// A vector row that holds a token's embedding is that token; one that enters later sees only the
// layers it has.
static void vector_rows_are_tokens_by_other_means(void **state) {
    (void)state;
    bench b;
    int32_t ids[CTX];
    open_bench(&b, &MODELS[8], fr_kern_of(FR_ISA_SCALAR), 2);
    int d = b.o.model.config.d;
    float *vec = malloc(sizeof *vec * (size_t)d);
    fr_test_ids(ids, CTX, b.o.model.config.n_vocab, 19);
    append(&b, ids, 8);
    const int taps[2] = {0, 2};
    fr_row rows[3] = {fr_row_token(ids[8], -1, FR_WANT_LOGITS | FR_WANT_TAPS),
                      fr_row_token(ids[9], 0, FR_WANT_LOGITS)};
    fr_pass pass = {
        .rows = rows, .n_rows = 2, .kv = (fr_kv *[]){&b.kv}, .n_seq = 1, .taps = taps, .n_taps = 2};
    fr_forward_run(b.f, &pass);
    float *expected = copy_logits(&b, fr_forward_logits(b.f, 1)),
          *root = copy_logits(&b, fr_forward_logits(b.f, 0));
    memcpy(vec, fr_forward_tap(b.f, 0, 0), sizeof *vec * (size_t)d);
    float *middle = malloc(sizeof *middle * (size_t)d);
    memcpy(middle, fr_forward_tap(b.f, 1, 0), sizeof *middle * (size_t)d);

    fr_kv_drop_scratch(&b.kv);
    rows[0] = (fr_row){.kind = FR_ROW_VECTOR,
                       .vec = vec,
                       .pos = FR_POS_AUTO,
                       .parent = -1,
                       .wants = FR_WANT_LOGITS};
    fr_forward_run(b.f, &pass);
    assert_same_bits(&b, fr_forward_logits(b.f, 1), expected, "row under a vector row", 1);

    // Resuming a slot at layer 2 with its residual there gives its logits, and its child reads its
    // K and V of all layers.
    fr_kv_drop_scratch(&b.kv);
    rows[0] = fr_row_token(ids[8], -1, 0);
    fr_pass stopped = pass;
    stopped.n_rows = 1;
    stopped.stop = 2;
    fr_forward_run(b.f, &stopped);
    rows[0] = (fr_row){.kind = FR_ROW_VECTOR,
                       .vec = middle,
                       .join = 2,
                       .resume = 1,
                       .parent = -1,
                       .wants = FR_WANT_LOGITS};
    fr_forward_run(b.f, &pass);
    assert_same_bits(&b, fr_forward_logits(b.f, 0), root, "resumed row", 0);
    assert_same_bits(&b, fr_forward_logits(b.f, 1), expected, "row under a resumed row", 1);
    assert_int_equal(b.kv.n_scratch, 2);

    // Hanging a later pass' row under a slot of an earlier pass.
    fr_kv_drop_scratch(&b.kv);
    rows[0] = fr_row_token(ids[8], -1, 0);
    pass.n_rows = 1;
    fr_forward_run(b.f, &pass);
    rows[0] = fr_row_token(ids[9], FR_PARENT_SLOT(0), FR_WANT_LOGITS);
    fr_forward_run(b.f, &pass);
    assert_same_bits(&b, fr_forward_logits(b.f, 0), expected, "row under an earlier pass' slot", 0);
    free(expected);
    free(root);
    free(vec);
    free(middle);
    close_bench(&b);
}

// w [d][d] as the pass wants a map; *panels is to be freed.
static void pack_map(fr_matrix *map, uint8_t **panels, const float *w, int d) {
    const size_t panel = fr_repack_panel_bytes(FR_TYPE_F32, d);
    *map = (fr_matrix){
        .type = FR_TYPE_F32, .m = d, .k = d, .n_panels = (d + 15) / 16, .panel_bytes = panel};
    *panels = fr_alloc_zero(panel * (size_t)map->n_panels);
    fr_repack_panels(FR_TYPE_F32, *panels, (const uint8_t *)w, d, d, 0, map->n_panels);
    map->panels = *panels;
}

// An identity map makes a linear row a copy of its source's residual: it equals a vector row with
// that residual.
static void linear_rows_apply_their_map_and_are_unseen_by_others(void **state) {
    (void)state;
    bench b;
    int32_t ids[CTX];
    open_bench(&b, &MODELS[0], fr_kern_of(FR_ISA_SCALAR), 2);
    int d = b.o.model.config.d;
    float *identity = calloc((size_t)d * d, sizeof *identity),
          *middle = malloc(sizeof *middle * (size_t)d);
    for (int i = 0; i < d; i++)
        identity[i * d + i] = 1;
    fr_matrix map;
    uint8_t *panels;
    pack_map(&map, &panels, identity, d);

    fr_test_ids(ids, CTX, b.o.model.config.n_vocab, 23);
    append(&b, ids, 8);
    const int taps[1] = {1};
    fr_row rows[3] = {fr_row_token(ids[8], -1, FR_WANT_LOGITS | FR_WANT_TAPS)};
    fr_pass pass = {
        .rows = rows, .n_rows = 1, .kv = (fr_kv *[]){&b.kv}, .n_seq = 1, .taps = taps, .n_taps = 1};
    fr_forward_run(b.f, &pass);
    float *alone = copy_logits(&b, fr_forward_logits(b.f, 0));
    memcpy(middle, fr_forward_tap(b.f, 0, 0), sizeof *middle * (size_t)d);

    fr_kv_drop_scratch(&b.kv);
    rows[1] = (fr_row){.kind = FR_ROW_VECTOR,
                       .vec = middle,
                       .join = 1,
                       .parent = 0,
                       .pos = FR_POS_AUTO,
                       .wants = FR_WANT_LOGITS};
    pass.n_rows = 2;
    fr_forward_run(b.f, &pass);
    float *expected = copy_logits(&b, fr_forward_logits(b.f, 1));
    assert_same_bits(&b, fr_forward_logits(b.f, 0), alone, "base row", 0);

    fr_kv_drop_scratch(&b.kv);
    rows[1] = (fr_row){.kind = FR_ROW_LINEAR,
                       .source = 0,
                       .map = 0,
                       .join = 1,
                       .parent = 0,
                       .pos = FR_POS_AUTO,
                       .wants = FR_WANT_LOGITS};
    pass.maps = &map;
    pass.n_maps = 1;
    fr_forward_run(b.f, &pass);
    assert_same_bits(&b, fr_forward_logits(b.f, 1), expected, "linear row", 1);
    assert_same_bits(&b, fr_forward_logits(b.f, 0), alone, "base row", 0);
    fr_free(panels);
    free(identity);
    free(middle);
    free(alone);
    free(expected);
    close_bench(&b);
}

// ---------------------------------------------------------------- trees with attached rows
enum { MAPS = 2, CANDIDATES = 12, CHAIN = 3, MEMBERS = 2 };

typedef struct row_tree { // candidates, then chains of attached rows under some of them
    fr_row rows[MAX_NODES];
    int n;
    float *vec[MAX_NODES]; // of rows that enter as vectors
    fr_matrix map[MAPS];
    uint8_t *panels[MAPS];
} row_tree;

static void random_map(fr_matrix *map, uint8_t **panels, int d) {
    float *w = malloc(sizeof *w * (size_t)d * (size_t)d);
    for (int i = 0; i < d * d; i++)
        w[i] = (float)(rand() % 2001 - 1000) / 1000 / sqrtf((float)d);
    pack_map(map, panels, w, d);
    free(w);
}

// A row of a chain: a vector that enters at some layer, or a map of the base's residual there.
static fr_row attached_row(row_tree *tree, int base, int parent, int join, bool linear, int d) {
    fr_row row = {
        .pos = FR_POS_AUTO, .parent = parent, .join = (int16_t)join, .wants = FR_WANT_LOGITS};
    if (linear) {
        row.kind = FR_ROW_LINEAR;
        row.source = base;
        row.map = rand() % MAPS;
        return row;
    }
    row.kind = FR_ROW_VECTOR;
    row.vec = tree->vec[tree->n] = malloc(sizeof(float) * (size_t)d);
    for (int i = 0; i < d; i++)
        tree->vec[tree->n][i] = (float)(rand() % 2001 - 1000) / 1000;
    return row;
}

// Chains of an ensemble, each seeing its own member alone, or of pseudo rows that enter mid-way.
static void add_chain(row_tree *tree, int base, int d) {
    const bool linear = rand() % 2;
    const int members = linear ? 1 : 1 + rand() % MEMBERS, steps = 1 + rand() % CHAIN;
    const int join = linear ? 1 : rand() % 2;
    for (int member = 0; member < members; member++)
        for (int i = 0, parent = base; i < steps && tree->n < MAX_NODES; i++, parent = tree->n++)
            tree->rows[tree->n] =
                attached_row(tree, base, parent, join + (i > 1 && linear), linear, d);
}

static void make_tree(row_tree *tree, int d, int n_vocab) {
    *tree = (row_tree){0};
    for (int i = 0; i < MAPS; i++)
        random_map(&tree->map[i], &tree->panels[i], d);
    for (; tree->n < CANDIDATES; tree->n++) {
        const int back = 1 + rand() % 3,
                  parent = tree->n ? tree->n - back < 0 ? 0 : tree->n - back : -1;
        tree->rows[tree->n] = fr_row_token(rand() % n_vocab, parent, FR_WANT_LOGITS);
    }
    for (int node = 0; node < CANDIDATES; node++)
        if (rand() % 2) add_chain(tree, node, d);
}

static void free_tree(row_tree *tree) {
    for (int i = 0; i < MAX_NODES; i++)
        free(tree->vec[i]);
    for (int i = 0; i < MAPS; i++)
        fr_free(tree->panels[i]);
}

static void run_tree(bench *b, const row_tree *tree, const fr_row *rows, int n) {
    fr_forward_run(b->f, &(fr_pass){.rows = rows,
                                    .n_rows = n,
                                    .kv = (fr_kv *[]){&b->kv},
                                    .n_seq = 1,
                                    .maps = tree->map,
                                    .n_maps = MAPS});
}

// By definition: the candidates before the base are text, and the pass holds the base and the rows
// between it and this one.
static const float *by_definition(bench *b, const row_tree *tree, int row) {
    int path[MAX_NODES], length = 0, first = 0;
    fr_row rows[MAX_NODES];
    for (int i = row; i >= 0; i = tree->rows[i].parent)
        path[length++] = i;
    for (int i = 0; i < length / 2; i++) {
        const int other = path[i];
        path[i] = path[length - 1 - i];
        path[length - 1 - i] = other;
    }
    fr_kv_truncate(&b->kv, CTX);
    while (first + 1 < length && path[first + 1] < CANDIDATES)
        append(b, &tree->rows[path[first++]].id, 1);
    for (int i = first; i < length; i++) {
        rows[i - first] = tree->rows[path[i]];
        rows[i - first].parent = i > first ? i - first - 1 : FR_PARENT_COMMITTED;
        rows[i - first].source = 0;
    }
    run_tree(b, tree, rows, length - first);
    return fr_forward_logits(b->f, length - first - 1);
}

static void a_tree_is_its_definition(const fr_tiny_options *m, const fr_kern *kern, int threads) {
    bench b;
    row_tree tree;
    int32_t ids[CTX];
    float *seen[MAX_NODES];
    open_bench(&b, m, kern, threads);
    fr_test_ids(ids, CTX, b.o.model.config.n_vocab, 31);
    make_tree(&tree, b.o.model.config.d, b.o.model.config.n_vocab);
    append(&b, ids, CTX);
    run_tree(&b, &tree, tree.rows, tree.n);
    for (int i = 0; i < tree.n; i++)
        seen[i] = copy_logits(&b, fr_forward_logits(b.f, i));
    for (int i = 0; i < tree.n; i++) {
        assert_same_bits(&b, by_definition(&b, &tree, i), seen[i], label(m, kern, threads), i);
        free(seen[i]);
    }
    free_tree(&tree);
    close_bench(&b);
}

static void trees_with_attached_rows_are_their_definition(void **state) {
    (void)state;
    srand(41);
    for (int m = 0; m < N_MODELS; m++)
        for (int isa = 0; isa < FR_ISA_COUNT; isa++)
            if (fr_kern_of(isa) && is_tried(m, isa, 3))
                a_tree_is_its_definition(&MODELS[m], fr_kern_of(isa), 1 + (m + isa) % 3);
}

static void skipping_everything_leaves_the_embedding(void **state) {
    (void)state;
    bench b;
    open_bench(&b, &MODELS[0], fr_kern_of(FR_ISA_SCALAR), 2);
    const fr_config *c = &b.o.model.config;
    uint8_t skip[2 * 8];
    memset(skip, 1, sizeof skip);
    const int taps[2] = {0, c->n_layer};
    fr_row row = fr_row_token(5, -1, FR_WANT_TAPS | FR_WANT_FINAL | FR_WANT_LOGITS);
    fr_forward_run(b.f, &(fr_pass){.rows = &row,
                                   .n_rows = 1,
                                   .kv = (fr_kv *[]){&b.kv},
                                   .n_seq = 1,
                                   .skip = skip,
                                   .taps = taps,
                                   .n_taps = 2});
    assert_memory_equal(fr_forward_tap(b.f, 0, 0), fr_forward_tap(b.f, 1, 0),
                        sizeof(float) * (size_t)c->d);
    float *logits = copy_logits(&b, fr_forward_logits(b.f, 0)),
          *again = malloc(sizeof *again * (size_t)c->n_vocab);
    fr_forward_head(b.f, fr_forward_final(b.f, 0), 1, again);
    assert_same_bits(&b, again, logits, "head alone", 0);
    free(logits);
    free(again);
    close_bench(&b);
}

// Rows of a tree that go on behind layer 2, where passes of the layers below left them, give the
// bits of a whole pass, they and those that begin at the bottom under them; and so does what is
// committed.
static void rows_that_go_on_are_whole_rows(void **state) {
    (void)state;
    enum { ROWS = 12, FIRST = 6, EXIT = 2, KEPT = 5 };
    static const int parent[ROWS] = {-1, 0, 1, 1, 3, 0, 4, 2, 6, 5, 6, 10};
    static const int path[KEPT] = {0, 1, 3, 4, 6};
    for (int m = 0; m < N_MODELS; m++) {
        bench b;
        int32_t ids[CTX];
        fr_row rows[ROWS];
        float *want[ROWS], states[FIRST][256];
        int slots[KEPT];
        const int exit = EXIT, threads = 1 + m % 3;
        const fr_kern *best = fr_kern_of(FR_ISA_AVX2);
        open_bench(&b, &MODELS[m], m % 2 && best ? best : fr_kern_of(FR_ISA_SCALAR), threads);
        const fr_config *c = &b.o.model.config;
        const size_t layer = (size_t)(9 + KEPT) * (size_t)c->n_kv * (size_t)c->head_dim;
        float *kv[2] = {malloc(4 * layer * sizeof(float)), malloc(4 * layer * sizeof(float))};
        fr_test_ids(ids, CTX, c->n_vocab, 67);
        append(&b, ids, 9);
        for (int r = 0; r < ROWS; r++)
            rows[r] = fr_row_token(ids[9 + r], parent[r], FR_WANT_LOGITS);
        run_rows(&b, rows, ROWS);
        for (int r = 0; r < ROWS; r++)
            want[r] = copy_logits(&b, fr_forward_logits(b.f, r));
        fr_kv_commit(&b.kv, path, KEPT);
        for (int l = EXIT - 1; l <= EXIT; l++)
            fr_kv_read(&b.kv, l, 0, 9 + KEPT, kv[0] + 2 * layer * (size_t)(l - EXIT + 1),
                       kv[0] + layer + 2 * layer * (size_t)(l - EXIT + 1));
        fr_kv_truncate(&b.kv, 9);
        for (int r = 0; r < FIRST; r++) { // one pass for each of the first rows
            const int under = parent[r] < 0 ? FR_PARENT_COMMITTED : FR_PARENT_SLOT(parent[r]);
            const fr_row row = fr_row_token(ids[9 + r], under, FR_WANT_TAPS);
            fr_forward_run(b.f, &(fr_pass){.rows = &row,
                                           .n_rows = 1,
                                           .kv = (fr_kv *[]){&b.kv},
                                           .n_seq = 1,
                                           .stop = EXIT,
                                           .taps = &exit,
                                           .n_taps = 1});
            assert_int_equal(fr_forward_slot(b.f, 0), r);
            memcpy(states[r], fr_forward_tap(b.f, 0, 0), sizeof(float) * (size_t)c->d);
            rows[r] = (fr_row){.kind = FR_ROW_VECTOR,
                               .vec = states[r],
                               .parent = parent[r],
                               .pos = FR_POS_AUTO,
                               .join = EXIT,
                               .resume = r + 1,
                               .wants = FR_WANT_LOGITS};
        }
        run_rows(&b, rows, ROWS);
        for (int r = 0; r < ROWS; r++) {
            assert_same_bits(&b, fr_forward_logits(b.f, r), want[r], "row that goes on", r);
            free(want[r]);
        }
        for (int i = 0; i < KEPT; i++)
            slots[i] = fr_forward_slot(b.f, path[i]);
        fr_kv_commit(&b.kv, slots, KEPT);
        for (int l = EXIT - 1; l <= EXIT; l++)
            fr_kv_read(&b.kv, l, 0, 9 + KEPT, kv[1] + 2 * layer * (size_t)(l - EXIT + 1),
                       kv[1] + layer + 2 * layer * (size_t)(l - EXIT + 1));
        assert_memory_equal(kv[0], kv[1], 4 * layer * sizeof(float));
        free(kv[0]);
        free(kv[1]);
        close_bench(&b);
    }
}

// Rows that deliver nothing are not computed to the end, and nobody else notices: what the others
// deliver, and all keys and values, are those of a pass in which every row delivers everything.
static void rows_that_deliver_nothing_change_nothing(void **state) {
    (void)state;
    enum { ROWS = 12, CASES = 4, BEFORE = 9 };
    static const int parent[ROWS] = {-1, 0, 1, 1, 3, 0, 4, 2, 6, 5, 6, 10};
    static const uint8_t wants[CASES][ROWS] = {
        {[11] = FR_WANT_LOGITS},
        {0},
        {[0] = FR_WANT_FINAL, [4] = FR_WANT_TAPS, [5] = FR_WANT_LOGITS, [9] = FR_WANT_TAPS},
        {[3] = FR_WANT_TAPS, [7] = FR_WANT_FINAL | FR_WANT_TAPS},
    };
    for (int m = 0; m < N_MODELS; m++)
        for (int k = m % CASES; k < 2 * CASES; k += CASES) {
            bench all, some;
            int32_t ids[CTX];
            fr_row rows[2][ROWS];
            int path[ROWS];
            const int threads = 1 + (m + k) % 3, layers = k < CASES ? 0 : 2, ends = k % 2;
            const fr_kern *kern =
                fr_kern_of(m % 2 && fr_kern_of(FR_ISA_AVX2) ? FR_ISA_AVX2 : FR_ISA_SCALAR);
            open_bench(&all, &MODELS[m], kern, threads);
            open_bench(&some, &MODELS[m], kern, threads);
            const fr_config *c = &all.o.model.config;
            const size_t d = sizeof(float) * (size_t)c->d;
            const int stop = layers ? layers : c->n_layer;
            const int taps[2] = {1, ends ? stop : stop - 1}; // the second one before or behind it
            uint8_t skip[64] = {0};
            skip[2 * (stop - 1) + m % 2] = m % 3 == 0;
            fr_test_ids(ids, CTX, c->n_vocab, 71);
            append(&all, ids, BEFORE);
            append(&some, ids, BEFORE);
            for (int r = 0; r < ROWS; r++) {
                rows[0][r] = fr_row_token(ids[BEFORE + r], parent[r],
                                          FR_WANT_LOGITS | FR_WANT_FINAL | FR_WANT_TAPS);
                rows[1][r] = fr_row_token(ids[BEFORE + r], parent[r], wants[k % CASES][r]);
                path[r] = r;
            }
            for (int i = 0; i < 2; i++)
                fr_forward_run(i ? some.f : all.f,
                               &(fr_pass){.rows = rows[i],
                                          .n_rows = ROWS,
                                          .kv = (fr_kv *[]){i ? &some.kv : &all.kv},
                                          .n_seq = 1,
                                          .stop = layers,
                                          .skip = skip,
                                          .taps = taps,
                                          .n_taps = 2});
            for (int r = 0; r < ROWS; r++) {
                const uint8_t want = rows[1][r].wants;
                if (want & FR_WANT_LOGITS)
                    assert_same_bits(&all, fr_forward_logits(all.f, r),
                                     fr_forward_logits(some.f, r), "of some", r);
                if (want & FR_WANT_FINAL)
                    assert_memory_equal(fr_forward_final(all.f, r), fr_forward_final(some.f, r), d);
                for (int t = 0; t < 2 && want & FR_WANT_TAPS; t++)
                    assert_memory_equal(fr_forward_tap(all.f, t, r), fr_forward_tap(some.f, t, r),
                                        d);
            }
            fr_kv_commit(&all.kv, path, ROWS);
            fr_kv_commit(&some.kv, path, ROWS);
            const size_t kv = (size_t)(BEFORE + ROWS) * (size_t)c->n_kv * (size_t)c->head_dim;
            float *k0 = malloc(4 * kv * sizeof(float)), *k1 = k0 + 2 * kv;
            for (int l = 0; l < stop; l++) {
                if (skip[2 * l]) continue; // nothing was stored
                fr_kv_read(&all.kv, l, 0, BEFORE + ROWS, k0, k0 + kv);
                fr_kv_read(&some.kv, l, 0, BEFORE + ROWS, k1, k1 + kv);
                assert_memory_equal(k0, k1, 2 * kv * sizeof(float));
            }
            free(k0);
            close_bench(&all);
            close_bench(&some);
        }
}

// A pass without some sublayers is that of a model in which they add nothing, and leaves nothing
// behind for other passes.
static void a_pass_that_skips_is_a_model_whose_sublayers_are_identity(void **state) {
    (void)state;
    enum { ROWS = 12, SETS = 3 };
    static const uint32_t sets[SETS] = {1u << 0 | 1u << 3, 1u << 2 | 1u << 5, 1u << 1 | 1u << 4};
    static const int parent[ROWS] = {-1, 0, 1, 2, 3, 3, 4, 5, 2, 8, 7, 0};
    for (int m = 0; m < N_MODELS; m++)
        for (int s = 0; s < SETS; s++) {
            if (!is_tried(m, s, SETS)) continue;
            fr_tiny_options options = MODELS[m];
            bench whole, without;
            uint8_t skip[2 * 4] = {0}; // four layers at most
            int32_t ids[CTX];
            fr_row rows[ROWS];
            const int threads = 1 + (m + s) % 3;
            const fr_kern *kern = fr_kern_of(FR_ISA_AVX2) && m % 2 ? fr_kern_of(FR_ISA_AVX2)
                                                                   : fr_kern_of(FR_ISA_SCALAR);
            open_bench(&whole, &options, kern, threads);
            options.identity = sets[s];
            open_bench(&without, &options, kern, threads);
            fr_test_ids(ids, CTX, whole.o.model.config.n_vocab, 61);
            for (int r = 0; r < ROWS; r++)
                rows[r] = fr_row_token(ids[r], parent[r], FR_WANT_LOGITS);
            for (int i = 0; i < 6; i++)
                skip[i] = sets[s] >> i & 1;
            fr_pass pass = {.rows = rows, .n_rows = ROWS, .kv = (fr_kv *[]){&whole.kv}, .n_seq = 1};
            fr_forward_run(whole.f, &pass);
            float *before = copy_logits(&whole, fr_forward_logits(whole.f, ROWS - 2));
            fr_kv_drop_scratch(&whole.kv);
            pass.skip = skip;
            fr_forward_run(whole.f, &pass);
            run_rows(&without, rows, ROWS);
            for (int r = 0; r < ROWS; r++)
                assert_same_bits(&whole, fr_forward_logits(whole.f, r),
                                 fr_forward_logits(without.f, r), "skipped", r);
            fr_kv_drop_scratch(&whole.kv);
            pass.skip = NULL;
            fr_forward_run(whole.f, &pass);
            assert_same_bits(&whole, fr_forward_logits(whole.f, ROWS - 2), before, "after", 0);
            free(before);
            close_bench(&whole);
            close_bench(&without);
        }
}

// A token whose embedding is broken spoils itself and what hangs below it, nobody else: neither its
// parent nor its sibling, on no instruction set.
static void a_broken_row_spoils_its_descendants_only(void **state) {
    (void)state;
    for (int isa = 0; isa < FR_ISA_COUNT; isa++) {
        if (!fr_isa_available((fr_isa)isa)) continue;
        bench b;
        open_bench(&b, &(fr_tiny_options){.untied = true}, fr_kern_of((fr_isa)isa), 1);
        const fr_gguf_tensor *embed = fr_gguf_tensor_find(b.o.gguf, "token_embd.weight");
        ((float *)(uintptr_t)embed->data)[5 * 64 + 3] = NAN; // read in place: untied
        const int32_t ids[] = {3, 7};
        fr_row rows[4];
        for (int i = 0; i < 2; i++)
            rows[i] = fr_row_token(ids[i], i - 1, FR_WANT_LOGITS);
        run_rows(&b, rows, 2);
        float *root = copy_logits(&b, fr_forward_logits(b.f, 0));
        float *child = copy_logits(&b, fr_forward_logits(b.f, 1));
        fr_kv_drop_scratch(&b.kv);
        rows[1] = fr_row_token(5, 0, FR_WANT_LOGITS);
        rows[2] = fr_row_token(7, 1, FR_WANT_LOGITS);
        rows[3] = fr_row_token(7, 0, FR_WANT_LOGITS);
        run_rows(&b, rows, 4);
        assert_same_bits(&b, fr_forward_logits(b.f, 0), root, "parent", isa);
        assert_same_bits(&b, fr_forward_logits(b.f, 3), child, "sibling", isa);
        assert_true(isnan(fr_forward_logits(b.f, 1)[0]));
        assert_true(isnan(fr_forward_logits(b.f, 2)[0]));
        free(root);
        free(child);
        close_bench(&b);
    }
}

// An infinity in K would be stored as the largest value and pass for a number. Not at position 0,
// where RoPE makes a NaN of it.
static void an_infinite_key_spoils_whoever_sees_it(void **state) {
    (void)state;
    for (int isa = 0; isa < FR_ISA_COUNT; isa++)
        for (int type = 0; type < FR_KV_TYPES; type++) {
            if (!fr_isa_available((fr_isa)isa)) continue;
            bench b;
            open_bench_as(&b, &(fr_tiny_options){.arch = "qwen2", .head_dim = 32},
                          fr_kern_of((fr_isa)isa), 1, (fr_kv_type)type);
            fr_row rows[2] = {fr_row_token(3, -1, FR_WANT_LOGITS),
                              fr_row_token(7, 0, FR_WANT_LOGITS)};
            rows[0].pos = 1;
            run_rows(&b, rows, 2);
            assert_false(isnan(fr_forward_logits(b.f, 1)[0]));
            fr_kv_drop_scratch(&b.kv);
            *(float *)(uintptr_t)b.o.model.layers[1].k_bias = INFINITY;
            run_rows(&b, rows, 2);
            assert_true(isnan(fr_forward_logits(b.f, 0)[0]));
            assert_true(isnan(fr_forward_logits(b.f, 1)[0]));
            close_bench(&b);
        }
}

// A tiny Phi-3; with `factors`, tables that leave short contexts alone and stretch long ones.
static float *longrope_logits(bool factors, int n_ctx, bool stretched) {
    fr_gguf_writer *w;
    fr_error err;
    fr_opened o = {0};
    fr_forward *f;
    fr_kv kv;
    size_t bytes;
    const float one[8] = {1, 1, 1, 1, 1, 1, 1, 1}, four[8] = {4, 4, 4, 4, 4, 4, 4, 4};
    assert_int_equal(fr_gguf_writer_open(&w, &err), FR_OK);
    fr_tiny_add(w, &(fr_tiny_options){.arch = "phi3", .type = FR_TYPE_Q8_0, .n_ctx = 32});
    if (factors) {
        fr_gguf_writer_f32(w, "phi3.rope.scaling.attn_factor", 1);
        fr_gguf_writer_tensor(w, "rope_factors_short.weight", FR_TYPE_F32, 1, (int64_t[]){8}, one);
        fr_gguf_writer_tensor(w, "rope_factors_long.weight", FR_TYPE_F32, 1, (int64_t[]){8}, four);
    }
    if (fr_gguf_writer_finish_memory(w, &o.file, &bytes, &err) ||
        fr_gguf_open_memory(&o.gguf, o.file, bytes, "tiny", &err) ||
        fr_pool_open(&o.pool, 1, &err) ||
        fr_model_open(&o.model, o.gguf, fr_kern_of(FR_ISA_SCALAR), o.pool, FR_WEIGHTS_PACKED, NULL,
                      NULL, &err))
        fail_msg("%s", err.text);
    fr_gguf_writer_close(w);
    assert_int_equal(o.model.config.n_rot, 16);
    assert_int_equal(fr_kv_open(&kv, &o.model.config, n_ctx, FR_KV_F16, &err), FR_OK);
    assert_int_equal(fr_forward_open(&f, &o.model, &(fr_forward_limits){.n_ctx = n_ctx}, &err),
                     FR_OK);
    fr_kv_stretch(&kv, stretched);
    fr_row rows[9];
    for (int i = 0; i < 9; i++)
        rows[i] = fr_row_token(3 * i, i - 1, i == 8 ? FR_WANT_LOGITS : 0);
    fr_forward_run(f, &(fr_pass){.rows = rows, .n_rows = 9, .kv = (fr_kv *[]){&kv}, .n_seq = 1});
    float *logits = malloc(sizeof *logits * 64);
    memcpy(logits, fr_forward_logits(f, 8), sizeof *logits * 64);
    fr_forward_close(f);
    fr_kv_close(&kv);
    fr_opened_close(&o);
    return logits;
}

// By what is said of the sequence, never by how much room there is.
static void longrope_stretches_sequences_that_are_told_to(void **state) {
    (void)state;
    float *plain = longrope_logits(false, 32, false), *told = longrope_logits(false, 32, true),
          *brief = longrope_logits(true, 32, false), *room = longrope_logits(true, 64, false),
          *stretched = longrope_logits(true, 32, true);
    assert_memory_equal(plain, told, sizeof *plain * 64); // there is one table
    assert_memory_equal(plain, brief, sizeof *plain * 64);
    assert_memory_equal(plain, room, sizeof *plain * 64);
    assert_memory_not_equal(plain, stretched, sizeof *plain * 64);
    free(plain);
    free(told);
    free(brief);
    free(room);
    free(stretched);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_row_spoils_its_descendants_only),
        cmocka_unit_test(an_infinite_key_spoils_whoever_sees_it),
        cmocka_unit_test(tree_rows_equal_plain_decoding_everywhere),
        cmocka_unit_test(committing_a_path_equals_a_fresh_prompt),
        cmocka_unit_test(any_split_of_the_prompt_gives_the_same_bits),
        cmocka_unit_test(every_instruction_set_and_thread_count_gives_the_same_bits),
        cmocka_unit_test(sequences_of_one_pass_do_not_meet),
        cmocka_unit_test(vector_rows_are_tokens_by_other_means),
        cmocka_unit_test(linear_rows_apply_their_map_and_are_unseen_by_others),
        cmocka_unit_test(trees_with_attached_rows_are_their_definition),
        cmocka_unit_test(skipping_everything_leaves_the_embedding),
        cmocka_unit_test(rows_that_go_on_are_whole_rows),
        cmocka_unit_test(rows_that_deliver_nothing_change_nothing),
        cmocka_unit_test(a_pass_that_skips_is_a_model_whose_sublayers_are_identity),
        cmocka_unit_test(longrope_stretches_sequences_that_are_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
