// datastore_sort.h — places of a text in the order of the tokens before them.
#ifndef FR_DRAFT_RETRIEVAL_DATASTORE_SORT_H
#define FR_DRAFT_RETRIEVAL_DATASTORE_SORT_H
#include "base/status.h"

// How far it has come: `done` of `total`. False: give up.
typedef bool fr_datastore_told(void *user, const char *what, uint64_t done, uint64_t total);

// Puts all places 0..n-1 of ids[0..n), n < 2^31, into order[n]: sorted by (ids[p-1], ids[p-2], ...)
// up to FR_DATASTORE_ORDER ids back; the space before the first id sorts before any id. Ids are
// from
// -1 to n_vocab - 1. Takes 12 n bytes and some passes over n, doubling the
// sorted length each time [Manber, Myers 1993]. FR_ENOMEM; FR_EINTR: by `told` (NULL: none).
fr_status fr_datastore_sort(uint32_t *order, const int32_t *ids, uint32_t n, int n_vocab,
                            fr_datastore_told *told, void *user, fr_error *err);

#endif
