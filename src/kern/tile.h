// tile.h — what kernels for every instruction set are written with: templates that vanish, and
// what keeps the compiler from undoing a register tile.
#ifndef FR_KERN_TILE_H
#define FR_KERN_TILE_H
#include <stdint.h>

// Builds that look for errors keep the templates as functions: unrolled and instrumented they take
// minutes to compile. gcc has no sign for -fsanitize=undefined alone. AVX-512 has to be spared, as
// its shifts take constants, which the arguments of a template are only when it has vanished.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define FR_INSTRUMENTED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FR_INSTRUMENTED
#endif
#endif
#if defined(FR_INSTRUMENTED) && !defined(__AVX512F__)
#define FR_INLINE static inline
#else
#define FR_INLINE static inline __attribute__((always_inline))
#endif

// In front of a loop with a constant count. A register tile is an array of constant size whose
// loops vanish: with one loop left, the compiler keeps the whole array in memory.
#if defined(FR_EMULATE) || (defined(FR_INSTRUMENTED) && !defined(__AVX512F__))
#define FR_UNROLL
#elif defined(__clang__)
#define FR_UNROLL _Pragma("clang loop unroll(full)")
#else
#define FR_UNROLL _Pragma("GCC unroll 16")
#endif

// FR_PIN: the vector is in a register here and nothing moves across. Without it gcc hoists the
// unpacking or the products of many groups and spills accumulators.
// FR_HIDE: an integer or pointer whose value the compiler must not know, so that a loop stays a
// loop, or memory memory; nothing moves across. Written out, bodies of a whole superblock leave the
// core's store of decoded operations and take up to half as long again, depending on where the
// linker puts them.
// FR_HIDE_VALUE: the same, but other code may move across. AVX2's tiles were timed with this one,
// and with the other gcc orders them otherwise; AVX-VNNI's spill with this one.
#ifdef FR_EMULATE
#define FR_PIN(vector)         ((void)0)
#define FR_HIDE(integer)       ((void)0)
#define FR_HIDE_VALUE(integer) ((void)0)
#else
#define FR_PIN(vector)         __asm__ volatile("" : "+v"(vector))
#define FR_HIDE(integer)       __asm__ volatile("" : "+r"(integer))
#define FR_HIDE_VALUE(integer) __asm__("" : "+r"(integer))
#endif

// ------------------------------------------------------------------ prefetching
// A pass reads its weights while it multiplies them if the prefetches are spread evenly. A core
// waits for few lines at a time (Intel's: 16 of L1). While a burst of requests waits for memory,
// the loads of the current weights from L2 are blocked, and between bursts memory is idle. So
// kernels have points wherever they compute, one for every few operations, and prefetch a line at
// some of them.
typedef struct fr_stream {
    const uint8_t *at; // the next line to prefetch
    size_t step; // bytes from one point to the next: at most a line, or lines would be left out
} fr_stream;

// `bytes` from `at` on over so many points.
FR_INLINE fr_stream fr_stream_over(const uint8_t *at, size_t bytes, int points) {
    return (fr_stream){at, (bytes + (size_t)points - 1) / (size_t)points};
}

// Into L2: in L1 it would displace data in use. Prefetching a line twice is not avoided: a test
// would cost more.
FR_INLINE void fr_ask(fr_stream *stream) {
    __builtin_prefetch(stream->at, 0, 2);
    stream->at += stream->step;
}

FR_INLINE int fr_lines(int bytes) {
    return (bytes + 63) / 64;
}

// Place i of n that share so many points. With constants no place prefetches in vain.
FR_INLINE void fr_ask_at(fr_stream *stream, const int points, const int i, const int n) {
    FR_UNROLL
    for (int point = i * points / n; point < (i + 1) * points / n; point++)
        fr_ask(stream);
}

// Two lines farther on, once in a while: the hardware takes them for a stream that continues, and
// brings into L2 some of the lines between, which takes no space of L1. Both lines are prefetched
// again when their turn comes. 20 to 28 lines and one, two or three of them were equally good; 16,
// 32 and 40 less so.
FR_INLINE void fr_scout(const fr_stream *stream) {
    enum { LINES = 24 };
    __builtin_prefetch(stream->at + 64 * LINES, 0, 2);
    __builtin_prefetch(stream->at + 64 * (LINES + 1), 0, 2);
}

// Width of the tile at row r of n: tiles of at most `most` rows, as equal as can be, so that 9 rows
// of tiles of 8 cost 9/8 of 8.
FR_INLINE int fr_tile_width(int r, int n, const int most) {
    const int tiles = (n + most - 1) / most, base = n / tiles, wide = n % tiles;
    return r < wide * (base + 1) ? base + 1 : base;
}

#endif
