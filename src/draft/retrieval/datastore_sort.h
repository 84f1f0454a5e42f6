// datastore_sort.h — places of a text in the order of the tokens before them.
#ifndef FR_DRAFT_RETRIEVAL_DATASTORE_SORT_H
#define FR_DRAFT_RETRIEVAL_DATASTORE_SORT_H
#include "base/status.h"

// Puts all places 0..n-1 of ids[0..n), n < 2^31, into order[n]: sorted by (ids[p-1], ids[p-2], ...)
// up to FR_DATASTORE_ORDER ids back; the space before the first id sorts before any id. Ids are
// from -1 to n_vocab - 1. Takes 12 n bytes and some passes over n, doubling the sorted length each
// time [Manber, Myers 1993]. `progress` may be NULL. FR_ENOMEM; FR_EINTR: it ended the work.
fr_status fr_datastore_sort(uint32_t *order, const int32_t *ids, uint32_t n, int n_vocab,
                            fr_progress_fn *progress, void *user, fr_error *err);

#endif
