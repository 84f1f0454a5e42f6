// block.h — the decoder block of some packs: its settings, tensors, and the bytes that it reads.
#ifndef FR_DRAFT_PACK_BLOCK_H
#define FR_DRAFT_PACK_BLOCK_H
#include "draft/pack/form.h"

struct fr_pack_block {
    int n_head, n_kv, head_dim, d_ff;
    float rope_base;
};

fr_status fr_pack_block_read(fr_pack_block *b, const fr_pack *p, fr_error *err); // FR_EDATA
void fr_pack_block_tensors(const fr_pack_block *b, const fr_pack *p, fr_pack_tensors *list);
// Bytes of its matrices as Q8_0 over the target's.
double fr_pack_block_share(const fr_pack_block *b, const fr_pack *p, const fr_pack_target *t);
// A new object, with what only draft blocks have (kit/draft_block_pack.h) at its default; NULL: no
// memory.
json_t *fr_pack_block_members(const fr_pack_block *b);
void fr_pack_block_words(const fr_pack_block *b, FILE *to);

#endif
