// continuations.h — the continuations of a match, token by token: a trie, of which only the parts
// that are used are made. [He et al. 2023, REST: candidates]
//
// A *group* is a node of the trie: the continuations that begin with the same tokens. Splitting it
// by their next token gives its children, the most frequent first; a child's size over its parent's
// is its share. Splitting reorders what is inside the group, so a group is split once.
#ifndef FR_DRAFT_RETRIEVAL_CONTINUATIONS_H
#define FR_DRAFT_RETRIEVAL_CONTINUATIONS_H
#include "draft/retrieval/datastore.h"

enum { FR_CONTINUATIONS = 5000, FR_GROUP_CHILDREN = 64 };

typedef struct fr_continuation_group {
    int16_t begin, end; // of the continuations
    uint8_t depth;      // tokens that they have in common
    int32_t id;         // the last of these
} fr_continuation_group;

typedef struct fr_continuations { // {0} can be closed
    const fr_datastore *store;
    uint32_t *place, *sorted; // [FR_CONTINUATIONS]: where each begins; room for splitting
    int32_t *id;              // [FR_CONTINUATIONS]: the next token of each
    struct fr_tokens *tokens; // the different ones
} fr_continuations;

fr_status fr_continuations_open(fr_continuations *c, const fr_datastore *store, fr_error *err);
void fr_continuations_close(fr_continuations *c);

// All continuations of a match: its places, or `most` (1..FR_CONTINUATIONS) of them, evenly spread.
fr_continuation_group fr_continuations_take(fr_continuations *c, const fr_datastore_match *match,
                                            int most);

// The children of a group, up to FR_GROUP_CHILDREN of the most frequent; of equal ones, whose first
// place is first. How many. Continuations that end here are in none.
int fr_continuations_split(fr_continuations *c, const fr_continuation_group *group,
                           fr_continuation_group child[FR_GROUP_CHILDREN]);

#endif
