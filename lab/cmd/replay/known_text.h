// known_text.h — what the target computes on a text that is known: keys and values, final hidden
// states, residuals of some layers, of every token.
//
// They are read once, in passes of many rows, and serve every drafter that goes over the text
// (known_answer.h): a row's results do not depend on its company.
#ifndef LAB_CMD_REPLAY_KNOWN_TEXT_H
#define LAB_CMD_REPLAY_KNOWN_TEXT_H
#include "decode/draw/sampler.h"
#include "model/forward.h"

enum { FR_KNOWN_TAPS = 16 };

typedef struct fr_known_reader { // what reads texts of a model, one after the other; {0}: closed
    fr_forward *forward;
    fr_sampler sampler;
} fr_known_reader;

// For texts of at most n_ctx tokens. FR_ENOMEM.
fr_status fr_known_reader_open(fr_known_reader *r, const fr_model *m, int n_ctx, fr_error *err);
void fr_known_reader_close(fr_known_reader *r);

typedef struct fr_known_text { // {0}: closed
    const fr_model *model;
    fr_kv kv;     // its committed slots are the tokens that were read
    int n_sound;  // of them, those before the first that the target itself does not give
    int32_t *ids; // [n_ctx]
    int taps[FR_KNOWN_TAPS], n_taps; // layers, ascending
    float *final;                    // [n_ctx][d]
    float *tap[FR_KNOWN_TAPS];       // by taps: [n_ctx][d]
} fr_known_text;

// FR_ENOMEM; FR_EUNSUP: see fr_kv_open.
fr_status fr_known_text_open(fr_known_text *t, const fr_model *m, int n_ctx, fr_kv_type type,
                             fr_error *err);
void fr_known_text_close(fr_known_text *t); // a closed one is fine

// Makes it the n tokens (at most n_ctx), keeping what agrees, with these layers' residuals besides
// those it has; a layer that is new has all read again. Tokens after the first n_prompt are
// compared with those that the target draws; of answers that are kept, what was found before
// stands, so the sampling is that of all calls on it. FR_ENOMEM; FR_EUNSUP: more layers than fit.
fr_status fr_known_text_read(fr_known_text *t, fr_known_reader *r, const int *taps, int n_taps,
                             const int32_t *ids, int n, int n_prompt, const fr_sampling *sampling,
                             fr_error *err);

// Whether these n tokens are its first ones, and all are what the target gives.
bool fr_known_text_has(const fr_known_text *t, const int32_t *ids, int n);
const float *fr_known_text_final(const fr_known_text *t, int at); // [d] of token `at`
// The residual [d] of token `at` after so many layers, which are among its taps (asserted).
const float *fr_known_text_tap(const fr_known_text *t, int layer, int at);

#endif
