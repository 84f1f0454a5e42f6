// known_answer.h — a text whose answer is known: its passes have no wrong rows.
//
// The drafter proposes, attaches rows and sees the whole tree, but a pass has only the rows that
// the answer does not contradict: the root, the nodes that will be accepted, the rows attached to
// these, and all rows after the answer's end. A row's result does not depend on its company, so
// every row that is there is what it would be among all of them. Verification draws as always and
// finds the path of the whole tree. Only the seconds differ, so the trees' sizes must not depend on
// them: a decoder that does not adapt, and the exact rule.
//
// Where the text was read before (known_text.h) no pass is run at all for a step whose rows are
// tokens of it: states, keys and values are those of then, and the path is what the answer says.
// Attached rows, and what lies after the answer's end or its first token that the target does not
// give, have their passes as before.
#ifndef LAB_CMD_REPLAY_KNOWN_ANSWER_H
#define LAB_CMD_REPLAY_KNOWN_ANSWER_H
#include "decode/decoder.h"
#include "lab/cmd/replay/known_text.h"

typedef struct fr_known_answer { // {0}: nothing is known
    fr_step_hook hook;
    const int32_t *ids; // [n] borrowed: the answer, from the first token after the prompt on;
    int n;              // ... set by the owner before a text begins
    const fr_known_text *text; // borrowed: prompt and answer, read before; NULL: passes are run
} fr_known_answer;

// The hook of a text whose answer is k, for fr_session_hook; it lives as long as k.
fr_step_hook *fr_known_answer_hook(fr_known_answer *k);

// Which of the n rows (row i < tree->n is node i, the rest is attached) are in the pass, `answered`
// tokens of the answer being there. all: every one.
void fr_known_answer_choose(fr_known_answer *k, const fr_tree *tree, const fr_row *rows, int n,
                            int answered, bool all);
void fr_known_answer_keep(fr_known_answer *k, int n); // n rows of a text that is read: every one

// After rows were chosen: whether the text serves the step of the tree, after the n_ids tokens
// known, `answered` of them being the answer's. A tree that may go beyond the answer's end is not.
bool fr_known_answer_serves(const fr_known_answer *k, const fr_tree *tree, const int32_t *ids,
                            int n_ids, int answered);
// Of a step that is served: nodes of the path into path[], the tokens after each of them into
// next[]. How many.
int fr_known_answer_follow(const fr_known_answer *k, const fr_tree *tree, int answered, int *path,
                           int32_t *next);

#endif
