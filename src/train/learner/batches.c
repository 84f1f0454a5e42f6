#include "train/learner/batches.h"
#include "base/alloc.h"
#include "decode/draw/sampler.h"
#include "gguf/hash.h"
#include <assert.h>

static void shuffle(fr_batches *b) {
    fr_hash h;
    b->n = 0;
    for (int i = b->first; i < b->first + b->span; i++)
        if (b->folder < 0 || b->data->place[i].folder == b->folder) b->order[b->n++] = i;
    if (!b->shuffled) return;
    fr_hash_open(&h, b->seed);
    fr_hash_add(&h, &b->epoch, sizeof b->epoch);
    fr_shuffle(b->order, b->n, fr_hash_value(&h));
}

fr_status fr_batches_open(fr_batches *b, const fr_dataset *data, int first, int n, int rows,
                          bool shuffled, uint64_t seed, fr_error *err) {
    assert(n > 0 && data->max_rows <= rows);
    *b = (fr_batches){.data = data,
                      .first = first,
                      .span = n,
                      .folder = -1,
                      .rows = rows,
                      .shuffled = shuffled,
                      .seed = seed};
    b->order = fr_alloc_array((size_t)n, sizeof *b->order);
    if (!b->order) return fr_fail(err, FR_ENOMEM, "data: no memory for %d samples", n);
    shuffle(b);
    return FR_OK;
}

void fr_batches_close(fr_batches *b) {
    fr_free(b->order);
    *b = (fr_batches){0};
}

void fr_batches_of_folder(fr_batches *b, int folder) {
    b->folder = folder;
    b->epoch = 0;
    b->at = 0;
    shuffle(b);
}

void fr_batches_seek(fr_batches *b, uint64_t epoch, int at) {
    assert(at >= 0 && at <= b->n);
    b->epoch = epoch;
    b->at = at;
    shuffle(b);
}

void fr_batches_next(fr_batches *b, fr_batch *out) {
    if (b->at == b->n) fr_batches_seek(b, b->epoch + 1, 0);
    out->n = out->rows = 0;
    while (b->at < b->n && out->n < FR_BATCH_SAMPLES) {
        fr_sample *s = &out->sample[out->n];
        fr_dataset_sample(b->data, b->order[b->at], s);
        if (out->rows + s->n > b->rows) break;
        out->rows += s->n;
        out->n++;
        b->at++;
    }
}
