// check_matmul.c — products with packed weights.
//
// Three promises: the definition itself is near the product of dequantised numbers in double; every
// instruction set gives its bits, for every shape, row count, place among the rows and split into
// panels; nothing outside is touched.
#include "check.h"
#include "kern/dequant.h"
#include "kern/repack.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// One matrix with `rows` input rows and the definition's outputs for all of them.
typedef struct fixture {
    fr_type type;
    int m, k, rows, ldx;
    uint8_t *gguf;
    fr_matrix w;
    float *x;        // [rows][ldx]
    float *expected; // [rows][m]
} fixture;

static void fill_inputs(check *c, fixture *f) {
    for (int r = 0; r < f->rows; r++) {
        const int kind =
            check_below(c, 6); // 1..3: codes of +-127 only, the most that an integer sum can see
        for (int i = 0; i < f->k; i++) {
            float v = check_uniform(c, -1.0f, 1.0f);
            if (kind == 1) v = 1.0f;
            if (kind == 2) v = -1.0f;
            if (kind == 3) v = check_below(c, 2) ? 0.5f : -0.5f;
            if (kind == 4 && check_below(c, 30) == 0) v *= 50.0f;
            if (kind == 5) v = 1.0f - 0.02f * fabsf(v); // large sums that f32 cannot all hold
            f->x[(size_t)r * (size_t)f->ldx + (size_t)i] = v;
        }
    }
}

// The input rows [first, first + n) as this type wants them. Memory: check_buffer.
static fr_act act_of(check *c, const fixture *f, int first, int n) {
    const fr_act_kind kind = fr_act_kind_of(f->type);
    const float *x = f->x + (size_t)first * (size_t)f->ldx;
    fr_act a;
    if (kind == FR_ACT_F32) return (fr_act){.kind = kind, .n = n, .k = f->k, .x = x, .ldx = f->ldx};
    fr_act_place(&a, kind, n, f->k, check_buffer(fr_act_bytes(kind, n, f->k)));
    c->ref->quantize(&a, x, f->ldx, 0, f->k / (kind == FR_ACT_Q32 ? 32 : 256));
    return a;
}

static fixture make_fixture(check *c, fr_type type, int m, int k, int rows, int mode) {
    fixture f = {.type = type, .m = m, .k = k, .rows = rows, .ldx = k + check_below(c, 5)};
    f.gguf = check_buffer((size_t)fr_qtype_row_bytes(type, k) * (size_t)m);
    check_random_rows(c, type, f.gguf, m, k, mode);
    f.w = (fr_matrix){.type = type, .m = m, .k = k, .n_panels = (m + 15) / 16};
    f.w.panel_bytes = fr_repack_panel_bytes(type, k);
    uint8_t *packed = check_buffer(f.w.panel_bytes * (size_t)f.w.n_panels);
    fr_repack_panels(type, packed, f.gguf, m, k, 0, f.w.n_panels);
    f.w.panels = packed;
    f.x = check_buffer(((size_t)(rows - 1) * (size_t)f.ldx + (size_t)k) * sizeof(float));
    fill_inputs(c, &f);
    f.expected = check_buffer((size_t)rows * (size_t)m * sizeof(float));
    const fr_act a = act_of(c, &f, 0, rows);
    c->ref->matmul[type](f.expected, m, &a, &f.w, 0, f.w.n_panels);
    return f;
}

// One input value as the product sees it.
static double seen(const fr_act *a, const float *x, int row, int i) {
    if (a->kind == FR_ACT_F32) return (double)x[i];
    const int block = a->kind == FR_ACT_Q32 ? 32 : 256;
    const size_t cell = (size_t)(i / block) * (size_t)a->n + (size_t)row;
    const float d =
        a->kind == FR_ACT_Q32 ? a->d[cell] : a->d[2 * cell + (size_t)(i % 256 / FR_GROUP_K)];
    return (double)d * a->q[cell * (size_t)block + (size_t)(i % block)];
}

// What a weight's parts sum to in absolute value: with a minimum the parts may cancel.
static double weight_size(const fixture *f, int row, int i, double value) {
    const int block = fr_qtype_of((uint32_t)f->type)->block;
    if (block == 1) return fabs(value);
    fr_lane_block o;
    fr_panel_lane(f->type, f->w.panels + (size_t)(row / 16) * f->w.panel_bytes, f->k, i / block,
                  row % 16, &o);
    const int j = i % block / o.sub;
    const double min = block == 32 ? (double)o.m : (double)o.m * o.mn[j];
    return fabs((double)o.d * o.sc[j] * o.code[i % block]) + fabs(min);
}

// |expected - exact| <= (groups + 8) 2^-23 sum of |parts|: each group adds at most three roundings
// of a partial sum.
static void definition_is_near_the_product(check *c, const fixture *f) {
    const fr_act a = act_of(c, f, 0, f->rows);
    float *weights = check_buffer((size_t)f->k * sizeof(float));
    double worst = 0;
    for (int row = 0; row < f->m; row += 1 + f->m / 12) {
        fr_dequant_row(f->type, f->gguf + (size_t)row * (size_t)fr_qtype_row_bytes(f->type, f->k),
                       weights, f->k);
        for (int r = 0; r < f->rows; r += 1 + f->rows / 5) {
            double sum = 0, size = 1e-30;
            for (int i = 0; i < f->k; i++) {
                const double x = seen(&a, f->x + (size_t)r * (size_t)f->ldx, r, i);
                sum += (double)weights[i] * x;
                size += weight_size(f, row, i, (double)weights[i]) * fabs(x);
            }
            const double error =
                fabs((double)f->expected[(size_t)r * (size_t)f->m + (size_t)row] - sum);
            const double ratio =
                error /
                (((double)f->k / fr_qtype_of((uint32_t)f->type)->block + 8) * 0x1p-23 * size);
            if (!(ratio <= worst)) worst = ratio;
        }
    }
    check_case(c, worst <= 1.0, "%s m %d k %d: %g times the error bound", fr_qtype_name(f->type),
               f->m, f->k, worst);
}

// Rows [first, first + n) with panels split at `cuts` places equal the definition's rows, and
// nothing else changed.
static void rows_equal(check *c, const fixture *f, int first, int n, int cuts) {
    const fr_act a = act_of(c, f, first, n);
    const int ldy = f->m + check_below(c, 4);
    const size_t floats = (size_t)(n - 1) * (size_t)ldy + (size_t)f->m;
    float *y = check_buffer(floats * sizeof(float));
    int begin = 0;
    for (int i = 0; i <= cuts; i++) {
        const int end =
            i == cuts ? f->w.n_panels : begin + check_below(c, f->w.n_panels - begin + 1);
        c->kern->matmul[f->type](y, ldy, &a, &f->w, begin, end);
        begin = end;
    }
    bool same = check_fronts_intact();
    for (int r = 0; r < n; r++) {
        const float *out = y + (size_t)r * (size_t)ldy;
        same &= !memcmp(out, f->expected + (size_t)(first + r) * (size_t)f->m,
                        (size_t)f->m * sizeof(float));
        const uint8_t *gap = (const uint8_t *)(out + f->m);
        for (size_t i = 0; r + 1 < n && i < (size_t)(ldy - f->m) * sizeof(float); i++)
            same &= gap[i] == CHECK_POISON;
    }
    check_case(c, same, "matmul %s m %d k %d: rows %d..%d in %d parts", fr_qtype_name(f->type),
               f->m, f->k, first, first + n - 1, cuts + 1);
}

// A window of panels leaves the other outputs as they were.
static void other_panels_untouched(check *c, const fixture *f) {
    const fr_act a = act_of(c, f, 0, 3);
    uint8_t *y = check_buffer(3 * (size_t)f->m * sizeof(float));
    const int p0 = check_below(c, f->w.n_panels), p1 = p0 + check_below(c, f->w.n_panels - p0 + 1);
    c->kern->matmul[f->type]((float *)y, f->m, &a, &f->w, p0, p1);
    bool same = true;
    for (int r = 0; r < 3; r++)
        for (int o = 0; o < f->m; o++)
            for (int i = 0; i < 4 && (o < 16 * p0 || o >= 16 * p1); i++)
                same &= y[4 * ((size_t)r * (size_t)f->m + (size_t)o) + (size_t)i] == CHECK_POISON;
    check_case(c, same, "matmul %s m %d k %d: panels %d..%d only", fr_qtype_name(f->type), f->m,
               f->k, p0, p1);
}

static void counts_equal(check *c, const fixture *f, const int *counts, int n_counts) {
    for (int i = 0; i < n_counts; i++)
        rows_equal(c, f, check_below(c, f->rows - counts[i] + 1), counts[i], check_below(c, 3));
}

// Row counts of a shape: some; or every one up to 66 and those of passes of many users and of
// training texts; or those about the largest pass alone, whose sums AMX has room for on its stack.
typedef enum row_counts { SOME, EVERY, LARGEST } row_counts;

static void one_shape(check *c, fr_type type, int m, int k, int mode, row_counts which) {
    static const int some[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 33, 64, 65, 130};
    static const int large[] = {96, 128, 130, FR_MAX_ROWS};
    static const int largest[] = {FR_MAX_ROWS - 1, FR_MAX_ROWS};
    fixture f = make_fixture(c, type, m, k, which == SOME ? 130 : FR_MAX_ROWS, mode);
    if (c->kern == c->ref) definition_is_near_the_product(c, &f);
    other_panels_untouched(c, &f);
    if (which == SOME) counts_equal(c, &f, some, sizeof some / sizeof *some);
    if (which == LARGEST) counts_equal(c, &f, largest, sizeof largest / sizeof *largest);
    if (which == EVERY) {
        for (int n = 1; n <= 66; n++)
            counts_equal(c, &f, &n, 1);
        counts_equal(c, &f, large, sizeof large / sizeof *large);
    }
    check_release();
}

void check_matmul(check *c) {
    static const int heights[] = {1, 7, 16, 17, 33, 48, 100};
    static const int lengths[] = {576, 1536, 896, 4864}; // of real models
    const fr_qtype *q;
    for (int t = 0; (q = fr_qtype_at(t)); t++) {
        const fr_type type = q->type;
        if (c->only_type >= 0 && c->only_type != (int)type) continue;
        if (!c->kern->matmul[type]) {
            check_case(c, false, "matmul %s is missing", fr_qtype_name(type));
            continue;
        }
        const int block = q->block, modes = block == 1 ? 1 : CHECK_MODES;
        for (int mode = 0; mode < modes; mode++)
            for (int blocks = 1; blocks <= (c->quick ? 3 : 9);
                 blocks += c->quick && block == 256 ? 2 : 1) {
                const int m = heights[check_below(c, 7)];
                one_shape(c, type, m, blocks * block, mode,
                          !c->quick && mode == 0 && blocks <= 2 ? EVERY : SOME);
            }
        if (c->quick) one_shape(c, type, 17, block == 1 ? 32 : 2 * block, 0, LARGEST);
        for (int i = 0; i < 4; i++)
            if (lengths[i] % block == 0 && !(c->quick && i))
                one_shape(c, type, heights[i], lengths[i], 0, SOME);
        // 64 rows and more superblocks than AVX2 keeps the starts of.
        if (type == FR_TYPE_Q6_K) one_shape(c, type, 33, 18 * 256, 1, SOME);
    }
}
