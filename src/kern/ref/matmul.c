// matmul.c — products with packed weights: the definition (docs/numerics.md, "Products with
// quantised weights").
//
// Lane by lane and block by block; y itself carries the one chain of an output, groups ascending in
// k.
#include "kern/half.h"
#include "kern/ref/ref.h"
#include "kern/repack.h"
#include <math.h>
#include <string.h>

static int dot(const int8_t *w, const int8_t *x, int count) {
    int s = 0;
    for (int i = 0; i < count; i++)
        s += w[i] * x[i];
    return s;
}

// One output's step over a block of 32.
static float step_q32(float y, const fr_lane_block *w, const fr_act *a, size_t cell, bool has_min) {
    const int acc = dot(w->code, a->q + 32 * cell, 32);
    y = fmaf(w->d * a->d[cell], (float)acc, y);
    return has_min ? fmaf(w->m, a->ds[cell], y) : y;
}

// One output's steps over the two groups of a block of 256.
static float step_q256(float y, const fr_lane_block *w, const fr_act *a, size_t cell,
                       bool has_min) {
    const int subs = FR_GROUP_K / w->sub;
    const int16_t *sums = w->sub == 16 ? a->s16 + 16 * cell : a->s32 + 8 * cell;
    for (int g = 0; g < 2; g++) {
        int is = 0, ms = 0;
        for (int j = g * subs; j < (g + 1) * subs; j++) {
            is += w->sc[j] *
                  dot(w->code + j * w->sub, a->q + 256 * cell + (size_t)(j * w->sub), w->sub);
            ms += w->mn[j] * sums[j];
        }
        const float u = has_min ? fmaf(w->d, (float)is, -(w->m * (float)ms)) : w->d * (float)is;
        y = fmaf(u, a->d[2 * cell + (size_t)g], y);
    }
    return y;
}

static void matmul_codes(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0, int p1) {
    const bool k256 = a->kind == FR_ACT_Q256;
    const bool has_min = fr_qtype_of((uint32_t)w->type)->min != FR_MIN_NONE;
    const int blocks = w->k / (k256 ? 256 : 32), last = p1 * FR_PANEL < w->m ? p1 * FR_PANEL : w->m;
    for (int row = p0 * FR_PANEL; row < last; row++) {
        const uint8_t *panel = w->panels + (size_t)(row / FR_PANEL) * w->panel_bytes;
        for (int r = 0; r < a->n; r++)
            y[(size_t)r * (size_t)ldy + (size_t)row] = 0.0f;
        for (int b = 0; b < blocks; b++) {
            fr_lane_block block;
            fr_panel_lane(w->type, panel, w->k, b, row % FR_PANEL, &block);
            for (int r = 0; r < a->n; r++) {
                float *out = y + (size_t)r * (size_t)ldy + (size_t)row;
                const size_t cell = (size_t)b * (size_t)a->n + (size_t)r;
                *out = k256 ? step_q256(*out, &block, a, cell, has_min)
                            : step_q32(*out, &block, a, cell, has_min);
            }
        }
    }
}

static float element(const fr_matrix *w, const uint8_t *panel, int i, int lane) {
    const size_t at = (size_t)i * FR_PANEL + (size_t)lane;
    float f;
    uint16_t h;
    if (w->type == FR_TYPE_F32) {
        memcpy(&f, panel + 4 * at, sizeof f);
        return f;
    }
    memcpy(&h, panel + 2 * at, sizeof h);
    return w->type == FR_TYPE_F16 ? fr_f16_to_f32(h) : fr_bf16_to_f32(h);
}

static void matmul_floats(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0, int p1) {
    const int last = p1 * FR_PANEL < w->m ? p1 * FR_PANEL : w->m;
    for (int row = p0 * FR_PANEL; row < last; row++) {
        const uint8_t *panel = w->panels + (size_t)(row / FR_PANEL) * w->panel_bytes;
        for (int r = 0; r < a->n; r++)
            y[(size_t)r * (size_t)ldy + (size_t)row] = 0.0f;
        for (int i = 0; i < w->k; i++) {
            const float e = element(w, panel, i, row % FR_PANEL);
            for (int r = 0; r < a->n; r++) {
                float *out = y + (size_t)r * (size_t)ldy + (size_t)row;
                *out = fmaf(e, a->x[(size_t)r * (size_t)a->ldx + (size_t)i], *out);
            }
        }
    }
}

#define MATMUL(name, body)                                                                         \
    void fr_matmul_##name##_scalar(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0, \
                                   int p1) {                                                       \
        body(y, ldy, a, w, p0, p1);                                                                \
    }
#define FLOAT(id, NAME, name, ...) MATMUL(name, matmul_floats)
#define CODES(id, NAME, name, ...) MATMUL(name, matmul_codes)
FR_TYPES(FLOAT, CODES, CODES, CODES, FR_NO_ROW)
