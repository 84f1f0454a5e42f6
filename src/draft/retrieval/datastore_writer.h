// datastore_writer.h — makes a datastore: texts are collected in memory, sorted, and written whole.
#ifndef FR_DRAFT_RETRIEVAL_DATASTORE_WRITER_H
#define FR_DRAFT_RETRIEVAL_DATASTORE_WRITER_H
#include "base/buffer.h"
#include "draft/retrieval/datastore_sort.h"
#include "text/tokenizer.h"

typedef struct fr_datastore_writer {   // {0} can be closed
    fr_buffer file;                    // the header's room, and the ids so far
    uint64_t n_texts, n_ids, n_places; // ids: with marks; places: once it is finished
    int n_vocab;
    char vocab[24];
} fr_datastore_writer;

// FR_ENOMEM.
fr_status fr_datastore_writer_open(fr_datastore_writer *w, const fr_tokenizer *vocabulary,
                                   fr_error *err);
// Copies a text; one of no ids is none. FR_ENOMEM; FR_EDATA: an id that the vocabulary has not, or
// 2^31 - 1 tokens or more in all.
fr_status fr_datastore_writer_add(fr_datastore_writer *w, const int32_t *ids, size_t n,
                                  fr_error *err);
// Sorts (20 bytes of memory a token in all) and writes the file, as fr_save does. `progress` may be
// NULL. FR_EDATA: there is nothing to find; FR_ENOMEM, FR_EIO; FR_EINTR: progress ended the work.
fr_status fr_datastore_writer_finish(fr_datastore_writer *w, const char *path,
                                     fr_progress_fn *progress, void *user, fr_error *err);
void fr_datastore_writer_close(fr_datastore_writer *w);

#endif
