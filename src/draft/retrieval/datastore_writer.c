// datastore_writer.c — collects texts as ids with marks between them. At the end it sorts all
// places, keeps those inside a text, fills in the header with the checksum and saves the file.
#include "draft/retrieval/datastore_writer.h"
#include "base/save.h"
#include "draft/kit/vocab_match.h"
#include "draft/retrieval/datastore_file.h"
#include <string.h>

static fr_status add_mark(fr_datastore_writer *w, fr_error *err) {
    const int32_t mark = FR_DATASTORE_MARK;
    w->n_ids++;
    return fr_buffer_add(&w->file, &mark, sizeof mark, err);
}

fr_status fr_datastore_writer_open(fr_datastore_writer *w, const fr_tokenizer *vocabulary,
                                   fr_error *err) {
    const fr_datastore_header none = {.magic = ""};
    *w = (fr_datastore_writer){.n_vocab = fr_tokenizer_size(vocabulary)};
    fr_vocab_name(vocabulary, w->vocab);
    const fr_status st = fr_buffer_add(&w->file, &none, sizeof none, err);
    return st ? st : add_mark(w, err);
}

fr_status fr_datastore_writer_add(fr_datastore_writer *w, const int32_t *ids, size_t n,
                                  fr_error *err) {
    if (!n) return FR_OK;
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= w->n_vocab)
            return fr_fail(err, FR_EDATA, "token %d is outside the vocabulary of %d", ids[i],
                           w->n_vocab);
    if (n >= INT32_MAX - w->n_ids)
        return fr_fail(err, FR_EDATA, "datastore: expected less than 2^31 tokens");
    const fr_status st = fr_buffer_add(&w->file, ids, n * sizeof *ids, err);
    if (st) return st;
    w->n_ids += n;
    w->n_texts++;
    return add_mark(w, err);
}

// Keeps, in order, the places that have a token of the same text before them and one after.
static uint32_t drop_ends(uint32_t *places, const int32_t *ids, uint32_t n) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t p = places[i];
        if (p && ids[p] >= 0 && ids[p - 1] >= 0) places[kept++] = p;
    }
    return kept;
}

static void put_header(fr_datastore_writer *w) {
    fr_datastore_header h = {.n_ids = w->n_ids,
                             .n_places = w->n_places,
                             .n_texts = w->n_texts,
                             .n_vocab = (uint32_t)w->n_vocab,
                             .order = FR_DATASTORE_ORDER,
                             .bytes = w->file.n};
    memcpy(h.magic, FR_DATASTORE_MAGIC, sizeof h.magic);
    memcpy(h.vocab, w->vocab, sizeof h.vocab);
    memcpy(w->file.data, &h, sizeof h);
    h.checksum = fr_datastore_checksum(w->file.data, w->file.n);
    memcpy(w->file.data, &h, sizeof h);
}

fr_status fr_datastore_writer_finish(fr_datastore_writer *w, const char *path,
                                     fr_progress_fn *progress, void *user, fr_error *err) {
    const uint32_t n = (uint32_t)w->n_ids;
    fr_status st = fr_buffer_reserve(&w->file, 4 * w->n_ids, err);
    if (st) return st;
    const int32_t *ids = (const void *)(w->file.data + sizeof(fr_datastore_header));
    uint32_t *places = (void *)(w->file.data + w->file.n);
    if ((st = fr_datastore_sort(places, ids, n, w->n_vocab, progress, user, err))) return st;
    w->n_places = drop_ends(places, ids, n);
    if (!w->n_places)
        return fr_fail(err, FR_EDATA, "%s: no text of two tokens or more to fill it with", path);
    w->file.n += 4 * w->n_places;
    put_header(w);
    return fr_save(path, w->file.data, w->file.n, err);
}

void fr_datastore_writer_close(fr_datastore_writer *w) {
    fr_buffer_free(&w->file);
    *w = (fr_datastore_writer){0};
}
