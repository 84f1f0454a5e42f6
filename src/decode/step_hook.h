// step_hook.h — leaves rows of a step out of the pass, and supplies their results.
//
// NULL in the product: every row is in the pass. forerun-lab measures tokens a pass with one
// (lab/cmd/replay/known_answer.h). A row's result does not depend on its company, so every row that
// is there is what it would be among all of them. Only the seconds differ, so the trees' sizes must
// not depend on them: a decoder that does not adapt, and the exact rule.
//
// All decoders of a group that take part in a step have a hook, or none has. Their rows are limited
// as if each were alone; where they do not fit into one pass a step takes several.
#ifndef FR_DECODE_STEP_HOOK_H
#define FR_DECODE_STEP_HOOK_H
#include "model/row.h"
#include <stdbool.h>

typedef struct fr_step_hook fr_step_hook;
struct fr_decoder;

struct fr_step_hook { // embedded first in its owner's struct; one a text
    // The rows of the text's step are made: sets what follows the verbs. reads: it is a prompt.
    void (*choose)(fr_step_hook *h, const struct fr_decoder *d, bool reads);
    // Of a step that is served. Row i of the text takes its final state and taps from elsewhere; it
    // lies at `at` of the pass.
    void (*serve)(fr_step_hook *h, struct fr_decoder *d, bool reads, int i, int at);
    // In place of verification: the path, and the tokens after its nodes.
    void (*follow)(fr_step_hook *h, struct fr_decoder *d);
    // In place of a commit: n more tokens of the context.
    void (*commit)(fr_step_hook *h, struct fr_decoder *d, int n);

    int16_t place[FR_MAX_ROWS]; // of each row in the text's part of the pass; -1: left out
    int n_rows;                 // of that part
    bool served;                // results come from elsewhere: no row of the step is in the pass
};

#endif
