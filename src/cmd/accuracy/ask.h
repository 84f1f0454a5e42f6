// ask.h — the guesses of a drafter at every place of known answers.
//
// The answers are plain decoding's, greedy. Each is replayed, a token a step. The drafter proposes
// at every step, and its proposals are not used. A place counts where the root is a token of the
// answer, so the drafter has read all before it. [Hidden Transfer §4.4, "Draft tokens prediction
// accuracy": 50 places of the output part of each of 100 texts, against the tokens that the model
// itself gives greedily. Theirs are drawn at random; these are all there are.]
#ifndef FR_CMD_ACCURACY_ASK_H
#define FR_CMD_ACCURACY_ASK_H
#include "cmd/accuracy/ranks.h"
#include "cmd/lib/answers.h"

// What a distribution after the first is given of the tokens between the root and itself. Of
// methods with one distribution a distance, whatever stands before (Medusa, PPD, Hidden Transfer),
// both are the same.
typedef enum fr_given {
    FR_GIVEN_GUESSES, // the drafter's own best guesses, as when it drafts
    FR_GIVEN_ANSWER,  // the true tokens: how right a node of a tree is after a right path
} fr_given;

typedef struct fr_known { // answers of plain decoding
    fr_ids *answer;       // [n]
    int n, taken;         // taken: answers that are here
    bool no_memory;
} fr_known;

fr_status fr_known_open(fr_known *k, fr_answers *prompts, fr_error *err); // FR_ENOMEM, FR_EINTR
void fr_known_close(fr_known *k);                                         // a zeroed one is fine

typedef struct fr_asked { // a drafter
    const char *spec;
    bool has_dists; // ranks are those of its distributions; else of its proposals' nodes
    fr_ranks ranks;
    // Of the answer in flight.
    const fr_known *known;
    fr_given given;
    int at, step; // number of the answer; steps that were asked
    bool differs; // a token was not plain decoding's
} fr_asked;

// Collects the guesses of the drafter `spec` at all places. FR_EDATA: the generated text was not
// plain decoding's. FR_ENOMEM, FR_EINTR and the errors of opening a session.
fr_status fr_ask(fr_asked *a, const char *spec, fr_answers *prompts, const fr_known *known,
                 fr_given given, fr_error *err);
void fr_asked_close(fr_asked *a); // a zeroed one is fine

#endif
