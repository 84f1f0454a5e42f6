/* Put before llama.cpp's sources where gcc 12 compiles them: its _tile_loadconfig does not say that it reads 64 bytes of
 * memory, so that the stores of the configuration before it are dropped, and the first product by tiles faults. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__AMX_TILE__)
#include <immintrin.h>
#define _tile_loadconfig(config)                                                                   \
    __asm__ volatile("ldtilecfg %0" : : "m"(*(const char(*)[64])(config)) : "memory")
#endif
