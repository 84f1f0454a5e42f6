// form.h — the description of a trained drafter's packs: one form a drafter, in the drafter's
// folder.
//
// A form reads the drafter's own settings from the metadata, lists the tensors, forecasts what
// drafting reads, and describes a pack for `forerun inspect`. The common part of all packs (target,
// draft vocabulary, depth, accuracies, checksum) is read before, in metadata.c.
#ifndef FR_DRAFT_PACK_FORM_H
#define FR_DRAFT_PACK_FORM_H
#include "draft/pack/pack.h"
#include <jansson.h>
#include <stdio.h>

typedef struct fr_pack_block fr_pack_block;     // block.h
typedef struct fr_pack_tensors fr_pack_tensors; // a list that is checked while it is made

typedef struct fr_pack_target { // of a forecast
    int layers;
    uint64_t weights; // bytes
} fr_pack_target;

typedef struct fr_pack_chains { // of a pack whose guesses are rows of the target's own pass
    int ensemble;               // rows of a guess
    double share;               // of the layers that each of them runs through
} fr_pack_chains;

struct fr_pack_form {
    const char *name; // the drafter's; general.architecture is "forerun-" and this
    size_t bytes;     // of the settings' struct, zeroed before `read`; 0: none
    // Settings from the metadata. NULL: none. FR_EDATA, FR_EUNSUP.
    fr_status (*read)(fr_pack *p, fr_error *err);
    // Lists every tensor with fr_pack_expect. NULL: a pack has none.
    void (*tensors)(const fr_pack *p, fr_pack_tensors *list);
    // FR_EDATA where a setting does not suit a target of so many layers. NULL: all do.
    fr_status (*fits)(const fr_pack *p, int n_layer, fr_error *err);
    // Share of a plain pass that drafting `depth` tokens takes.
    double (*share)(const fr_pack *p, int depth, const fr_pack_target *t);
    // NULL: guesses are no rows of the target's pass.
    fr_pack_chains (*chains)(const fr_pack *p, int n_layer);
    // The decoder block among its tensors. NULL: it has none.
    const fr_pack_block *(*block)(const fr_pack *p);
    // For `forerun inspect`: members of the JSON object; words after the drafter's name. NULL: none.
    void (*members)(const fr_pack *p, json_t *to);
    void (*words)(const fr_pack *p, FILE *to);
};

// The forms of all drafters, in their order (draft/registry.c). NULL past the last.
const fr_pack_form *fr_pack_form_at(int index);

// ---------------------------------------------------------------- for `read`

// A number from `least` to `most`. FR_EDATA.
fr_status fr_pack_u32(const fr_pack *p, const char *key, int least, int most, int *value,
                      fr_error *err);
// The place of the key's word among n names. `missing`: the word where there is no key; NULL: it
// must be there. `listed`: the names as a sentence has them. FR_EUNSUP: another word.
fr_status fr_pack_word(const fr_pack *p, const char *key, const char *missing,
                       const char *const *names, int n, const char *listed, int *place,
                       fr_error *err);

// ---------------------------------------------------------------- for `tensors`, `share`

// A tensor of k values, or of m rows of k (m 0: none).
void fr_pack_expect(fr_pack_tensors *list, const char *name, int k, int m);
// Bytes of the draft head as Q8_0, and of all tensors, over the target's.
double fr_pack_head_share(const fr_pack *p, const fr_pack_target *t);
double fr_pack_own_share(const fr_pack *p, const fr_pack_target *t);

#endif
