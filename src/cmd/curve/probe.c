// probe.c — register loops and plain reading, timed.
#include "cmd/curve/probe.h"
#include "base/clock.h"
#include <stdatomic.h>
#include <unistd.h>
#ifdef FR_HAVE_X86
#include <immintrin.h>
#endif

// ---------------------------------------------------------------- work in pieces

enum { WAYS_MOST = 3 };

// Piece `piece` of the work, done in way `way`; returns how much it was.
typedef double piece_fn(const void *arg, int piece, int way);

typedef struct tally {
    double seconds[WAYS_MOST], amount[WAYS_MOST];
} tally;

typedef struct work {
    piece_fn *fn;
    const void *arg;
    int first, end, n_ways;
    atomic_int next;
    tally by_thread[FR_MAX_THREADS];
} work;

static void take_pieces(void *arg, int thread, int n_threads) {
    work *w = arg;
    tally mine = {0};
    (void)n_threads;
    for (int i; (i = atomic_fetch_add(&w->next, 1)) < w->end;) {
        const int way = i % w->n_ways;
        const double start = fr_seconds();
        mine.amount[way] += w->fn(w->arg, i, way);
        mine.seconds[way] += fr_seconds() - start;
    }
    w->by_thread[thread] = mine;
}

// Amount per second, as if all pieces had been done in the best way: what one thread does in a
// second that way, times the mean number of threads at work.
static double rate_of(fr_pool *pool, work *w) {
    atomic_init(&w->next, w->first);
    const double start = fr_seconds();
    fr_pool_run(pool, take_pieces, w);
    const double wall = fr_seconds() - start;
    double seconds = 0, best = 0;
    for (int way = 0; way < w->n_ways; way++) {
        double a = 0, s = 0;
        for (int t = 0; t < fr_pool_threads(pool); t++) {
            a += w->by_thread[t].amount[way];
            s += w->by_thread[t].seconds[way];
        }
        if (s > 0 && a / s > best) best = a / s;
        seconds += s;
    }
    return best * seconds / wall;
}

// ---------------------------------------------------------------- reading

typedef uint64_t lane __attribute__((vector_size(16)));

enum { LINE = 64, PIECE = 1 << 20, LEAST_PIECE = 512, READ_WAYS = 3 };

// One stream, asking for lines ahead of the hardware's own guesses.
static void read_ahead(const uint8_t *p, size_t n) {
    lane sum = {0};
    for (const uint8_t *end = p + n; p < end; p += LINE) {
        const lane *v = (const lane *)(const void *)p;
        __builtin_prefetch(p + 8192, 0, 2);
        sum ^= v[0] ^ v[1] ^ v[2] ^ v[3];
    }
    __asm__ volatile("" ::"r"(sum[0] ^ sum[1])); // what was read counts as used
}

// Several streams keep more lines in flight: their prefetchers all stop at the ends of pages, but
// not at once.
#define READ_STREAMS(name, streams)                                                                \
    static void name(const uint8_t *p, size_t n) {                                                 \
        const size_t part = n / (streams);                                                         \
        lane sum[streams] = {{0}};                                                                 \
        for (size_t at = 0; at < part; at += LINE)                                                 \
            for (size_t s = 0; s < (streams); s++) {                                               \
                const lane *v = (const lane *)(const void *)(p + s * part + at);                   \
                sum[s] ^= v[0] ^ v[1] ^ v[2] ^ v[3];                                               \
            }                                                                                      \
        for (size_t s = 0; s < (streams); s++)                                                     \
            __asm__ volatile("" ::"r"(sum[s][0] ^ sum[s][1]));                                     \
    }
READ_STREAMS(read_4_streams, 4)
READ_STREAMS(read_8_streams, 8)

static double read_piece(const void *arg, int piece, int way) {
    const fr_probe *p = arg;
    const uint8_t *from = p->weights + (size_t)(piece % p->n_pieces) * p->piece;
    for (int i = 0; i < p->n_repeats; i++) {
        if (way == 0) read_ahead(from, p->piece);
        if (way == 1) read_4_streams(from, p->piece);
        if (way == 2) read_8_streams(from, p->piece);
    }
    return (double)p->piece * p->n_repeats;
}

// A pass leaves the end of the weights in the caches, so a probe must leave the same: it reads up
// to the end, and begins so far before it that the caches do not hold that part yet. Small weights
// are read whole.
static double probe_read(const fr_probe *p, double seconds) {
    work w = {.fn = read_piece, .arg = p, .n_ways = READ_WAYS};
    int n = (int)(seconds * p->last.read / (double)p->piece / p->n_repeats) + 1;
    if (n < p->least_pieces) n = p->least_pieces;
    if (n >= p->n_pieces) n = (n + p->n_pieces - 1) / p->n_pieces * p->n_pieces;
    w.first = n < p->n_pieces ? p->n_pieces - n : 0;
    w.end = w.first + n;
    return rate_of(p->pool, &w);
}

// ---------------------------------------------------------------- products
// Each loop keeps its sums in named registers (an array would be spilled); the empty asm makes the
// compiler believe that factor and sum have changed, so that nothing is saved or moved.

enum { SUMS = 8, LOOPS = 1 << 14 };
#define EIGHT(step) step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7)

#ifdef FR_HAVE_X86
// clang-format off
#define PIN_TO(x) __asm__ volatile("" : "+x"(x))
#define PIN_WIDE(x) __asm__ volatile("" : "+v"(x)) // all 32 registers

static double products_sse2(void) {
    __m128i u = _mm_set1_epi16(3);
    const __m128i s = _mm_set1_epi16(5);
#define START(i) __m128i a##i = _mm_setzero_si128();
#define STEP(i) PIN_TO(u); a##i = _mm_add_epi32(a##i, _mm_madd_epi16(u, s)); PIN_TO(a##i);
    EIGHT(START)
    for (int n = 0; n < LOOPS; n++) { EIGHT(STEP) }
#undef START
#undef STEP
    return 8.0 * SUMS * LOOPS;
}

__attribute__((target("avx2"))) static double products_avx2(void) {
    __m256i u = _mm256_set1_epi8(3);
    const __m256i s = _mm256_set1_epi8(5);
#define START(i) __m256i a##i = _mm256_setzero_si256();
#define STEP(i) PIN_TO(u); a##i = _mm256_add_epi16(a##i, _mm256_maddubs_epi16(u, s)); PIN_TO(a##i);
    EIGHT(START)
    for (int n = 0; n < LOOPS; n++) { EIGHT(STEP) }
#undef START
#undef STEP
    return 32.0 * SUMS * LOOPS;
}

__attribute__((target("avx2,avxvnni"))) static double products_avx_vnni(void) {
    __m256i u = _mm256_set1_epi8(3);
    const __m256i s = _mm256_set1_epi8(5);
#define START(i) __m256i a##i = _mm256_setzero_si256();
#define STEP(i) PIN_TO(u); a##i = _mm256_dpbusd_avx_epi32(a##i, u, s); PIN_TO(a##i);
    EIGHT(START) START(8) START(9) START(10) START(11)
    for (int n = 0; n < LOOPS; n++) { EIGHT(STEP) STEP(8) STEP(9) STEP(10) STEP(11) }
#undef START
#undef STEP
    return 32.0 * 12 * LOOPS;
}

// A product waits up to five cycles for its sum, and two may start in each: more sums.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) static double products_avx512(void) {
    __m512i u = _mm512_set1_epi8(3);
    const __m512i s = _mm512_set1_epi8(5);
#define START(i) __m512i a##i = _mm512_setzero_si512(), b##i = a##i;
#define STEP(i) PIN_WIDE(u); a##i = _mm512_dpbusd_epi32(a##i, u, s); PIN_WIDE(a##i); \
                PIN_WIDE(u); b##i = _mm512_dpbusd_epi32(b##i, u, s); PIN_WIDE(b##i);
    EIGHT(START)
    for (int n = 0; n < LOOPS; n++) { EIGHT(STEP) }
#undef START
#undef STEP
    return 2 * 64.0 * SUMS * LOOPS;
}
// clang-format on

#ifdef FR_HAVE_AMX
// Four tiles of sums, as many as two tiles of each factor leave.
__attribute__((target("amx-tile,amx-int8"))) static double products_amx(void) {
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } c __attribute__((aligned(64))) = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.row_bytes[i] = 64;
        c.rows[i] = 16;
    }
    __asm__ volatile("" ::"r"(&c) : "memory");
    _tile_loadconfig(&c);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
    for (int n = 0; n < LOOPS / 8; n++) {
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
    }
    _tile_release();
    return 4.0 * 16 * 16 * 64 * (LOOPS / 8);
}
#endif
#endif

static double products_plain(void) {
    int32_t sums[SUMS] = {0}, u = 3;
    for (int n = 0; n < LOOPS; n++)
        for (int i = 0; i < SUMS; i++) {
            __asm__ volatile("" : "+r"(u));
            sums[i] += u * 5;
        }
    for (int i = 1; i < SUMS; i++)
        sums[0] ^= sums[i];
    __asm__ volatile("" ::"r"(sums[0]));
    return (double)SUMS * LOOPS;
}

typedef double products_fn(void);
typedef struct loops {
    products_fn *loop[2];
    int n;
} loops;

// The strongest loop that the instruction set has, and a second where two compete.
static loops loops_of(fr_isa isa) {
#ifdef FR_HAVE_X86
    if (isa == FR_ISA_SCALAR) return (loops){{products_sse2}, 1};
    if (isa == FR_ISA_AVX2) return (loops){{products_avx2}, 1};
    if (isa == FR_ISA_AVX_VNNI) return (loops){{products_avx_vnni}, 1};
    if (isa == FR_ISA_AVX512) return (loops){{products_avx512}, 1};
#ifdef FR_HAVE_AMX
    if (isa == FR_ISA_AMX) return (loops){{products_avx512, products_amx}, 2};
#endif
#endif
    (void)isa;
    return (loops){{products_plain}, 1};
}

static double products_piece(const void *arg, int piece, int way) {
    const loops *l = arg;
    (void)piece;
    return l->loop[way]();
}

static double probe_products(const fr_probe *p, double seconds) {
    const loops l = loops_of(p->isa);
    work w = {.fn = products_piece, .arg = &l, .n_ways = l.n};
    const double of_piece = l.loop[l.n - 1](); // the largest
    const int least = 4 * l.n * fr_pool_threads(p->pool);
    w.end = (int)(seconds * p->last.products / of_piece) + 1;
    if (w.end < least) w.end = least;
    return rate_of(p->pool, &w);
}

// ---------------------------------------------------------------- both

fr_status fr_probe_open(fr_probe *p, fr_pool *pool, fr_isa isa, const void *weights, size_t bytes,
                        fr_error *err) {
    *p = (fr_probe){.pool = pool, .isa = isa, .weights = weights, .last = {1e10, 1e10}};
    if (bytes < LEAST_PIECE)
        return fr_fail(err, FR_EDATA, "probe: expected at least %d bytes of weights, found %zu",
                       LEAST_PIECE, bytes);
    const size_t share = bytes / (size_t)fr_pool_threads(pool) / LEAST_PIECE * LEAST_PIECE;
    p->piece = share < LEAST_PIECE ? LEAST_PIECE : share < PIECE ? share : PIECE;
    p->n_pieces = (int)(bytes / p->piece);
    p->n_repeats = (int)(PIECE / 4 / p->piece) + 1;
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    p->least_pieces = (int)((cache > 0 ? 4 * (size_t)cache : (size_t)128 << 20) / p->piece);
    if (p->least_pieces > p->n_pieces) p->least_pieces = p->n_pieces;
    fr_probe_run(p, 1e-3); // the first rates are guesses, and threads wake up
    fr_probe_run(p, 4e-3);
    return FR_OK;
}

fr_rates fr_probe_run(fr_probe *p, double seconds) {
    p->last = (fr_rates){probe_read(p, seconds), probe_products(p, seconds)};
    return p->last;
}
