// ngram_votes.h — several continuations of the text, counted in one tree.
//
// Each continuation has one token per depth. Continuations that agree from the root on share nodes.
// The kind of a guess (tree/hits.h) depends on how many of them agree at the node, and on the
// caller's class of those that do. A node's score is its parent's times its kind's hit rate, and
// the tree grows by the node of highest score. Nothing here can fail.
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
    // The token id of continuation `voice` (0..n-1) at `depth` (0: right after the root), given
    // that its tokens before were right; -1: it has no more.
    int32_t (*word)(const void *user, int voice, int depth);
    // The hit kind of a guess that the continuations `voices` share (bit i: continuation i).
    int (*kind)(const void *user, uint64_t voices, int depth, fr_vote vote);
    const void *user;
    float least; // score of a node that is worth a place
    fr_candidates line;
} fr_ngram_votes;

// Adds to the tree, as drafter `part`, what the continuations say.
void fr_ngram_votes_fill(fr_ngram_votes *v, const fr_hits *hits, uint8_t part, fr_tree *tree);

#endif
