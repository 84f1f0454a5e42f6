// Rows among many: what a row of a model with experts gives does not depend on the rows of other
// texts that share its experts.
#include "support/open_model.h"
#include "support/quick.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    TEXTS = 16,       // that decode
    CTX = 24,         // of each
    ROWS = 4,         // of each in a pass, at most
    CHUNK = 256,      // rows of a prompt that is read beside
    FEW_EXPERTS = 8,  // each is read by many rows
    MANY_EXPERTS = 40 // most are read by one row, or by none
};

typedef struct company {
    fr_opened o;
    fr_forward *f;
    fr_kv kv[TEXTS + 1]; // the last is the prompt's
    fr_row rows[TEXTS][ROWS];
    int n[TEXTS];
    float *alone[TEXTS][ROWS]; // logits
    unsigned rng;
} company;

static int draw(company *c, int below) {
    c->rng = c->rng * 1664525u + 1013904223u;
    return (int)((c->rng >> 8) % (unsigned)below);
}

static int32_t any_token(company *c) {
    return draw(c, c->o.model.config.n_vocab);
}

static void run(company *c, const fr_row *rows, int n, fr_kv *const *kv, int n_seq) {
    fr_forward_run(c->f, &(fr_pass){.rows = rows, .n_rows = n, .kv = kv, .n_seq = n_seq});
}

// A context of some tokens.
static void begin_text(company *c, fr_kv *kv) {
    fr_row rows[CTX];
    int path[CTX];
    const int n = 1 + draw(c, CTX);
    for (int i = 0; i < n; i++) {
        rows[i] = fr_row_token(any_token(c), i - 1, 0);
        path[i] = i;
    }
    fr_kv_truncate(kv, 0);
    run(c, rows, n, &kv, 1);
    fr_kv_commit(kv, path, n);
}

// A tree of some rows of each text, and their logits where the text is alone.
static void run_alone(company *c) {
    const size_t bytes = sizeof(float) * (size_t)c->o.model.config.n_vocab;
    for (int s = 0; s < TEXTS; s++) {
        fr_kv *kv = &c->kv[s];
        begin_text(c, kv);
        c->n[s] = s ? 1 + draw(c, ROWS) : 1;
        for (int i = 0; i < c->n[s]; i++)
            c->rows[s][i] =
                fr_row_token(any_token(c), i ? draw(c, i) : FR_PARENT_COMMITTED, FR_WANT_LOGITS);
        run(c, c->rows[s], c->n[s], &kv, 1);
        for (int i = 0; i < c->n[s]; i++) {
            c->alone[s][i] = malloc(bytes);
            memcpy(c->alone[s][i], fr_forward_logits(c->f, i), bytes);
        }
        fr_kv_drop_scratch(kv);
    }
}

// All texts in one pass, row by row in turn, and n_read rows of a prompt between them.
static void run_together(company *c, int n_read, const char *what) {
    static fr_row rows[TEXTS * ROWS + CHUNK];
    const size_t bytes = sizeof(float) * (size_t)c->o.model.config.n_vocab;
    fr_kv *kv[TEXTS + 1];
    int place[TEXTS][ROWS], n = 0, read = 0, last = FR_PARENT_COMMITTED;
    for (int s = 0; s <= TEXTS; s++)
        kv[s] = &c->kv[s];
    fr_kv_truncate(kv[TEXTS], 0);
    for (int i = 0; i < ROWS; i++)
        for (int s = 0; s <= TEXTS; s++) {
            while (s == TEXTS && read < n_read * (i + 1) / ROWS) {
                rows[n] = fr_row_token(any_token(c), last, 0);
                rows[n].seq = TEXTS;
                last = n++;
                read++;
            }
            if (s == TEXTS || i >= c->n[s]) continue;
            rows[n] = c->rows[s][i];
            rows[n].seq = s;
            if (i) rows[n].parent = place[s][rows[n].parent];
            place[s][i] = n++;
        }
    run(c, rows, n, kv, n_read ? TEXTS + 1 : TEXTS);
    for (int s = 0; s < TEXTS; s++)
        for (int i = 0; i < c->n[s]; i++)
            if (memcmp(fr_forward_logits(c->f, place[s][i]), c->alone[s][i], bytes))
                fail_msg("%s: row %d of text %d differs among %d rows", what, i, s, n);
    for (int s = 0; s <= TEXTS; s++)
        fr_kv_drop_scratch(kv[s]);
}

static void open_company(company *c, const fr_tiny_options *options, const fr_kern *kern,
                         int threads) {
    fr_error err;
    fr_opened_open(&c->o, options, kern, threads);
    const fr_forward_limits limits = {.max_logits = TEXTS * ROWS, .n_ctx = CHUNK};
    assert_int_equal(fr_forward_open(&c->f, &c->o.model, &limits, &err), FR_OK);
    for (int s = 0; s <= TEXTS; s++)
        assert_int_equal(
            fr_kv_open(&c->kv[s], &c->o.model.config, s < TEXTS ? CTX : CHUNK, FR_KV_F16, &err),
            FR_OK);
}

static void close_company(company *c) {
    for (int s = 0; s <= TEXTS; s++)
        fr_kv_close(&c->kv[s]);
    fr_forward_close(c->f);
    fr_opened_close(&c->o);
}

static void try_company(const fr_tiny_options *options, const fr_kern *kern, int trial) {
    static company c;
    char what[96];
    memset(&c, 0, sizeof c);
    c.rng = (unsigned)trial;
    open_company(&c, options, kern, 1 + trial % 3);
    snprintf(what, sizeof what, "%s %s, %s, trial %d", options->arch, fr_qtype_name(options->type),
             kern->name, trial);
    run_alone(&c);
    run_together(&c, 0, what);
    run_together(&c, 1 + draw(&c, CHUNK), what);
    run_together(&c, CHUNK, what);
    for (int s = 0; s < TEXTS; s++)
        for (int i = 0; i < c.n[s]; i++)
            free(c.alone[s][i]);
    close_company(&c);
}

static long number(const char *name, long otherwise) {
    const char *value = getenv(name);
    return value ? strtol(value, NULL, 10) : otherwise;
}

// FR_COMPANY_TRIALS of every family with experts from FR_COMPANY_SEED on, each on the next
// instruction set.
static void a_row_among_many_is_the_row_alone(void **state) {
    (void)state;
    static const fr_type types[] = {FR_TYPE_Q8_0, FR_TYPE_Q4_K, FR_TYPE_F32,    FR_TYPE_Q4_1,
                                    FR_TYPE_Q6_K, FR_TYPE_BF16, FR_TYPE_IQ4_XS, FR_TYPE_Q5_0};
    enum { N_TYPES = sizeof types / sizeof *types };
    const long trials = number("FR_COMPANY_TRIALS", fr_test_is_quick() ? 1 : 3);
    const long first = number("FR_COMPANY_SEED", 1);
    const char *isa = getenv("FR_ISA");
    for (int i = 0, at = 0; i < fr_n_families; i++) {
        if (fr_families[i].has_experts == FR_EXPERTS_NEVER) continue;
        for (long t = first; t < first + trials; t++, at++) {
            const fr_kern *kern = fr_kern_of((fr_isa)(at % FR_ISA_COUNT));
            const fr_tiny_options options = {.arch = fr_families[i].name,
                                             .type = types[(size_t)(at + t) % N_TYPES],
                                             .seed = (uint64_t)t,
                                             .n_layer = 4,
                                             .n_ctx = CHUNK,
                                             .n_expert = t % 2 ? FEW_EXPERTS : MANY_EXPERTS,
                                             .biases = t / 2 % 2,
                                             .quantized_router = at % 3 == 0};
            for (int k = 0; isa && k < FR_ISA_COUNT; k++)
                if (!strcmp(fr_isa_name((fr_isa)k), isa)) kern = fr_kern_of((fr_isa)k);
            try_company(&options, kern ? kern : fr_kern_of(FR_ISA_SCALAR), (int)t);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_among_many_is_the_row_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
