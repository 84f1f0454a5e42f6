// iq.h — the I-quants of 2 and 3 bits, whose blocks of 256 become scales and nibbles.
//
// Their values with signs are few enough for a table of 16. So a panel holds them as IQ4_XS's, and
// no kernel looks into a grid.
#ifndef FR_KERN_IQ_H
#define FR_KERN_IQ_H
#include "kern/qtype.h"

// The levels that an index stands for (iq_grids.c): eight of 2 bits, or four of 3 bits.
extern const uint16_t fr_iq2_xxs_grid[256], fr_iq2_xs_grid[512], fr_iq2_s_grid[1024];
extern const uint16_t fr_iq3_xxs_grid[256], fr_iq3_s_grid[512];

typedef struct fr_iq_block {
    uint8_t scale[16];      // of each sub-block, 16 or 8: an odd number up to 31
    uint8_t nibbles[8][16]; // of 32 values each: places in the type's table, the low nibbles first
} fr_iq_block;

// A block of IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS or IQ3_S, all but its d, the f16 in front.
typedef void fr_iq_read_fn(fr_iq_block *to, const uint8_t *block);
fr_iq_read_fn fr_iq2_xxs_read, fr_iq2_xs_read, fr_iq2_s_read, fr_iq3_xxs_read, fr_iq3_s_read;

#endif
