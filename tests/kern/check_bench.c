// check_bench.c — checkkern --bench: how fast the products are beside what cores and memory can do.
//
// Three things in turns, the least time of each, so that all meet the same moods of the machine:
//   read     a matrix of 192 MB (48 MB beyond 8 rows, where it is computation that counts)
//   compute  as many products of a piece of it that stays in L2
//   both     the product of the whole matrix, as a pass has it
// Where one hides the other, both takes the larger of the two.
#include "base/alloc.h"
#include "base/pool.h"
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

typedef enum job { READ, COMPUTE, BOTH, JOBS } job;
enum { K = 2048, ROWS = 64, WEIGHTS = 192 << 20, IN_L2 = 192 << 10, TURNS = 10 };

typedef struct bench {
    const fr_kern *kern;
    fr_pool *pool;
    uint8_t *weights;
    float *x, *y;
    void *act;
    // What threads do now.
    job job;
    fr_matrix w;
    fr_act a;
    int in_l2; // panels
    double seconds[FR_MAX_THREADS];
} bench;

static void read_lines(const uint8_t *p, size_t bytes) {
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes; i += 64) {
        uint64_t v;
        __builtin_prefetch(p + i + 8192, 0, 2);
        memcpy(&v, p + i, sizeof v);
        sum += v;
    }
    __asm__ volatile("" ::"r"(sum));
}

static void run_share(void *arg, int thread, int n_threads) {
    bench *b = arg;
    int begin, end;
    fr_pool_share(b->w.n_panels, thread, n_threads, &begin, &end);
    fr_matmul_fn *multiply = b->kern->matmul[b->w.type];
    const double start = seconds_used();
    if (b->job == READ)
        read_lines(b->weights + (size_t)begin * b->w.panel_bytes,
                   (size_t)(end - begin) * b->w.panel_bytes);
    else if (b->job == BOTH)
        multiply(b->y, b->w.m, &b->a, &b->w, begin, end);
    for (int p = begin; p < end && b->job == COMPUTE; p += b->in_l2)
        multiply(b->y, b->w.m, &b->a, &b->w, begin,
                 begin + (end - p < b->in_l2 ? end - p : b->in_l2));
    b->seconds[thread] = seconds_used() - start;
}

// Seconds of the slowest thread.
static double time_job(bench *b, job what) {
    double most = 0;
    b->job = what;
    fr_pool_run(b->pool, run_share, b);
    for (int i = 0; i < fr_pool_threads(b->pool); i++)
        if (b->seconds[i] > most) most = b->seconds[i];
    return most;
}

// A matrix of `bytes`, and n rows to multiply it with.
static void set_product(bench *b, fr_type type, size_t bytes, int n) {
    const fr_act_kind kind = fr_act_kind_of(type);
    const size_t panel = fr_repack_panel_bytes(type, K);
    const int panels = (int)(bytes / panel);
    b->in_l2 = IN_L2 / panel ? (int)(IN_L2 / panel) : 1;
    b->w = (fr_matrix){.type = type,
                       .m = 16 * panels,
                       .k = K,
                       .n_panels = panels,
                       .panel_bytes = panel,
                       .panels = b->weights};
    b->a = (fr_act){.kind = kind, .n = n, .k = K, .x = b->x, .ldx = K};
    if (kind == FR_ACT_F32) return;
    fr_act_place(&b->a, kind, n, K, b->act);
    b->kern->quantize(&b->a, b->x, K, 0, K / (kind == FR_ACT_Q32 ? 32 : 256));
}

static void bench_rows(bench *b, fr_type type, int n, bool quick) {
    set_product(b, type, quick || n > 8 ? WEIGHTS / 4 : WEIGHTS, n);
    double best[JOBS] = {1e9, 1e9, 1e9};
    for (int turn = 0; turn < (quick ? 1 : TURNS); turn++)
        for (job j = 0; j < JOBS; j++) {
            const double seconds = time_job(b, j);
            if (seconds < best[j]) best[j] = seconds;
        }
    const double macs = (double)b->w.m * K * n, bytes = (double)b->w.panel_bytes * b->w.n_panels,
                 larger = best[READ] > best[COMPUTE] ? best[READ] : best[COMPUTE];
    printf("%-7s %-7s %5d %7.1f %8.1f %7.1f %6.2f\n", b->kern->name, fr_qtype_name(type), n,
           bytes / best[READ] * 1e-9, macs / best[COMPUTE] * 1e-9, bytes / best[BOTH] * 1e-9,
           best[BOTH] / larger);
    fflush(stdout);
}

static void bench_type(bench *b, check *c, fr_type type, bool quick) {
    const size_t panel = fr_repack_panel_bytes(type, K), row = (size_t)fr_qtype_row_bytes(type, K);
    uint8_t *rows = fr_alloc_zero(16 * row);
    if (!rows) return;
    check_random_rows(c, type, rows, 16, K, 0);
    fr_repack_panels(type, b->weights, rows, 16, K, 0, 1);
    for (size_t at = panel; at + panel <= WEIGHTS; at += panel)
        memcpy(b->weights + at, b->weights, panel);
    for (int n = 1; n <= ROWS; n = n < 4 ? n + 1 : n < 8 ? n + 2 : n * 2)
        bench_rows(b, type, n, quick);
    fr_free(rows);
}

void check_bench(const fr_kern *kern, int only_type, bool quick, int threads) {
    enum { BEYOND = 16384 }; // what kernels ask for after the end
    fr_error err;
    check c = {.random = 1, .kern = kern};
    bench b = {.kern = kern};
    b.weights = fr_pages_alloc(WEIGHTS + BEYOND);
    b.x = fr_alloc_array((size_t)ROWS * K, sizeof(float));
    b.y = fr_alloc_array((size_t)ROWS * (WEIGHTS / 4 / (K / 4) + 16 * 64), sizeof(float));
    b.act = fr_alloc_zero(fr_act_bytes(FR_ACT_Q32, ROWS, K) + fr_act_bytes(FR_ACT_Q256, ROWS, K));
    if (b.weights && b.x && b.y && b.act && !fr_pool_open(&b.pool, threads, &err)) {
        for (int i = 0; i < ROWS * K; i++)
            b.x[i] = check_uniform(&c, -1.0f, 1.0f);
        print_probes();
        printf("threads: %d\nset     type     rows  read    compute  both    both over\n"
               "                      GB/s    GMAC/s   GB/s    the larger\n",
               threads);
        for (uint32_t id = 0; id < FR_TYPE_LIMIT; id++)
            if (kern->matmul[id] && (only_type < 0 || only_type == (int)id))
                bench_type(&b, &c, (fr_type)id, quick);
        fr_pool_close(b.pool);
    } else {
        printf("checkkern: no memory or threads for the benchmark\n");
    }
    fr_pages_free(b.weights, WEIGHTS + BEYOND);
    fr_free(b.x);
    fr_free(b.y);
    fr_free(b.act);
}
