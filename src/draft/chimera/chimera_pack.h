// chimera_pack.h — settings of Chimera's packs: an encoder of n-grams, a block, heads.
#ifndef FR_DRAFT_CHIMERA_CHIMERA_PACK_H
#define FR_DRAFT_CHIMERA_CHIMERA_PACK_H
#include "draft/pack/block.h"
#include <assert.h>

enum { FR_PACK_NGRAM = 5 };

typedef enum fr_pack_encoder { // of an n-gram: t its embeddings, h a hidden layer on them
    FR_ENCODER_WIDE,           // W_3 t + W_2 h
    FR_ENCODER_RESIDUAL,       // W_2 (t + h)
    FR_ENCODER_LAYERS,         // W_2 h
} fr_pack_encoder;
enum { FR_PACK_ENCODERS = FR_ENCODER_LAYERS + 1 };

typedef struct fr_chimera_pack {
    fr_pack_block block;
    bool own_heads;    // each depth has a head; else the draft head reads all
    int ngram, hidden; // tokens of an n-gram, values of its hidden layer
    fr_pack_encoder encoder;
    bool residual; // its heads read the target's last state too
} fr_chimera_pack;

extern const fr_pack_form fr_chimera_form;
static inline const fr_chimera_pack *fr_chimera_pack_of(const fr_pack *p) {
    assert(p->form == &fr_chimera_form);
    return p->settings;
}
const char *fr_pack_encoder_name(fr_pack_encoder encoder);

#endif
