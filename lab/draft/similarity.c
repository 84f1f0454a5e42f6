// similarity.c — reads a text and keeps the states of all its rows after all layers. Then it runs
// the attached rows of single places and sums their cosines with the states of the true tokens.
#include "lab/draft/similarity.h"
#include "base/alloc.h"
#include <math.h>
#include <string.h>

enum { CHUNK = 64 };

fr_status fr_similarity_open(fr_similarity *s, const fr_model *m, const fr_attached *drafter,
                             fr_kv_type kv_type, fr_error *err) {
    const int layers = m->config.n_layer;
    *s = (fr_similarity){.model = m, .drafter = drafter, .layers = layers, .steps = drafter->steps};
    const fr_forward_limits limits = {.max_rows = CHUNK + FR_ATTACHED_STEPS * FR_PACK_ENSEMBLE,
                                      .max_logits = 1,
                                      .max_taps = layers + 1,
                                      .n_ctx = FR_SIMILARITY_TEXT};
    const size_t row = sizeof *s->real * (size_t)(layers + 1) * (size_t)m->config.d;
    fr_status st;
    for (int l = 0; l <= layers; l++)
        s->taps[l] = l;
    if ((st = fr_kv_open(&s->kv, &m->config, FR_SIMILARITY_TEXT, kv_type, err))) goto fail;
    if ((st = fr_forward_open(&s->forward, m, &limits, err))) goto fail;
    s->real = fr_alloc_array(FR_SIMILARITY_TEXT, row);
    s->attached = fr_alloc_zero(sizeof *s->attached * (size_t)s->steps);
    s->stays = fr_alloc_zero(sizeof *s->stays * (size_t)s->steps);
    if (s->real && s->attached && s->stays) return FR_OK;
    st = fr_fail(err, FR_ENOMEM, "similarity: no memory for the states of %d tokens",
                 FR_SIMILARITY_TEXT);
fail:
    fr_similarity_close(s);
    return st;
}

void fr_similarity_close(fr_similarity *s) {
    fr_free(s->real);
    fr_free(s->attached);
    fr_free(s->stays);
    fr_forward_close(s->forward);
    fr_kv_close(&s->kv);
    *s = (fr_similarity){0};
}

// ---------------------------------------------------------------- passes

static void run(fr_similarity *s, fr_row *rows, int n) {
    for (int i = 0; i < n; i++)
        rows[i].wants |= FR_WANT_TAPS;
    fr_forward_run(s->forward, &(fr_pass){.rows = rows,
                                          .n_rows = n,
                                          .kv = (fr_kv *[]){&s->kv},
                                          .n_seq = 1,
                                          .taps = s->taps,
                                          .n_taps = s->layers + 1,
                                          .maps = s->drafter->base.base.needs.maps,
                                          .n_maps = s->drafter->base.base.needs.n_maps});
}

static float *real_at(const fr_similarity *s, int row, int layer) {
    return s->real +
           ((size_t)row * (size_t)(s->layers + 1) + (size_t)layer) * (size_t)s->model->config.d;
}

// States of all rows after all layers.
static void read_text(fr_similarity *s, const int32_t *ids, int n) {
    fr_row rows[CHUNK];
    int path[CHUNK];
    const size_t d = (size_t)s->model->config.d;
    fr_kv_truncate(&s->kv, 0);
    fr_kv_stretch(&s->kv, fr_model_stretches(s->model, n - 1));
    for (int from = 0, m; from < n; from += m) {
        m = n - from < CHUNK ? n - from : CHUNK;
        for (int i = 0; i < m; i++) {
            rows[i] = fr_row_token(ids[from + i], i - 1, 0);
            path[i] = i;
        }
        run(s, rows, m);
        for (int i = 0; i < m; i++)
            for (int l = 0; l <= s->layers; l++)
                memcpy(real_at(s, from + i, l), fr_forward_tap(s->forward, l, i),
                       sizeof(float) * d);
        fr_kv_commit(&s->kv, path, m);
    }
}

// ---------------------------------------------------------------- cosines

static double cosine(const float *a, const float *b, int d) {
    double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < d; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

// Runs row q and its attached rows, the text before it being committed, and adds their cosines.
static void add_row(fr_similarity *s, const int32_t *ids, int q) {
    fr_row rows[1 + FR_ATTACHED_STEPS * FR_PACK_ENSEMBLE];
    const int d = s->model->config.d;
    fr_kv_truncate(&s->kv, q);
    rows[0] = fr_row_token(ids[q], FR_PARENT_COMMITTED, 0);
    run(s, rows, fr_attached_chain(s->drafter, 0, s->steps, rows, 1));
    for (int i = 0; i < s->steps; i++) {
        const int row = 1 + i * s->drafter->attached.ensemble; // the first member of an ensemble
        for (int l = rows[row].join; l <= s->layers; l++) {
            const float *true_one = real_at(s, q + 1 + i, l);
            s->attached[i][l] += cosine(fr_forward_tap(s->forward, l, row), true_one, d);
            s->stays[i][l] += cosine(real_at(s, q, l), true_one, d);
        }
    }
    fr_kv_drop_scratch(&s->kv);
    s->n++;
}

void fr_similarity_add(fr_similarity *s, const int32_t *ids, int n, int first, int every) {
    if (n > FR_SIMILARITY_TEXT) n = FR_SIMILARITY_TEXT;
    read_text(s, ids, n);
    // Row 0 is left out, as its state is of another size than all others. From the end to the
    // front, as the KV is truncated for each row.
    for (int q = n - 1 - s->steps; q >= 1 && q + 1 >= first; q -= every)
        add_row(s, ids, q);
}

static double mean(const fr_similarity *s, double (*sum)[FR_MAX_LAYERS + 1], int i, int l) {
    return s->n && l >= fr_attached_pack_of(s->drafter->base.pack)->layer[i]
               ? sum[i][l] / (double)s->n
               : NAN;
}

double fr_similarity_attached(const fr_similarity *s, int i, int l) {
    return mean(s, s->attached, i, l);
}

double fr_similarity_stays(const fr_similarity *s, int i, int l) {
    return mean(s, s->stays, i, l);
}
