// Rows through the frozen target: what they say is what the engine's rows say, and the gradients
// into them are those of differences.
#include "base/alloc.h"
#include "decode/draw/sampler.h"
#include "kern/repack.h"
#include "support/near.h"
#include "support/open_model.h"
#include "train/attached/trunk.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SAMPLES = 2, BASES = 5, MEMBERS = 2, CHAINS = BASES * MEMBERS, STEPS = 3, LONGEST = 20 };
static const int rows_of[SAMPLES] = {13, LONGEST};
static const int base_sample[BASES] = {0, 0, 1, 1, 1}, base_row[BASES] = {3, 11, 1, 8, 18};

typedef struct kind {
    fr_tiny_options model;
    int entry[STEPS];
    bool alone;
    uint32_t sees[STEPS]; // {0}: a chain
    int exits;
    bool prefix, keeps;
} kind;
static const kind kinds[] = {
    {{.arch = "llama"}, .entry = {0, 0, 0}},
    {{.arch = "qwen2", .n_kv = 1}, .entry = {0, 0, 0}},
    {{.arch = "qwen3"}, .entry = {1, 1, 2}},
    {{.arch = "llama", .n_kv = 4}, .entry = {1, 2, 2}, .alone = true, .keeps = true},
    // From here on such as no pass of the engine computes.
    {{.arch = "llama"}, .entry = {0, 0, 0}, .sees = {1, 7, 7}},
    {{.arch = "qwen2", .n_kv = 2}, .entry = {1, 1, 1}, .sees = {3, 3, 5}, .exits = 2},
    {{.arch = "qwen3"}, .entry = {0, 0, 0}, .prefix = true, .keeps = true},
};
enum { KINDS = sizeof kinds / sizeof *kinds, ENGINE_KINDS = 4 };

typedef struct world {
    fr_opened opened; // a tiny model, or
    fr_gguf *gguf;    // one from a file
    fr_pool *pool;
    fr_model file_model;
    const fr_model *m;
    fr_gemm *gemm;
    fr_trunk_context context;
    fr_trunk trunk;
    float *prefix, *dprefix; // NULL: none
    int32_t ids[SAMPLES][LONGEST];
} world;

static float any(uint64_t stream, size_t i) { // -1 .. 1
    return (float)(2 * fr_uniform(stream, i) - 1);
}

static size_t size_of(const world *w) { // numbers of all attached rows
    return (size_t)STEPS * CHAINS * (size_t)w->m->config.d;
}

// Two chains under each base, whose inputs are about as large as residuals are.
static void hang_chains(world *w) {
    fr_trunk *t = &w->trunk;
    int first[SAMPLES + 1] = {0};
    for (int s = 0; s < SAMPLES; s++) {
        fr_trunk_context_add(&w->context, w->ids[s], rows_of[s]);
        first[s + 1] = first[s] + rows_of[s];
    }
    for (int b = 0, s = 0; b < BASES; b++) {
        while (s <= base_sample[b])
            t->row0[s] = first[s], t->base0[s++] = b * MEMBERS;
        for (int j = 0; j < MEMBERS; j++)
            t->row[b * MEMBERS + j] = first[base_sample[b]] + base_row[b];
    }
    t->row0[SAMPLES] = first[SAMPLES], t->base0[SAMPLES] = CHAINS;
    t->chains.contexts = SAMPLES;
    t->chains.n = CHAINS;
    for (size_t i = 0; i < size_of(w); i++)
        t->in[i] = 2 * any(71, i);
}

static size_t prefix_size(const world *w) {
    const fr_config *c = &w->m->config;
    return (size_t)c->n_layer * 2 * STEPS * (size_t)(c->n_kv * c->head_dim);
}

static void take_prefix(world *w) {
    w->prefix = fr_alloc_array(prefix_size(w), sizeof *w->prefix);
    w->dprefix = fr_alloc_zero(prefix_size(w) * sizeof *w->dprefix);
    for (size_t i = 0; i < prefix_size(w); i++)
        w->prefix[i] = 2 * any(13, i);
    w->trunk.prefix = w->prefix;
    w->trunk.dprefix = w->dprefix;
}

static void open_trunk(world *w, const kind *k) {
    fr_error err = {0};
    const int *entry = k->entry;
    fr_trunk_shape shape = fr_trunk_chain(STEPS);
    memcpy(shape.entry, entry, STEPS * sizeof *entry);
    shape.max_chains = CHAINS + 1;
    for (int i = 0; i < STEPS; i++)
        if (k->alone || k->sees[i]) shape.sees[i] = k->alone ? 1u << i : k->sees[i];
    if (k->exits) shape.exits = k->exits;
    shape.prefix = k->prefix;
    shape.keeps = k->keeps;
    for (int s = 0; s < SAMPLES; s++)
        fr_test_ids(w->ids[s], LONGEST, w->m->config.n_vocab < 256 ? w->m->config.n_vocab : 256,
                    (unsigned)s + 5);
    if (fr_gemm_open(&w->gemm, 1, FR_GEMM_F32, &err) ||
        fr_trunk_context_open(&w->context, w->m, entry[0], entry, STEPS, 40, &err) ||
        fr_trunk_open(&w->trunk, &shape, &w->context, w->gemm, &err))
        fail_msg("%s", err.text);
    if (k->prefix) take_prefix(w);
    hang_chains(w);
}

static void open_tiny(world *w, const kind *k, fr_type type) {
    fr_tiny_options o = k->model;
    *w = (world){.m = &w->opened.model};
    o.type = type;
    fr_opened_open(&w->opened, &o, &fr_kern_scalar, 2);
    open_trunk(w, k);
}

static void close_world(world *w) {
    fr_trunk_close(&w->trunk);
    fr_trunk_context_close(&w->context);
    fr_gemm_close(w->gemm);
    if (w->m == &w->opened.model) fr_opened_close(&w->opened);
    fr_model_close(&w->file_model);
    fr_pool_close(w->pool);
    fr_gguf_close(w->gguf);
    fr_free(w->prefix), fr_free(w->dprefix);
}

// ---------------------------------------------------------------- against the engine
typedef struct engine {
    fr_forward *f;
    fr_kv kv;
    fr_row rows[STEPS + 1];
    fr_pass pass;
} engine;

static void open_engine(engine *e, const fr_model *m) {
    const fr_forward_limits limits = {.max_rows = LONGEST, .max_logits = 1, .n_ctx = 64};
    *e = (engine){0};
    if (fr_forward_open(&e->f, m, &limits, NULL)) fail();
    if (fr_kv_open(&e->kv, &m->config, 64, FR_KV_F16, NULL)) fail();
}

static void close_engine(engine *e) {
    fr_forward_close(e->f);
    fr_kv_close(&e->kv);
}

// A pass of the base and the chain `c` under it, behind the text before the base.
static void run_engine(engine *e, const world *w, int c) {
    const int32_t *ids = w->ids[base_sample[c / MEMBERS]];
    const int at = base_row[c / MEMBERS];
    fr_row text[LONGEST];
    int path[LONGEST];
    for (int i = 0; i < at; i++) {
        text[i] = fr_row_token(ids[i], i ? i - 1 : FR_PARENT_COMMITTED, 0);
        path[i] = i;
    }
    fr_kv_truncate(&e->kv, 0);
    fr_forward_run(e->f,
                   &(fr_pass){.rows = text, .n_rows = at, .kv = &(fr_kv *){&e->kv}, .n_seq = 1});
    fr_kv_commit(&e->kv, path, at);
    e->rows[0] = fr_row_token(ids[at], FR_PARENT_COMMITTED, 0);
    for (int i = 0; i < STEPS; i++)
        e->rows[i + 1] =
            (fr_row){.kind = FR_ROW_VECTOR,
                     .vec = w->trunk.in + (size_t)(i * CHAINS + c) * (size_t)w->m->config.d,
                     .join = (int16_t)w->trunk.shape.entry[i],
                     .parent = w->trunk.shape.sees[i] == 1u << i ? 0 : i,
                     .pos = at + i + 1,
                     .wants = FR_WANT_FINAL};
    e->pass = (fr_pass){.rows = e->rows, .n_rows = STEPS + 1, .kv = &(fr_kv *){&e->kv}, .n_seq = 1};
    fr_forward_run(e->f, &e->pass);
}

// Largest distance over the length of what the engine says, of all rows.
static double distance(const world *w) {
    engine e;
    double worst = 0;
    open_engine(&e, w->m);
    for (int c = 0; c < CHAINS; c++) {
        run_engine(&e, w, c);
        for (int i = 0; i < STEPS; i++) {
            const int d = w->m->config.d;
            const float *want = fr_forward_final(e.f, i + 1);
            const float *got = w->trunk.final + (size_t)(i * CHAINS + c) * (size_t)d;
            double off = 0, size = 0;
            for (int j = 0; j < d; j++) {
                off += pow((double)got[j] - (double)want[j], 2);
                size += pow((double)want[j], 2);
            }
            assert_true(size > 0);
            worst = fmax(worst, sqrt(off / size));
        }
    }
    close_engine(&e);
    return worst;
}

static void rows_are_those_of_the_engine(void **state) {
    (void)state;
    for (int k = 0; k < ENGINE_KINDS; k++) {
        world w;
        open_tiny(&w, &kinds[k], FR_TYPE_F32);
        fr_trunk_forward(&w.trunk);
        const double off = distance(&w);
        // The engine keeps K and V of the attached rows themselves as f16 too: 2^-11 of each.
        if (!(off <= 2e-3)) fail_msg("kind %d: %g apart", k, off);
        close_world(&w);
    }
}

static void quantised_rows_are_close_to_those_of_the_engine(void **state) {
    (void)state;
    world w;
    open_tiny(&w, &kinds[0], FR_TYPE_Q8_0);
    fr_trunk_forward(&w.trunk);
    const double off = distance(&w);
    // The engine quantises activations: 1/254 of the largest in 32, in 7 products a layer.
    if (!(off > 0 && off <= 5e-2)) fail_msg("%g apart", off);
    close_world(&w);
}

// A map of the base's residual: the taps are what FR_ROW_LINEAR rows read.
static void taps_are_what_maps_read(void **state) {
    (void)state;
    world w;
    open_tiny(&w, &kinds[2], FR_TYPE_F32);
    const int d = w.m->config.d;
    float *map = fr_alloc_array((size_t)d * (size_t)d, sizeof *map);
    for (int i = 0; i < d * d; i++)
        map[i] = any(5, (size_t)i) / 8;
    fr_matrix packed = {.type = FR_TYPE_F32,
                        .m = d,
                        .k = d,
                        .n_panels = (d + FR_PANEL - 1) / FR_PANEL,
                        .panel_bytes = fr_repack_panel_bytes(FR_TYPE_F32, d)};
    uint8_t *panels = fr_alloc_zero(packed.panel_bytes * (size_t)packed.n_panels);
    fr_repack_panels(FR_TYPE_F32, panels, (const uint8_t *)map, d, d, 0, packed.n_panels);
    packed.panels = panels;
    for (int i = 0; i < STEPS; i++)
        for (int c = 0; c < CHAINS; c++)
            for (int r = 0; r < d; r++) {
                const float *h =
                    fr_trunk_context_tap(&w.context, i) + (size_t)w.trunk.row[c] * (size_t)d;
                double sum = 0;
                for (int j = 0; j < d; j++)
                    sum += (double)map[r * d + j] * (double)h[j];
                w.trunk.in[(size_t)(i * CHAINS + c) * (size_t)d + (size_t)r] = (float)sum;
            }
    fr_trunk_forward(&w.trunk);
    engine e;
    open_engine(&e, w.m);
    for (int c = 0; c < CHAINS; c += MEMBERS) {
        run_engine(&e, &w, c);
        fr_kv_drop_scratch(&e.kv);
        for (int i = 1; i <= STEPS; i++)
            e.rows[i].kind = FR_ROW_LINEAR;
        e.pass.kv = &(fr_kv *){&e.kv};
        e.pass.maps = &packed;
        e.pass.n_maps = 1;
        fr_forward_run(e.f, &e.pass);
        for (int i = 0; i < STEPS; i++)
            for (int j = 0; j < d; j++)
                assert_near(w.trunk.final[(size_t)(i * CHAINS + c) * (size_t)d + (size_t)j],
                            fr_forward_final(e.f, i + 1)[j], 1e-2);
    }
    close_engine(&e);
    fr_free(panels), fr_free(map);
    close_world(&w);
}

// Two layers of a real model, in its own quantisation.
static void rows_of_a_real_model_are_close(void **state) {
    (void)state;
    const char *folder = getenv("FR_MODELS");
    char path[4096];
    const fr_kern *kern;
    world w = {.m = &w.file_model};
    fr_error err = {0};
    snprintf(path, sizeof path, "%s/smollm2-135m.gguf", folder ? folder : FR_SOURCE_DIR "/models");
    if (access(path, R_OK)) {
        print_message("skipped: no %s (set FR_MODELS)\n", path);
        skip();
    }
    if (fr_kern_pick(&kern, "auto", &err) || fr_gguf_open(&w.gguf, path, &err) ||
        fr_pool_open(&w.pool, 2, &err) ||
        fr_model_open(&w.file_model, w.gguf, kern, w.pool, FR_WEIGHTS_PACKED, NULL, NULL, &err))
        fail_msg("%s", err.text);
    const int last = w.m->config.n_layer;
    open_trunk(&w, &(kind){.entry = {last - 2, last - 2, last - 1}});
    // Residuals of the text, which a real model's layers expect.
    for (int i = 0; i < STEPS; i++)
        for (int c = 0; c < CHAINS; c++) {
            const size_t d = (size_t)w.m->config.d;
            memcpy(w.trunk.in + (size_t)(i * CHAINS + c) * d,
                   fr_trunk_context_tap(&w.context, i) + (size_t)w.trunk.row[c] * d,
                   d * sizeof(float));
        }
    fr_trunk_forward(&w.trunk);
    const double off = distance(&w);
    print_message("smollm2-135m, two layers: %.4f apart\n", off);
    if (!(off <= 5e-2)) fail_msg("%g apart", off);
    close_world(&w);
}

// ---------------------------------------------------------------- gradients
static double objective(const world *w) {
    double sum = 0;
    for (size_t i = 0; i < size_of(w); i++)
        sum += (double)any(3, i) * (double)w->trunk.final[i];
    return sum;
}

// The slope of n inputs along the gradient's signs (from 0) or along random ones.
static void check_slope(world *w, float *x, const float *gradient, size_t n, const char *what,
                        int number, unsigned from) {
    const double h = from ? 4e-3 : 1e-3;
    float *before = fr_alloc_array(n, sizeof *before);
    double slope = 0, size = 0, value[2];
    memcpy(before, x, n * sizeof *x);
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < n; i++) {
            const float g = gradient[i];
            const double to = from ? (any(from, i) > 0 ? 1 : -1) : g > 0 ? 1 : -1;
            x[i] = (float)((double)before[i] + (side ? h : -h) * to);
            slope += side ? to * (double)g : 0;
            size += side ? fabs((double)g) : 0;
        }
        fr_trunk_forward(&w->trunk);
        value[side] = objective(w);
    }
    memcpy(x, before, n * sizeof *x);
    fr_free(before);
    const double want = (value[1] - value[0]) / (2 * h);
    assert_true(size > 0);
    if (!(fabs(slope - want) <= 3e-3 * size))
        fail_msg("%s %d: slope %g by the gradient, %g by differences", what, number, slope, want);
}

static void gradients_are_those_of_differences(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        world w;
        open_tiny(&w, &kinds[k], FR_TYPE_F32);
        float *gradient = fr_alloc_array(size_of(&w), sizeof *gradient);
        fr_trunk_forward(&w.trunk);
        for (size_t i = 0; i < size_of(&w); i++)
            w.trunk.dx[i] = any(3, i);
        fr_trunk_backward(&w.trunk);
        memcpy(gradient, w.trunk.dx, size_of(&w) * sizeof *gradient);
        const size_t d = (size_t)w.m->config.d, part = kinds[k].prefix ? prefix_size(&w) / 8 : 0;
        for (unsigned from = 0; from < 2; from++) {
            for (int row = 0; row < STEPS * CHAINS; row++)
                check_slope(&w, w.trunk.in + (size_t)row * d, gradient + (size_t)row * d, d, "row",
                            row, from);
            for (int i = 0; i < 8 && part; i++)
                check_slope(&w, w.prefix + (size_t)i * part, w.dprefix + (size_t)i * part, part,
                            "part of the prefix", i, from);
        }
        fr_free(gradient);
        close_world(&w);
    }
}

// In the last layer a row depends on those alone that it sees.
static void rows_see_what_they_are_to_see(void **state) {
    (void)state;
    world w;
    open_tiny(&w, &kinds[0], FR_TYPE_F32);
    const int last = w.m->config.n_layer - 1;
    close_world(&w);
    open_tiny(&w, &(kind){{.arch = "llama"}, .entry = {last, last, last}, .sees = {3, 6, 7}},
              FR_TYPE_F32);
    const size_t d = (size_t)w.m->config.d, step = CHAINS * d;
    float *before = fr_alloc_array(size_of(&w), sizeof *before);
    for (size_t other = 0; other < STEPS; other++) {
        fr_trunk_forward(&w.trunk);
        memcpy(before, w.trunk.final, size_of(&w) * sizeof *before);
        for (size_t i = 0; i < step; i++)
            w.trunk.in[other * step + i] *= -1;
        fr_trunk_forward(&w.trunk);
        for (size_t s = 0; s < STEPS; s++)
            for (size_t c = 0; c < CHAINS; c++)
                assert_int_equal(!memcmp(before + s * step + c * d,
                                         w.trunk.final + s * step + c * d, d * sizeof *before),
                                 !(w.trunk.shape.sees[s] >> other & 1));
    }
    fr_free(before);
    close_world(&w);
}

// Behind two layers, of the last of three: the mean of the residuals before and behind it.
static void exits_are_averaged(void **state) {
    (void)state;
    world w;
    open_tiny(&w, &(kind){{.arch = "llama"}, .entry = {1, 1, 1}, .exits = 2}, FR_TYPE_F32);
    const int d = w.m->config.d, last = w.m->config.n_layer - 1;
    fr_trunk_forward(&w.trunk);
    const float *gain = w.m->output_norm.w, *x = w.trunk.tape[last - 1].x;
    for (int r = 0; r < STEPS * CHAINS; r++) {
        double sum = 0;
        for (int k = r * d; k < (r + 1) * d; k++)
            sum += pow(((double)x[k] + (double)w.trunk.out[k]) / 2, 2);
        for (int k = 0; k < d; k++) {
            const double mean = ((double)x[r * d + k] + (double)w.trunk.out[r * d + k]) / 2;
            assert_near(w.trunk.final[r * d + k],
                        mean / sqrt(sum / d + (double)w.m->config.eps) * (double)gain[k], 1e-4);
        }
    }
    close_world(&w);
}

static void gemma_is_refused(void **state) {
    (void)state;
    world w = {.m = &w.opened.model};
    fr_error err;
    fr_opened_open(&w.opened, &(fr_tiny_options){.arch = "gemma3"}, &fr_kern_scalar, 1);
    fr_trunk_shape shape = fr_trunk_chain(1);
    shape.max_chains = 1;
    assert_int_equal(fr_trunk_context_open(&w.context, w.m, 0, NULL, 0, 16, &err), FR_OK);
    assert_int_equal(fr_gemm_open(&w.gemm, 1, FR_GEMM_F32, &err), FR_OK);
    assert_int_equal(fr_trunk_open(&w.trunk, &shape, &w.context, w.gemm, &err), FR_EUNSUP);
    assert_non_null(strstr(err.text, "layer 0 of gemma3"));
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_engine),
        cmocka_unit_test(quantised_rows_are_close_to_those_of_the_engine),
        cmocka_unit_test(taps_are_what_maps_read),
        cmocka_unit_test(rows_of_a_real_model_are_close),
        cmocka_unit_test(gradients_are_those_of_differences),
        cmocka_unit_test(rows_see_what_they_are_to_see),
        cmocka_unit_test(exits_are_averaged),
        cmocka_unit_test(gemma_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
