// learn_eagle.h — learners on the chain of unrolled.h: eagle and hidden-state, their options and
// start.
#ifndef FR_DRAFT_EAGLE_TRAIN_LEARN_EAGLE_H
#define FR_DRAFT_EAGLE_TRAIN_LEARN_EAGLE_H
#include "train/block/token_bias.h"
#include "train/block/unrolled.h"
#include "train/learner/loss.h"
#include "train/math/linear_fit.h"

typedef enum fr_unrolled_kind { FR_UNROLLED_EAGLE, FR_UNROLLED_HIDDEN_STATE } fr_unrolled_kind;
typedef enum fr_unrolled_init {
    FR_UNROLLED_FIT,        // input layer: the least-squares map to the next state
    FR_UNROLLED_RANDOM,     // input layer: the identity on the state; sublayers small and random
    FR_UNROLLED_TARGET,     // as RANDOM, with the weights of the target's last layer
    FR_UNROLLED_LAST_LAYER, // as FIT, with that layer's neurons that are most active on the text
} fr_unrolled_init;

typedef struct fr_unrolled_options {
    fr_unrolled_kind kind;
    int ffn;  // width of the feed-forward part; 0: by the target's width
    int rank; // of the token bias; 0: none
    bool gate;
    bool pure;     // states alone
    float feature; // weight of the distance to the target's next states
    float ztail;   // weight of the loss of scores without the token bias
    float feed;    // share of bases whose steps after the first read the real tokens
    fr_unrolled_init init;
    int depth;
    float rope_base; // of the block; 0: the target's where init takes its layer, else 10000
    bool rise;       // fewer steps at first: fr_unrolled_steps
    int n_taps, taps[FR_SHARD_TAPS]; // layers whose residuals make a state; n_layer: the final one
} fr_unrolled_options;

// Defaults of the kind, then KEY=VALUE words (NULL-terminated; or NULL). FR_EARG.
fr_status fr_unrolled_read_options(fr_unrolled_options *o, fr_unrolled_kind kind, int depth,
                                   const char *const *words, fr_error *err);
// Number of steps that are learned when a share `done` of the training is over. Without `rise` it
// is all of them. With `rise` it is one in the first third of the training, half of them in the
// second, then all. [More steps later, when the first ones are learned: HASS, arXiv 2408.15766]
int fr_unrolled_steps(const fr_unrolled_options *o, double done);
double fr_unrolled_settled(const fr_unrolled_options *o); // the share from which on it is all
fr_unrolled_shape fr_unrolled_shape_of(const fr_unrolled_options *o, const fr_config *target,
                                       int max_rows);
// Where the samples have what the options tap: places in `at`, -1 for the final state. FR_EARG.
fr_status fr_unrolled_find_taps(const fr_unrolled_options *o, const fr_shard_format *format,
                                int n_layer, int at[FR_SHARD_TAPS], fr_error *err);
// First values of the chain's parameters. FR_EARG: init=target on a target of another form.
fr_status fr_unrolled_start(fr_unrolled *c, const fr_unrolled_options *o, const fr_model *target,
                            uint64_t seed, fr_error *err);

// The weights of a layer of the target in place of the block's, the feed-forward part's where it is
// as wide. FR_EARG: the layer turns only a part of its heads.
fr_status fr_unrolled_take_layer(fr_unrolled *c, const fr_model *target, int layer, fr_error *err);

// The learner of either kind. FR_EARG: an option; FR_ENOMEM.
fr_status fr_unrolled_learner_open(fr_learner **out, fr_unrolled_kind kind, const char *name,
                                   const fr_learner_config *config, fr_error *err);

// Whether the sub-layers are those of the pack that training begins with.
bool fr_unrolled_has_block(const fr_unrolled *c);
// Makes the contribution of the sub-layers small, so that the block begins as the identity.
// Sub-layers from a pack are not changed.
void fr_unrolled_quieten(fr_unrolled *c);
// Multiplies the contribution of the sub-layers by `by`.
void fr_unrolled_scale(fr_unrolled *c, float by);
// The block's numbers for a pack.
void fr_unrolled_write(const fr_unrolled *c, fr_gguf_writer *w);

// The same from data: the states, embeddings and positions of a batch stand in the chain. `fit` is
// {0} at first; fr_unrolled_fit_bytes gives its bytes.
size_t fr_unrolled_fit_bytes(const fr_unrolled_shape *s);
fr_status fr_unrolled_fit_add(fr_linear_fit *fit, const fr_unrolled *c, fr_error *err); // FR_ENOMEM
// The parts of that fit, for a learner with inputs of its own. fr_fit_inputs writes the input x
// [fit->k] of a row of the chain. fr_unrolled_fit_rows adds all rows of the batch; the target y [d]
// of a row is the next state divided by the gain of the last norm. fr_fit_take_columns copies
// columns first, first + 1, ... of the map into parameter i [d][columns].
typedef void fr_fit_inputs(const void *user, const fr_unrolled *c, int row, float *x);
void fr_unrolled_fit_rows(fr_linear_fit *fit, const fr_unrolled *c, fr_fit_inputs *inputs_of,
                          const void *user);
void fr_fit_take_columns(const fr_linear_fit *fit, const fr_params *p, int i, int first);
void fr_unrolled_fit_end(fr_linear_fit *fit, fr_unrolled *c, const fr_watch *watch);

// For a chain with taps: fits W_t by least squares, so that the taps of a row (gains 1 until then)
// give the row's final state; then sets the gains so that every channel has mean square 1.
size_t fr_unrolled_taps_fit_bytes(const fr_unrolled_shape *s);
fr_status fr_unrolled_taps_fit_add(fr_linear_fit *fit, const fr_unrolled *c,
                                   fr_error *err); // FR_ENOMEM
void fr_unrolled_taps_fit_end(fr_linear_fit *fit, fr_unrolled *c, const fr_watch *watch);

#endif
