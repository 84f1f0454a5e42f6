// tiny_pack.h — makes packs with random weights for a tiny model. What they guess means nothing.
#ifndef FR_TESTS_SUPPORT_TINY_PACK_H
#define FR_TESTS_SUPPORT_TINY_PACK_H
#include "draft/pack/pack.h"
#include "gguf/writer.h"
#include "support/pack_forms.h"

typedef struct fr_tiny_pack { // {0}: the defaults in brackets
    const fr_pack_form *form; // [medusa]
    fr_medusa_variant variant;
    fr_type type; // of matrices: f32 or q8_0
    uint64_t seed;
    int depth;             // [3]
    int n_draft;           // [40] ids of the draft vocabulary, scattered through the target's
    int d_ff;              // [96]
    int tap;               // of the variant exit
    int rank;              // of the token bias
    int ensemble;          // [1] of ppd
    int n_taps;            // of eagle:
    int32_t taps[4];       // ... layers whose rows make a state
    const int32_t *layers; // of hidden-transfer, `depth` of them [all 1]
    bool gate, pure;
    int ngram, hidden;       // of chimera [2, 64; residual: n-grams' width]
    fr_pack_encoder encoder; // of chimera
    bool no_residual;        // chimera's heads without the target's state
    uint32_t skip;           // of layer-skip: a bit a sublayer [1: the first attention]
    int exit;                // of early-exit [1]
    const char *leave_out;   // a key or a tensor that is not written, for the test to add its own
    const char *print;       // another fingerprint than the target's
    bool broken;             // of its weights, those that are f32 are NaN
} fr_tiny_pack;

// All but version and checksum, as packs were once.
void fr_tiny_pack_add(fr_gguf_writer *w, const fr_tiny_pack *o, const fr_model *target);
// With both, into a new file; fails the running test when that fails. `path` is a template as
// mkstemp's.
void fr_tiny_pack_write(char *path, const fr_tiny_pack *o, const fr_model *target);

#endif
