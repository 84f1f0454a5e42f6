// tune.h — what the files of `tune` share.
#ifndef FR_CMD_TUNE_TUNE_H
#define FR_CMD_TUNE_TUNE_H
#include "cmd/lib/answers.h"

extern const char *const fr_tune_prompts[]; // NULL-terminated

typedef struct fr_tuned { // one drafter over all prompts
    fr_profile_drafter entry;
    double predicted, predicted_plain; // seconds, of passes
    double passes_took, draft, decode; // seconds, measured
    int64_t tokens, passes, rows;
    bool failed; // it cannot be used with this model; why[] has the reason
    char why[256];
} fr_tuned;

// What tuning found, as text and as JSON.
typedef struct fr_tune_result {
    const fr_engine *engine;
    const fr_tuned *tuned;
    int n_tuned;
    const char *kept; // where the profile is kept; "": it is not
    bool interrupted; // others were not tuned any more
} fr_tune_result;
void fr_tune_print(const fr_tune_result *r);
json_t *fr_tune_json(const fr_tune_result *r);

// SPECs worth trying: prompt lookup; the same with every kind of pack that is found for the model;
// and for every GGUF file beside the model that is at most three quarters of its size, that file as
// draft model with prompt lookup, which pays for its risks. The texts lie in `room`, which the
// caller frees. FR_ENOMEM.
fr_status fr_tune_candidates(const fr_gguf *model, fr_buffer *room, fr_strings *specs,
                             fr_error *err);
// The SPEC with whole paths, as profiles are read in other folders; files that are not there stay
// as they are named. FR_EARG: it is longer than a profile keeps.
fr_status fr_tune_spec(char whole[FR_PROFILE_SPEC], const char *spec, fr_error *err);
// The largest datastore (*.frd) of this vocabulary beside the model file, with its whole path;
// "": there is none.
void fr_tune_store(const char *model, const fr_tokenizer *t, char path[FR_PROFILE_SPEC]);

#endif
