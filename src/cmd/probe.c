// probe.c — register loops and plain reading, timed.
#include "cmd/probe.h"
#include "base/alloc.h"
#include "base/clock.h"
#include <string.h>
#ifdef FR_HAVE_X86
#include <immintrin.h>
#endif

static const size_t wanted_bytes = (size_t)256 << 20, least_bytes = (size_t)32 << 20;

// ---------------------------------------------------------------- reading

typedef uint64_t lane __attribute__((vector_size(16)));

enum { LINE = 64, STREAMS = 4 };

// One stream, with or without asking for lines ahead of the hardware's own guesses.
static uint64_t read_plain(const uint8_t *p, size_t n, size_t ahead) {
    lane a = {0}, b = {0}, c = {0}, d = {0};
    for (const uint8_t *end = p + n; p < end; p += LINE) {
        const lane *v = (const lane *)(const void *)p;
        if (ahead) __builtin_prefetch(p + ahead, 0, 2);
        a ^= v[0];
        b ^= v[1];
        c ^= v[2];
        d ^= v[3];
    }
    a ^= b ^ c ^ d;
    return a[0] ^ a[1];
}

// Several streams at once keep more lines in flight on some machines.
static uint64_t read_streams(const uint8_t *p, size_t n) {
    const size_t part = n / STREAMS / LINE * LINE;
    lane sum[STREAMS] = {{0}};
    for (size_t at = 0; at < part; at += LINE)
        for (int s = 0; s < STREAMS; s++) {
            const lane *v = (const lane *)(const void *)(p + (size_t)s * part + at);
            sum[s] ^= v[0] ^ v[1] ^ v[2] ^ v[3];
        }
    for (int s = 1; s < STREAMS; s++)
        sum[0] ^= sum[s];
    return sum[0][0] ^ sum[0][1];
}

typedef struct reading {
    const uint8_t *data;
    size_t bytes;
    int way;
    uint64_t sink[FR_MAX_THREADS];
} reading;

static void read_share(void *arg, int thread, int n_threads) {
    reading *r = arg;
    const size_t share = r->bytes / (size_t)n_threads / LINE * LINE;
    const uint8_t *from = r->data + (size_t)thread * share;
    if (r->way == 2)
        r->sink[thread] ^= read_streams(from, share);
    else
        r->sink[thread] ^= read_plain(from, share, r->way ? 4096 : 0);
}

static void probe_read(fr_probe *p, size_t bytes) {
    reading r = {.data = p->buffer, .bytes = bytes};
    for (r.way = 0; r.way < 3; r.way++) {
        const double start = fr_seconds();
        fr_pool_run(p->pool, read_share, &r);
        const double rate = (double)bytes / (fr_seconds() - start);
        if (rate > p->read_rate) p->read_rate = rate;
    }
    __asm__ volatile("" ::"r"(&r) : "memory"); // what was read counts as used
}

// ---------------------------------------------------------------- products
// Each loop keeps its sums in named registers (an array would be spilled); the empty asm makes the
// compiler believe that factor and sum have changed, so that nothing is saved or moved.

enum { SUMS = 8, LOOPS = 1 << 18 };
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

// The strongest loop that the instruction set has, and a second where two compete.
static int loops_of(fr_isa isa, products_fn *loops[2]) {
    loops[0] = products_plain;
#ifdef FR_HAVE_X86
    if (isa == FR_ISA_SCALAR) loops[0] = products_sse2;
    if (isa == FR_ISA_AVX2) loops[0] = products_avx2;
    if (isa == FR_ISA_AVX512 || isa == FR_ISA_AMX) loops[0] = products_avx512;
#ifdef FR_HAVE_AMX
    loops[1] = products_amx;
    if (isa == FR_ISA_AMX) return 2;
#endif
#endif
    (void)isa;
    return 1;
}

typedef struct producing {
    products_fn *loop;
    double done[FR_MAX_THREADS];
} producing;

static void products_share(void *arg, int thread, int n_threads) {
    producing *p = arg;
    (void)n_threads;
    p->done[thread] = p->loop();
}

static void probe_products(fr_probe *p) {
    products_fn *loops[2];
    const int n = loops_of(p->isa, loops);
    for (int i = 0; i < n; i++) {
        producing work = {.loop = loops[i]};
        const double start = fr_seconds();
        fr_pool_run(p->pool, products_share, &work);
        const double seconds = fr_seconds() - start;
        double done = 0;
        for (int t = 0; t < fr_pool_threads(p->pool); t++)
            done += work.done[t];
        if (done / seconds > p->product_rate) p->product_rate = done / seconds;
    }
}

// ---------------------------------------------------------------- both

// Every thread touches its own part first, so that on several nodes memory lies where it is read.
static void touch_share(void *arg, int thread, int n_threads) {
    fr_probe *p = arg;
    const size_t share = p->bytes / (size_t)n_threads / LINE * LINE;
    memset(p->buffer + (size_t)thread * share, 0x5a, share);
}

fr_status fr_probe_open(fr_probe *p, fr_pool *pool, fr_isa isa, uint64_t weights, fr_error *err) {
    *p = (fr_probe){.pool = pool, .isa = isa};
    for (p->bytes = wanted_bytes; p->bytes >= least_bytes; p->bytes /= 2)
        if ((p->buffer = fr_pages_alloc(p->bytes))) break;
    if (!p->buffer) return fr_fail(err, FR_ENOMEM, "probe: cannot get %zu bytes", least_bytes);
    // Weights that fit a large cache in part are read faster than memory alone could give them.
    if (weights < p->bytes) p->part = (size_t)weights / LINE * LINE;
    fr_pool_run(pool, touch_share, p);
    return FR_OK;
}

void fr_probe_close(fr_probe *p) {
    fr_pages_free(p->buffer, p->bytes);
    *p = (fr_probe){0};
}

void fr_probe_round(fr_probe *p) {
    probe_read(p, p->bytes);
    if (p->part) {
        probe_read(p, p->part); // warms the cache
        probe_read(p, p->part);
    }
    probe_products(p);
}
