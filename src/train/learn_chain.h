// learn_chain.h — learners on the chain of chain.h: eagle and hidden-state, their options and
// start.
#ifndef FR_TRAIN_LEARN_CHAIN_H
#define FR_TRAIN_LEARN_CHAIN_H
#include "train/chain.h"
#include "train/injection.h"
#include "train/loss.h"

typedef enum fr_chain_kind { FR_CHAIN_EAGLE, FR_CHAIN_HIDDEN_STATE } fr_chain_kind;
typedef enum fr_chain_init { FR_CHAIN_RANDOM, FR_CHAIN_TARGET } fr_chain_init;

typedef struct fr_chain_options {
    fr_chain_kind kind;
    int ffn;  // width of the feed-forward part; 0: by the target's width
    int rank; // of the injected term; 0: none
    bool gate;
    bool pure;     // states alone
    float feature; // weight of the distance to the target's next states
    float ztail;   // weight of the loss of scores without the injected term
    float feed;    // share of bases whose steps after the first read the real tokens
    fr_chain_init init;
    int depth;
} fr_chain_options;

// Defaults of the kind, then KEY=VALUE words (NULL-terminated; or NULL). FR_EARG.
fr_status fr_chain_read_options(fr_chain_options *o, fr_chain_kind kind, int depth,
                                const char *const *words, fr_error *err);
fr_chain_shape fr_chain_shape_of(const fr_chain_options *o, const fr_config *target, int max_rows);
// First values of the chain's parameters. FR_EARG: init=target on a target of another form.
fr_status fr_chain_start(fr_chain *c, const fr_chain_options *o, const fr_model *target,
                         uint64_t seed, fr_error *err);

#endif
