// check_bench.c — checkkern --bench: how fast the products are, one thread, beside what the core
// can do at most.
//
// L2: a matrix of about 192 KB, again and again. Stream: a matrix of 256 MB (64 MB beyond 8 rows,
// where it is computation that counts), read once a call. Minima of several calls: other programs
// may share the machine.
#include "base/alloc.h"
#include "check.h"
#include "kern/repack.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

// Processor time of this thread: what other programs take does not count, their traffic in the
// caches does.
static double seconds_used(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#ifdef __x86_64__

// The most that the core gives, from registers: pairs of vpmaddubsw and vpaddw (products of 8-bit
// integers without VNNI), and f32 fma. In assembler, so that no compiler decides what is measured.
#define PAIR(acc, t)                                                                               \
    "vpmaddubsw %%ymm14,%%ymm15,%%ymm" t "\n vpaddw %%ymm" t ",%%ymm" acc ",%%ymm" acc "\n"
#define FMA(acc) "vfmadd231ps %%ymm14,%%ymm15,%%ymm" acc "\n"
#define CLOBBER                                                                                    \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",       \
        "xmm11", "xmm12", "xmm13"

static double probe_maddubs(void) {
    const double start = seconds_used();
    for (int i = 0; i < 20000; i++)
        __asm__ volatile(PAIR("0", "8") PAIR("1", "9") PAIR("2", "10") PAIR("3", "11")
                             PAIR("4", "12") PAIR("5", "13") PAIR("6", "8") PAIR("7", "9")::
                                 : CLOBBER);
    return 20000.0 * 8 * 32 / (seconds_used() - start) * 1e-9;
}

static double probe_fma(void) {
    const double start = seconds_used();
    for (int i = 0; i < 20000; i++)
        __asm__ volatile("vxorps %%ymm14,%%ymm14,%%ymm14\n" FMA("0") FMA("1") FMA("2") FMA("3")
                             FMA("4") FMA("5") FMA("6") FMA("7") FMA("8") FMA("9") FMA("10")
                                 FMA("11")::
                                     : CLOBBER, "xmm14");
    return 20000.0 * 12 * 8 / (seconds_used() - start) * 1e-9;
}

static void print_probes(void) {
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        printf("probes: maddubs+add %.1f GMAC/s, f32 fma %.1f GMAC/s\n", probe_maddubs(),
               probe_fma());
}
#else
static void print_probes(void) {}
#endif

static double probe_read(const uint8_t *p, size_t bytes) {
    double best = 1e9;
    for (int rep = 0; rep < 3; rep++) {
        uint64_t sum[8] = {0};
        const double start = seconds_used();
        for (size_t i = 0; i < bytes; i += 64)
            for (int j = 0; j < 8; j++) {
                uint64_t v;
                memcpy(&v, p + i + 8 * j, 8);
                sum[j] += v;
            }
        const double seconds = seconds_used() - start;
        for (int j = 0; j < 8; j++)
            __asm__ volatile("" ::"r"(sum[j]));
        if (seconds < best) best = seconds;
    }
    return (double)bytes / best * 1e-9;
}

typedef struct bench {
    const fr_kern *kern;
    fr_type type;
    uint8_t *weights;
    size_t weights_bytes;
    float *x, *y;
    void *act;
} bench;
enum { K = 2048, ROWS = 64 };

// Seconds of one product of `bytes` of weights with n rows: the least of several calls.
static double time_product(const bench *b, size_t bytes, int n, double at_least, double *macs,
                           double *read) {
    const fr_act_kind kind = fr_act_kind_of(b->type);
    const size_t panel = fr_repack_panel_bytes(b->type, K);
    const int panels = (int)(bytes / panel) ? (int)(bytes / panel) : 1;
    const fr_matrix w = {.type = b->type,
                         .m = 16 * panels,
                         .k = K,
                         .n_panels = panels,
                         .panel_bytes = panel,
                         .panels = b->weights};
    fr_act a = {.kind = kind, .n = n, .k = K, .x = b->x, .ldx = K};
    if (kind != FR_ACT_F32) {
        fr_act_place(&a, kind, n, K, b->act);
        b->kern->quantize(&a, b->x, K, 0, K / (kind == FR_ACT_Q32 ? 32 : 256));
    }
    *macs = (double)w.m * K * n;
    *read = (double)panel * panels;
    double best = 1e9, spent = 0;
    for (int rep = 0; rep < 3 || spent < at_least; rep++) {
        const double start = seconds_used();
        b->kern->matmul[b->type](b->y, w.m, &a, &w, 0, panels);
        const double seconds = seconds_used() - start;
        spent += seconds;
        if (seconds < best) best = seconds;
    }
    return best;
}

static void bench_type(bench *b, check *c, bool quick) {
    const size_t panel = fr_repack_panel_bytes(b->type, K),
                 row = (size_t)fr_qtype_row_bytes(b->type, K);
    uint8_t *rows = fr_alloc_zero(16 * row);
    if (!rows) return;
    check_random_rows(c, b->type, rows, 16, K, 0);
    fr_repack_panels(b->type, b->weights, rows, 16, K, 0, 1);
    for (size_t at = panel; at + panel <= b->weights_bytes; at += panel)
        memcpy(b->weights + at, b->weights, panel);
    printf("%-7s %-7s", b->kern->name, fr_qtype_name(b->type));
    for (int n = 1; n <= ROWS; n = n < 6 ? n + 1 : n == 6 ? 8 : n * 2) {
        double macs, read;
        const double l2 = time_product(b, (size_t)192 << 10, n, 0.02, &macs, &read);
        printf("  %d: %.1f", n, macs / l2 * 1e-9);
        if (quick) continue;
        const size_t bytes = n <= 8 ? b->weights_bytes : b->weights_bytes / 4;
        const double far = time_product(b, bytes, n, 0, &macs, &read);
        printf("/%.1f/%.1f", macs / far * 1e-9, read / far * 1e-9);
        fflush(stdout);
    }
    printf("\n");
    fr_free(rows);
}

void check_bench(const fr_kern *kern, int only_type, bool quick) {
    check c = {.random = 1, .kern = kern};
    bench b = {.kern = kern, .weights_bytes = quick ? (size_t)4 << 20 : (size_t)256 << 20};
    b.weights = fr_pages_alloc(b.weights_bytes + 16384);
    b.x = fr_alloc_array((size_t)ROWS * K, sizeof(float));
    b.y = fr_alloc_array((size_t)ROWS * (b.weights_bytes / 4 / (K / 4) + 16 * 64), sizeof(float));
    b.act = fr_alloc_zero(fr_act_bytes(FR_ACT_Q32, ROWS, K) + fr_act_bytes(FR_ACT_Q256, ROWS, K));
    if (b.weights && b.x && b.y && b.act) {
        for (int i = 0; i < ROWS * K; i++)
            b.x[i] = check_uniform(&c, -1.0f, 1.0f);
        memset(b.weights, 1, b.weights_bytes);
        print_probes();
        if (!quick) printf("read of 256 MB: %.1f GB/s\n", probe_read(b.weights, b.weights_bytes));
        printf("one thread; rows: GMAC/s in L2%s\n", quick ? "" : " / streaming / GB/s streaming");
        for (uint32_t id = 0; id < FR_TYPE_LIMIT; id++) {
            if (!kern->matmul[id] || (only_type >= 0 && only_type != (int)id)) continue;
            b.type = (fr_type)id;
            bench_type(&b, &c, quick);
        }
    } else {
        printf("checkkern: no memory for the benchmark\n");
    }
    fr_pages_free(b.weights, b.weights_bytes + 16384);
    fr_free(b.x);
    fr_free(b.y);
    fr_free(b.act);
}
