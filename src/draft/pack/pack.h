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

enum { FR_PACK_HEADS = FR_ACCURACY_DEPTHS };
#define FR_PACK_EPS 1e-6 // of every norm in a drafter's own network, as it was trained

typedef struct fr_pack_form fr_pack_form; // form.h: one a trained drafter

typedef struct fr_pack {
    const fr_gguf *gguf;
    fr_gguf *own; // closed with the pack; NULL: the caller's
    int version;
    const fr_pack_form *form; // of which drafter
    char target[FR_GGUF_FINGERPRINT], target_name[128];
    int d, n_vocab;     // the target's
    int n_draft;        // ids of the draft vocabulary,
    const int32_t *ids; // most frequent first; never NULL
    int depth;          // heads, prompts, maps, or the depth trained for

    void *settings; // the form's own struct, freed with the pack; NULL: it has none

    fr_accuracy accuracy;     // held out, given that the path before was right
    uint64_t n_params, bytes; // of all tensors
    int32_t *ids_memory;      // what `ids` points at
} fr_pack;

// Whether the file's metadata has the mark of a pack, of any form.
bool fr_pack_is(const fr_gguf *g);
bool fr_pack_is_file(const char *path); // false also where it cannot be read

// The value of the key forerun.version; without the key 1: packs without a checksum.
enum { FR_PACK_VERSION = 2 };
#define FR_PACK_CHECKSUM "forerun.checksum"

// FR_EIO, FR_EDATA: no file, no pack, or one whose parts do not agree; FR_EUNSUP: of another kind
// of drafter than is known; FR_ENOMEM. Nothing is left open after an error.
fr_status fr_pack_open(fr_pack *p, const char *path, fr_error *err);
// The same from an open file, which stays the caller's and must outlive the pack.
fr_status fr_pack_take(fr_pack *p, const fr_gguf *g, fr_error *err);
void fr_pack_close(fr_pack *p); // a zeroed one is fine

// FR_EUNSUP where it is of another drafter.
fr_status fr_pack_is_of(const fr_pack *p, const fr_pack_form *form, fr_error *err);
// FR_EUNSUP where it was not trained for this target: the sentence names both fingerprints.
fr_status fr_pack_fits(const fr_pack *p, const fr_model *target, fr_error *err);
// Checks every byte against the pack's checksum, if it has one; reads the whole file. FR_EDATA.
fr_status fr_pack_check_sum(const fr_pack *p, fr_error *err);
// Opens, and checks the sum, the target and the form: what constructors of drafters call.
fr_status fr_pack_open_for(fr_pack *p, const char *path, const fr_pack_form *form,
                           const fr_model *target, fr_error *err);

// A tensor of the pack; NULL where this one has none.
const fr_gguf_tensor *fr_pack_tensor(const fr_pack *p, const char *name);

#endif
