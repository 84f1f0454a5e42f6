// text_index.h — earlier places in a text of its last one to four tokens.
//
// A *place* is the number of a token that follows others: place p is indexed by the 1, 2, 3 and 4
// tokens before it. For each length places are chained by a hash of these tokens, the newest first,
// so a token is indexed in constant time. Callers must compare the tokens, because two may share a
// hash. Memory is allocated at opening; nothing else fails.
#ifndef FR_DRAFT_RETRIEVAL_TEXT_INDEX_H
#define FR_DRAFT_RETRIEVAL_TEXT_INDEX_H
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

enum { FR_TEXT_INDEX_LONGEST = 4 }; // tokens that are indexed

typedef struct fr_text_index { // {0} can be closed
    int n_ctx;                 // most tokens
    uint32_t mask;             // hash buckets - 1
    // By length - 1: the newest place of a bucket [mask + 1]; the next older one of a place
    // [n_ctx + 1]. 0: none.
    int32_t *head[FR_TEXT_INDEX_LONGEST], *older[FR_TEXT_INDEX_LONGEST];
    int n_indexed; // places below this one are indexed
} fr_text_index;

fr_status fr_text_index_open(fr_text_index *x, int n_ctx, fr_error *err); // FR_ENOMEM
void fr_text_index_close(fr_text_index *x);
void fr_text_index_begin(fr_text_index *x); // another text: nothing is indexed
// Indexes the new tokens of ids[0..n), n <= n_ctx; the indexed ones are of the same text.
void fr_text_index_add(fr_text_index *x, const int32_t *ids, int n);
// Every chain goes from newer to older places, all of them indexed and with room for their tokens.
bool fr_text_index_is_sound(const fr_text_index *x);

// The newest place whose `length` tokens before it (1..FR_TEXT_INDEX_LONGEST, at most n) have the
// hash of the last ones of ids[0..n); 0: none.
int fr_text_index_newest(const fr_text_index *x, const int32_t *ids, int n, int length);
static inline int fr_text_index_older(const fr_text_index *x, int place, int length) {
    return x->older[length - 1][place];
}

#endif
