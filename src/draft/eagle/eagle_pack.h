// eagle_pack.h — EAGLE's packs, whose settings are those of a draft block.
#ifndef FR_DRAFT_EAGLE_EAGLE_PACK_H
#define FR_DRAFT_EAGLE_EAGLE_PACK_H
#include "draft/kit/draft_block_pack.h"

extern const fr_pack_form fr_eagle_form;

#endif
