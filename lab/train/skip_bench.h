// skip_bench.h — how well a target drafts for itself without some of its sublayers, judged on
// texts.
//
// A *place* is a text up to some token, in a KV cache of its own, and the FR_DEPTHS tokens that
// follow: the chain that a draft would walk along. The whole model says once what it expects after
// every token of the chain; a set of sublayers is judged by running all chains without them, many
// places to a pass, as layer-skip drafts: K and V of the text are the whole model's.
#ifndef LAB_TRAIN_SKIP_BENCH_H
#define LAB_TRAIN_SKIP_BENCH_H
#include "draft/shared/linear.h"
#include "lab/train/skip_search.h"
#include "model/forward.h"
#include "train/data/dataset.h"
#include "train/learner/learner.h"

typedef struct fr_skip_row {     // what the whole model says after a token of a chain
    int32_t first;               // its likeliest token
    int n;                       // of its likely tokens, those of the draft vocabulary,
    int32_t index[FR_SHARD_TOP]; // their places there
    float p[FR_SHARD_TOP];       // and probabilities, 1 together
} fr_skip_row;

typedef struct fr_skip_place {
    fr_kv kv;
    int32_t ids[FR_DEPTHS]; // of the chain
    fr_skip_row row[FR_DEPTHS];
} fr_skip_place;

typedef struct fr_skip_bench {
    const fr_model *target;      // borrowed
    const fr_draft_vocab *vocab; // borrowed
    const fr_watch *watch;       // borrowed, the caller's: asked while a set is judged
    fr_forward *forward;
    fr_matrix head; // of the draft vocabulary
    fr_linear linear;
    fr_skip_place *place;
    int n; // places
    float *in, *logits;
    int stride, logit_stride;
    fr_arena arena;
} fr_skip_bench;

// Opens `most` places, or as many as there are, in samples first..first+n-1 of the data: one in the
// middle of each answer, then further ones. FR_EDATA: there is none; FR_EINTR: `progress` (NULL:
// none) ended it; FR_ENOMEM.
fr_status fr_skip_bench_open(fr_skip_bench *b, const fr_model *target, const fr_draft_vocab *vocab,
                             const fr_dataset *data, int first, int n, int most,
                             fr_progress_fn *progress, void *user, fr_error *err);
void fr_skip_bench_close(fr_skip_bench *b); // {0} is fine

// Judges a set on all places: the divergence, and counts by depth (loss: divergence too). False: it
// was left before the end.
bool fr_skip_bench_judge(fr_skip_bench *b, const uint8_t *skip, fr_tally *tally);
// Seconds of a draft pass of one row and its head over those of a plain pass, both taken in turns.
double fr_skip_bench_share(fr_skip_bench *b, const uint8_t *skip);
// The same by bytes of weights.
double fr_skip_bench_bytes_share(const fr_skip_bench *b, const uint8_t *skip);

// Tokens over those of plain decoding where a draft token takes `share` of a plain pass, by the
// chain length that is best for the counts: (1 + sum of the shares followed) / (1 + length *
// share). [Leviathan, Kalman, Matias 2023, theorem 3.8, with counts in place of a rate]
double fr_skip_speed(const fr_tally *tally, double share);

// Writes what was found as a pack of layer-skip (pack_write.h).
struct fr_pack_facts;
fr_status fr_skip_pack_write(const char *path, const fr_model *target, const fr_draft_vocab *vocab,
                             const uint8_t *skip, double share, const struct fr_pack_facts *facts,
                             fr_error *err);

#endif
