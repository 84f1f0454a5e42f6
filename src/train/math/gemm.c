// gemm.c — the products of training through oneDNN.
//
// f32 goes through the library's sgemm, whose sums depend on shape, strides and number of threads
// and on nothing else. bf16 goes through its matmul primitive (f32 sums) on copies of the inputs;
// primitives of shapes that come back are kept by the library itself. A product cannot fail: where
// a bf16 one finds no memory, the f32 one does the work.
//
// oneDNN's generated code uses the stack pointer as one more register, and a signal's frame would
// be written to wherever it points, into the matrices or the heap. So no thread takes a signal
// while it is in there: threads of the team never do, the caller's are held back for the product.
#include "train/math/gemm.h"
#include "base/alloc.h"
#include "base/pool.h"
#include "base/signals.h"
#include "kern/half.h"
#include <assert.h>
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <string.h>

typedef struct half_copy { // a matrix in bf16, rows one after the other
    uint16_t *data;
    size_t room; // numbers
} half_copy;

struct fr_gemm {
    int threads;
    bool bf16;
    dnnl_engine_t engine; // NULL when f32
    dnnl_stream_t stream;
    half_copy a, b;
};

// One product c[m][n] (+)= op(a) op(b), op(a) [m][k], op(b) [k][n]. A transposed matrix lies in
// memory as [k][m] or [n][k]. All row-major.
typedef struct product {
    bool a_transposed, b_transposed, add;
    int m, n, k;
    const float *a, *b;
    int lda, ldb, ldc;
    float *c;
} product;

static bool has_bf16(void) {
    const unsigned isa = dnnl_get_effective_cpu_isa(), need = dnnl_cpu_isa_avx512_core_bf16;
    return (isa & need) == need; // the library's levels are sets of bits
}

static fr_status open_bf16(fr_gemm *g, fr_error *err) {
    if (dnnl_engine_create(&g->engine, dnnl_cpu, 0) ||
        dnnl_stream_create(&g->stream, g->engine, dnnl_stream_default_flags))
        return fr_fail(err, FR_ENOMEM, "train: oneDNN gives no engine");
    return FR_OK;
}

#ifdef _OPENMP
static _Thread_local int team; // threads that this one last made a team of
#endif

// oneDNN takes as many threads as OpenMP would, which is a setting of the calling thread. The team
// is made here, so that its threads block all signals without work of the caller.
static void use_threads(const fr_gemm *g) {
#ifdef _OPENMP
    if (team == g->threads && omp_get_max_threads() == team) return;
    omp_set_num_threads(team = g->threads);
#pragma omp parallel
    if (omp_get_thread_num()) fr_signals_hold(NULL);
#else
    (void)g;
#endif
}

fr_status fr_gemm_open(fr_gemm **out, int threads, fr_gemm_type type, fr_error *err) {
    if (type == FR_GEMM_BF16 && !has_bf16())
        return fr_fail(err, FR_EUNSUP, "train: this CPU has no bf16 products");
    fr_gemm *g = fr_alloc_zero(sizeof *g);
    if (!g) return fr_fail(err, FR_ENOMEM, "train: no memory for products");
    g->threads = threads > 0 ? threads : fr_pool_default_threads();
    g->bf16 = type == FR_GEMM_BF16 || (type == FR_GEMM_AUTO && has_bf16());
    const fr_status st = g->bf16 ? open_bf16(g, err) : FR_OK;
    if (st) {
        fr_gemm_close(g);
        return st;
    }
    use_threads(g);
    *out = g;
    return FR_OK;
}

void fr_gemm_close(fr_gemm *g) {
    if (!g) return;
    if (g->stream) dnnl_stream_destroy(g->stream);
    if (g->engine) dnnl_engine_destroy(g->engine);
    fr_free(g->a.data);
    fr_free(g->b.data);
    fr_free(g);
}

const char *fr_gemm_name(const fr_gemm *g) {
    return g->bf16 ? "bf16" : "f32";
}

int fr_gemm_threads(const fr_gemm *g) {
    return g->threads;
}

static void multiply_f32(const product *p) {
    sigset_t before;
    fr_signals_hold(&before);
    const dnnl_status_t st =
        dnnl_sgemm(p->a_transposed ? 'T' : 'N', p->b_transposed ? 'T' : 'N', p->m, p->n, p->k, 1.0f,
                   p->a, p->lda, p->b, p->ldb, p->add ? 1.0f : 0.0f, p->c, p->ldc);
    fr_signals_restore(&before);
    assert(st == dnnl_success); // it checks only sizes and strides
    (void)st;
}

// rows x cols numbers with stride ld, as bf16 without gaps. False: no memory.
static bool copy_half(half_copy *to, const float *from, int rows, int cols, int ld) {
    const size_t need = (size_t)rows * (size_t)cols;
    if (need > to->room) {
        fr_free(to->data);
        to->data = fr_alloc_array(need, sizeof *to->data);
        to->room = to->data ? need : 0;
    }
    if (!to->data) return false;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < rows; r++) {
        const float *x = from + (size_t)r * (size_t)ld;
        uint16_t *y = to->data + (size_t)r * (size_t)cols;
        for (int i = 0; i < cols; i++) { // finite numbers: round to nearest even
            const uint32_t u = fr_f32_bits(x[i]);
            y[i] = (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
        }
    }
    return true;
}

static bool describe(dnnl_memory_desc_t *md, dnnl_data_type_t type, int rows, int cols, int row,
                     int col) {
    return !dnnl_memory_desc_init_by_strides(md, 2, (dnnl_dims_t){rows, cols}, type,
                                             (dnnl_dims_t){row, col});
}

static dnnl_primitive_t matmul(const fr_gemm *g, const product *p, dnnl_memory_desc_t md[3]) {
    dnnl_matmul_desc_t desc;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t sum = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t made = NULL;
    // Copies have no gaps: a transposed matrix's rows are its columns.
    bool ok = describe(&md[0], dnnl_bf16, p->m, p->k, p->a_transposed ? 1 : p->k,
                       p->a_transposed ? p->m : 1) &&
              describe(&md[1], dnnl_bf16, p->k, p->n, p->b_transposed ? 1 : p->n,
                       p->b_transposed ? p->k : 1) &&
              describe(&md[2], dnnl_f32, p->m, p->n, p->ldc, 1) &&
              !dnnl_matmul_desc_init(&desc, &md[0], &md[1], NULL, &md[2]) &&
              !dnnl_primitive_attr_create(&attr);
    if (ok && p->add)
        ok = !dnnl_post_ops_create(&sum) && !dnnl_post_ops_append_sum(sum, 1.0f) &&
             !dnnl_primitive_attr_set_post_ops(attr, sum);
    if (ok && !dnnl_primitive_desc_create(&pd, &desc, attr, g->engine, NULL))
        ok = !dnnl_primitive_create(&made, pd);
    if (pd) dnnl_primitive_desc_destroy(pd);
    if (sum) dnnl_post_ops_destroy(sum);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return made;
}

static bool multiply_bf16(fr_gemm *g, const product *p) {
    if (!copy_half(&g->a, p->a, p->a_transposed ? p->k : p->m, p->a_transposed ? p->m : p->k,
                   p->lda) ||
        !copy_half(&g->b, p->b, p->b_transposed ? p->n : p->k, p->b_transposed ? p->k : p->n,
                   p->ldb))
        return false;
    dnnl_memory_desc_t md[3];
    dnnl_memory_t memory[3] = {NULL, NULL, NULL};
    void *data[3] = {g->a.data, g->b.data, p->c};
    dnnl_primitive_t run = matmul(g, p, md);
    bool ok = run != NULL;
    for (int i = 0; ok && i < 3; i++)
        ok = !dnnl_memory_create(&memory[i], &md[i], g->engine, data[i]);
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, memory[0]}, {DNNL_ARG_WEIGHTS, memory[1]}, {DNNL_ARG_DST, memory[2]}};
    sigset_t before;
    fr_signals_hold(&before);
    ok = ok && !dnnl_primitive_execute(run, g->stream, 3, args) && !dnnl_stream_wait(g->stream);
    fr_signals_restore(&before);
    for (int i = 0; i < 3; i++)
        if (memory[i]) dnnl_memory_destroy(memory[i]);
    if (run) dnnl_primitive_destroy(run);
    return ok;
}

static void multiply(fr_gemm *g, const product *p) {
    if (p->m <= 0 || p->n <= 0) return;
    if (p->k <= 0) { // an empty sum
        for (int i = 0; i < p->m && !p->add; i++)
            memset(p->c + (size_t)i * (size_t)p->ldc, 0, (size_t)p->n * sizeof(float));
        return;
    }
    use_threads(g);
    if (!g->bf16 || !multiply_bf16(g, p)) multiply_f32(p);
}

void fr_gemm_forward(fr_gemm *g, float *y, int ldy, const float *x, int ldx, const float *w, int n,
                     int m, int k, bool add) {
    multiply(g, &(product){.b_transposed = true,
                           .add = add,
                           .m = n,
                           .n = m,
                           .k = k,
                           .a = x,
                           .lda = ldx,
                           .b = w,
                           .ldb = k,
                           .c = y,
                           .ldc = ldy});
}

void fr_gemm_input(fr_gemm *g, float *dx, int ldx, const float *dy, int ldy, const float *w, int n,
                   int m, int k, bool add) {
    multiply(g, &(product){.add = add,
                           .m = n,
                           .n = k,
                           .k = m,
                           .a = dy,
                           .lda = ldy,
                           .b = w,
                           .ldb = k,
                           .c = dx,
                           .ldc = ldx});
}

void fr_gemm_weight(fr_gemm *g, float *dw, const float *dy, int ldy, const float *x, int ldx, int n,
                    int m, int k, bool add) {
    multiply(g, &(product){.a_transposed = true,
                           .add = add,
                           .m = m,
                           .n = k,
                           .k = n,
                           .a = dy,
                           .lda = ldy,
                           .b = x,
                           .ldb = ldx,
                           .c = dw,
                           .ldc = k});
}

void fr_gemm_tile(fr_gemm_op op, float *c, int ldc, const float *a, int lda, const float *b,
                  int ldb, int m, int n, int k, bool add) {
    multiply_f32(&(product){.a_transposed = op == FR_GEMM_TN,
                            .b_transposed = op == FR_GEMM_NT,
                            .add = add,
                            .m = m,
                            .n = n,
                            .k = k,
                            .a = a,
                            .lda = lda,
                            .b = b,
                            .ldb = ldb,
                            .c = c,
                            .ldc = ldc});
}
