// quantize.h — f32 to any of the types that the engine reads, for tests: simple and bounded, not
// good.
//
// Per element |value(block) − x| is at most fr_test_quantize_bound(type) times the largest |x| of
// the element's block, plus 2^-25 (half the least f16), for blocks whose largest |x| is 0 or 0.1 to
// 1e3; types of single elements take any.
#ifndef FR_TESTS_SUPPORT_QUANTIZE_H
#define FR_TESTS_SUPPORT_QUANTIZE_H
#include "kern/qtype.h"
#include <stdbool.h>

// Whether the two below serve the type: all but those of the kinds GENERIC and LIKE in types.def.
bool fr_test_quantizes(fr_type type);

// dst: n / block blocks of `type`; n is a multiple of the block (asserted).
void fr_test_quantize(fr_type type, const float *src, void *dst, int64_t n);

float fr_test_quantize_bound(fr_type type);

#endif
