// known_answer.h — a text whose answer is known: its passes without the rows that are wrong.
//
// The drafter proposes, attaches rows and is shown the whole tree, but a pass has only the rows
// that the answer does not contradict: the root, the nodes that will be accepted, what is attached
// to these, and whatever lies behind the answer's end. A row's result does not depend on its
// company, so every row that is there is what it would be among all of them. Verification draws as
// always and finds the path of the whole tree. Only the seconds differ, so the trees' sizes must
// not depend on them: a decoder that does not adapt, and the exact rule.
//
// Where the text was read before (known_text.h) no pass is run at all for a step whose rows are
// tokens of it: states, keys and values are those of then, and the path is what the answer says.
// Attached rows, and what lies behind the answer's end or its first token that the target does not
// give, have their passes as before.
//
// All decoders of a group that take part in a step have one of these, or none has. Their rows are
// limited as if each were alone; where they do not fit into one pass a step takes several.
#ifndef FR_DECODE_KNOWN_ANSWER_H
#define FR_DECODE_KNOWN_ANSWER_H
#include "decode/known_text.h"
#include "model/row.h"
#include "tree/tree.h"
#include <assert.h>

typedef struct fr_known_answer { // {0}: nothing is known
    const int32_t *ids; // [n] borrowed: the answer, from the first token after the prompt on;
    int n;              // ... set by the owner before a text begins
    const fr_known_text *text; // borrowed: prompt and answer, read before; NULL: passes are run
    // Of the step at hand.
    int16_t place[FR_MAX_ROWS]; // of each of its rows in its part of the pass; -1: left out
    int n_rows;                 // of that part
    bool served;                // by the text: the pass has no rows of this step
} fr_known_answer;

// Where a text's row lies in a pass in which its rows begin at `first`. place NULL: all are there.
static inline int fr_place_in_pass(int first, const int16_t *place, int row) {
    assert(!place || place[row] >= 0);
    return first + (place ? place[row] : row);
}

// Which of the n rows (row i < tree->n is node i, the rest is attached) are in the pass, `answered`
// tokens of the answer being there. all: every one.
void fr_known_answer_choose(fr_known_answer *k, const fr_tree *tree, const fr_row *rows, int n,
                            int answered, bool all);
void fr_known_answer_keep(fr_known_answer *k, int n); // n rows of a text that is read: every one

// After rows were chosen: whether the text serves the step of the tree, behind the n_ids tokens
// known, `answered` of them being the answer's. A tree that may go beyond the answer's end is not.
bool fr_known_answer_serves(const fr_known_answer *k, const fr_tree *tree, const int32_t *ids,
                            int n_ids, int answered);
// Of a step that is served: nodes of the path into path[], the tokens behind each of them into
// next[]. How many.
int fr_known_answer_follow(const fr_known_answer *k, const fr_tree *tree, int answered, int *path,
                           int32_t *next);

#endif
