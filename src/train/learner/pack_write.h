// pack_write.h — a trained drafter as a pack: a GGUF file for one target model.
#ifndef FR_TRAIN_LEARNER_PACK_WRITE_H
#define FR_TRAIN_LEARNER_PACK_WRITE_H
#include "train/learner/learner.h"

typedef struct fr_pack_facts { // a pack's metadata about its training
    const char *target_name;   // as in the target's own file
    const char *target;        // fingerprint
    const char *const *data;   // names of the training data
    int n_data;
    const char *answers; // "own": the target's, "given": others
    const char *command;
    uint64_t rows, steps;
    double seconds, loss;   // loss: on what was held out
    const fr_tally *judged; // what was held out, by these parameters
} fr_pack_facts;

// Writes the pack whole or not at all: matrices as `type` (F32, Q8_0, Q6_K or Q4_K; as Q8_0 where
// their rows are no whole blocks of it), vectors as F32. FR_EIO, FR_ENOMEM.
fr_status fr_pack_write(const char *path, const fr_learner *l, const fr_pack_facts *facts,
                        fr_type type, fr_error *err);
// For a learner's own write: every parameter under its name.
void fr_pack_params(fr_gguf_writer *w, const fr_params *p, fr_type type);
// A matrix of rows that are whole blocks of `type`; the writer reports lack of memory.
void fr_pack_matrix(fr_gguf_writer *w, const char *name, int64_t rows, int64_t cols,
                    const float *values, fr_type type);
// The types that a matrix may have, as a choice of the command line and by place in it.
#define FR_PACK_TYPES "q8_0|f32|q6_k|q4_k"
fr_type fr_pack_type_at(int place);
const char *fr_pack_type_word(int place);
// As what a matrix of rows of n values is kept.
fr_type fr_pack_type_for(fr_type type, int64_t n);
// About what the file will take.
size_t fr_pack_bytes(const fr_learner *l, fr_type type);

// Whether a pack has a parameter of one of these names.
bool fr_pack_shares(const fr_params *p, const fr_gguf *pack);
// What a training begins with: by the learner's own way, or by names as below. FR_EDATA.
fr_status fr_pack_read(fr_learner *l, const fr_gguf *pack, fr_error *err);
// Takes the parameters that stand in a pack under the same names (an eagle's block begins a
// hidden-state); the others stay. FR_EDATA: there is none, or one of another shape.
fr_status fr_pack_read_params(fr_params *p, const fr_gguf *pack, fr_error *err);

#endif
