// ngram_votes.h — several continuations of the text, counted in one tree.
//
// A continuation says a token for every depth. Those that agree from the root on share nodes. The
// kind of a guess (tree/hits.h) is how they agree at a node, and what else the caller knows of
// those that do. A node's score is its parent's times its kind's hit rate, and the tree grows by
// the best estimated next node. Nothing here can fail.
#ifndef FR_DRAFT_KIT_NGRAM_VOTES_H
#define FR_DRAFT_KIT_NGRAM_VOTES_H
#include "draft/kit/candidates.h"
#include "tree/hits.h"

enum { FR_NGRAM_VOTES = 64 };

// How a guess stands among those for its place.
typedef enum fr_vote {
    FR_VOTE_ALONE,  // of one continuation, and there is no other guess
    FR_VOTE_AGREED, // of several continuations, and there is no other guess
    FR_VOTE_FIRST,  // the best continuation's, where there are others
    FR_VOTE_OTHER,
    FR_VOTES
} fr_vote;

typedef struct fr_ngram_votes {
    int n; // 0..FR_NGRAM_VOTES, the best first
    // What a continuation says `depth` tokens on (0: after the root), once all before was right;
    // -1: no more.
    int32_t (*word)(const void *user, int voice, int depth);
    int (*kind)(const void *user, uint64_t voices, int depth, fr_vote vote);
    const void *user;
    float least; // score of a node that is worth a place
    fr_candidates line;
} fr_ngram_votes;

// Adds to the tree, as drafter `part`, what the continuations say.
void fr_ngram_votes_fill(fr_ngram_votes *v, const fr_hits *hits, uint8_t part, fr_tree *tree);

#endif
