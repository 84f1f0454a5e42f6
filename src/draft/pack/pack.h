// pack.h — the file that holds a trained drafter: a GGUF with the weights of heads or of a block,
// the draft vocabulary, how right it was on held-out text, and how it was trained.
//
// A pack belongs to one target file, whose fingerprint it names; it holds no part of the target.
// Opening checks everything: numbers in range, every id of the draft vocabulary in the target's and
// there once, every tensor present with its shape and a type that is read, and none besides. So
// binding the tensors afterwards can only fail for want of memory. The checksum alone is checked
// apart: a search among many packs does not read all of each.
#ifndef FR_DRAFT_PACK_PACK_H
#define FR_DRAFT_PACK_PACK_H
#include "model/model.h"
#include "tree/accuracy.h"

enum { FR_PACK_HEADS = FR_ACCURACY_DEPTHS, FR_PACK_RANK = 1024 };
#define FR_PACK_EPS 1e-6 // of every norm in a drafter's own network, as it was trained

typedef enum fr_pack_kind {
    FR_PACK_MEDUSA,
    FR_PACK_EAGLE,
    FR_PACK_HIDDEN_STATE,
    FR_PACK_PPD,
    FR_PACK_HIDDEN_TRANSFER,
    FR_PACK_CHIMERA,
    FR_PACK_LAYER_SKIP,
    FR_PACK_EARLY_EXIT,
} fr_pack_kind;
enum {
    FR_PACK_KINDS = FR_PACK_EARLY_EXIT + 1,
    FR_PACK_ATTACHED = 7,
    FR_PACK_ENSEMBLE = 10,
    FR_PACK_NGRAM = 5,
    FR_PACK_TAPS = 8,
};

typedef enum fr_medusa_variant { // what stands behind the heads, and what they read
    FR_MEDUSA_SHARED,            // the draft head, the final hidden state
    FR_MEDUSA_OWN_HEADS,         // a head of each one's own
    FR_MEDUSA_HYDRA,             // ... and the tokens of the path
    FR_MEDUSA_EXIT,              // the final norm of the residual of layer `tap`
} fr_medusa_variant;

typedef enum fr_pack_encoder { // of an n-gram: t its embeddings, h a hidden layer on them
    FR_ENCODER_WIDE,           // W_3 t + W_2 h
    FR_ENCODER_RESIDUAL,       // W_2 (t + h)
    FR_ENCODER_LAYERS,         // W_2 h
} fr_pack_encoder;
enum { FR_PACK_ENCODERS = FR_ENCODER_LAYERS + 1 };

typedef struct fr_pack {
    const fr_gguf *gguf;
    fr_gguf *own; // closed with the pack; NULL: the caller's
    int version;
    fr_pack_kind kind;
    char target[FR_GGUF_FINGERPRINT], target_name[128];
    int d, n_vocab;     // the target's
    int n_draft;        // ids of the draft vocabulary,
    const int32_t *ids; // most frequent first; never NULL
    int depth; // medusa: heads; ppd: prompts; hidden-transfer: steps; else the depth trained for

    fr_medusa_variant variant; // medusa; chimera: the first two
    int tap;                   // FR_MEDUSA_EXIT: the heads read the residual after so many layers

    int n_head, n_kv, head_dim, d_ff; // of the block
    float rope_base;
    int rank;                       // of the bias by the token before; 0: none (hidden-state)
    bool gate;                      // ... which the state opens and closes
    bool pure;                      // the block reads no tokens (hidden-state)
    int n_taps, taps[FR_PACK_TAPS]; // layers, ascending, whose residuals make the states of a text;
                                    // the target's last: its final state. None: that alone (eagle)

    int ensemble;                // vectors of a prompt (ppd)
    int layer[FR_PACK_ATTACHED]; // behind which step i+1 enters, ascending (hidden-transfer)

    int ngram, hidden;       // tokens of an n-gram, values of its hidden layer (chimera)
    fr_pack_encoder encoder; // (chimera)
    bool residual;           // its heads read the target's last state too (chimera)

    uint8_t skip[2 * FR_MAX_LAYERS]; // sublayers left out, as in fr_pass (layer-skip):
    int n_skip, skip_end;            // ... how many, and one more than the last
    float share; // of the target's bytes that a drafted token reads (layer-skip)

    int exit; // layers that a draft runs through (early-exit)

    fr_accuracy accuracy;     // held out, given that the path before was right
    uint64_t n_params, bytes; // of all tensors
    int32_t *ids_memory;      // what `ids` points at
} fr_pack;

const char *fr_pack_kind_name(fr_pack_kind kind); // "medusa", "eagle", "hidden-state", ...
const char *fr_medusa_variant_name(fr_medusa_variant variant);
const char *fr_pack_encoder_name(fr_pack_encoder encoder);

// Whether a file says that it is a pack, of whatever kind.
bool fr_pack_is(const fr_gguf *g);
bool fr_pack_is_file(const char *path); // false also where it cannot be read

// What the key forerun.version says; none: 1, packs without a checksum.
enum { FR_PACK_VERSION = 2 };
#define FR_PACK_CHECKSUM "forerun.checksum"

// FR_EIO, FR_EDATA: no file, no pack, or one whose parts do not agree; FR_EUNSUP: of another kind
// of drafter than is known; FR_ENOMEM. Nothing is left open after an error.
fr_status fr_pack_open(fr_pack *p, const char *path, fr_error *err);
// The same from an open file, which stays the caller's and must outlive the pack.
fr_status fr_pack_take(fr_pack *p, const fr_gguf *g, fr_error *err);
void fr_pack_close(fr_pack *p); // a zeroed one is fine

// FR_EUNSUP where it is of another kind.
fr_status fr_pack_is_of(const fr_pack *p, fr_pack_kind kind, fr_error *err);
// FR_EUNSUP where it was not trained for this target: the sentence names both fingerprints.
fr_status fr_pack_fits(const fr_pack *p, const fr_model *target, fr_error *err);
// Whether every byte is as it was written, where the pack says a checksum: reads all of it.
// FR_EDATA.
fr_status fr_pack_check_sum(const fr_pack *p, fr_error *err);
// Opens, and checks the sum, the target and the kind: what constructors of drafters call.
fr_status fr_pack_open_for(fr_pack *p, const char *path, fr_pack_kind kind, const fr_model *target,
                           fr_error *err);

// A tensor of the pack; NULL where this one has none.
const fr_gguf_tensor *fr_pack_tensor(const fr_pack *p, const char *name);

#endif
