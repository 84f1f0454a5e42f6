// kern.h — the table of kernels: everything that a pass computes, once per instruction set.
//
// ref/ is the definition (plain C, slow, final); avx2/, avxvnni/, avx512/ and amx/ give its bits.
// An engine chooses when it opens (fr_kern_pick). docs/numerics.md states the order of every sum.
// Three rules hold for every entry:
//   1. a row's result does not depend on how many rows share the call, nor on the thread that
//   computes it;
//   2. integer sums are exact inside a quantisation group, float sums are one chain in a fixed
//   order;
//   3. no call allocates, fails, or touches memory outside what its arguments name.
// Buffers are caller-owned and 64-byte aligned; float rows have a stride counted in floats.
#ifndef FR_KERN_KERN_H
#define FR_KERN_KERN_H
#include "base/status.h"
#include "kern/exact_math.h"
#include "kern/qtype.h"

typedef enum fr_isa { // the better, the later
    FR_ISA_SCALAR,
    FR_ISA_AVX2,
    FR_ISA_AVX_VNNI, // 256-bit VNNI without AVX-512
    FR_ISA_AVX512,   // with VNNI
    FR_ISA_AMX,
    FR_ISA_COUNT
} fr_isa;

enum {
    FR_PANEL = 16,        // weight rows a panel; dword lane i of a 64-byte vector belongs to row i
    FR_GROUP_K = 128,     // activations of K-quants: one scale for so many values
    FR_MAX_ROWS = 448,    // rows of one pass
    FR_MAX_SCRATCH = 448, // scratch slots after the committed ones of one sequence
    FR_KV_BLOCK = 16,     // slots per block of the K cache and of the V cache
    FR_RUN = 64,          // logits a maximum (run_max)
};

// ---------------------------------------------------------------- weights
// A matrix w[m][k], repacked into ceil(m/16) panels (layouts: kern/repack.h). Rows past m are zero.
// Kernels read panels; a matrix left in its file has rows instead, and model/product.h packs a
// panel of them at a time.
typedef struct fr_matrix {
    fr_type type;
    int m, k;              // outputs, inputs
    int n_panels;          // ceil(m / 16)
    size_t panel_bytes;    // a multiple of 64
    const uint8_t *panels; // NULL: left in the file
    const uint8_t *rows;   // m GGUF rows, set when panels is NULL
} fr_matrix;

// ---------------------------------------------------------------- activations
fr_act_kind fr_act_kind_of(fr_type weight);

// n rows of k values for one matmul, k-block major, so that a tile of rows reads with constant
// strides. B = 32 or 256. Which members are set depends on kind.
typedef struct fr_act {
    fr_act_kind kind;
    int n, k;
    const float *x; // F32: row r at x + r*ldx
    int ldx;
    int8_t *q;    // [k/B][n][B]        codes, -127..127
    float *d;     // Q32: [k/32][n];    Q256: [k/256][n][2]
    int32_t *s;   // Q32: [k/32][n]     sum of the 32 codes
    float *ds;    // Q32: [k/32][n]     d * (float)s
    int16_t *s16; // Q256: [k/256][n][16]  sums of 16 codes each
    int16_t *s32; // Q256: [k/256][n][8]   sums of 32 codes each
} fr_act;
size_t fr_act_bytes(fr_act_kind kind, int n, int k); // memory for the arrays; 0 for F32
// Lays the arrays out in fr_act_bytes of memory, each 64-byte aligned.
void fr_act_place(fr_act *a, fr_act_kind kind, int n, int k, void *memory);
// Row `row` of `from`, quantised, becomes row `at` of `to`; both of one kind and k, not F32.
void fr_act_copy_row(const fr_act *to, int at, const fr_act *from, int row);
int fr_act_block(fr_act_kind kind); // values in a k-block; not of F32

// ---------------------------------------------------------------- attention
// Slots 0..committed-1 hold the committed context (slot = position); scratch slot committed+i
// belongs to a row of the tree in flight. Scratch slots are in topological order (a parent before
// its children).
typedef struct fr_view { // what one row sees
    int first;           // first committed slot inside the layer's window
    // Bit i: scratch slot committed+i is visible, which are the row's ancestors and itself.
    uint64_t scratch[FR_MAX_SCRATCH / 64];
} fr_view;

// How K or V of one KV head lies in memory: by blocks of 16 slots.
//   F16:  K [head_dim][16 slots] f16; V [16 slots][head_dim] f16.
//   Q8_0: int8 codes, one f16 scale for 32 values along head_dim (a multiple of 32).
//         K codes [head_dim / 4][16 slots][4], then scales [head_dim / 32][16 slots];
//         V codes [16 slots][head_dim], then scales [16 slots][head_dim / 32].
typedef enum fr_kv_form { FR_FORM_F16, FR_FORM_Q8_0, FR_KV_FORMS } fr_kv_form;
static inline size_t fr_kv_block_bytes(fr_kv_form form, int head_dim) { // of K, or of V
    return (size_t)head_dim * (form == FR_FORM_F16 ? 2 * FR_KV_BLOCK : FR_KV_BLOCK + 1);
}

typedef struct fr_attend { // one KV head, n_q query rows (any mix of pass rows and grouped heads)
    int n_q, head_dim;     // n_q: 1..FR_ATTEND_ROWS
    const float *const *q; // n_q pointers to head_dim floats
    float *const *o;       // n_q pointers to head_dim floats; overlap nothing
    const fr_view *const *view; // n_q pointers
    const void *k, *v;          // blocks, each of its form
    fr_kv_form k_form, v_form;
    int committed, scratch; // slots in use
    const int32_t *pos;     // logical position of scratch slot i, `scratch` of them
    float scale;
    float *work; // fr_attend_work_floats(committed + scratch, head_dim) floats of this thread
    // n_q scores more, one for each query row, whose key no slot has and whose value is 0: they count
    // in the maximum and in the denominator. NULL: none.
    const float *sink;
    // Above 0: each scaled score becomes cap * tanh(score / cap) before the maximum. 0: no cap.
    float cap;
} fr_attend;
enum { FR_ATTEND_ROWS = 48 }; // query rows of one call, which walk over K and V together
size_t fr_attend_work_floats(int slots, int head_dim);

// ---------------------------------------------------------------- the table
// y[r][16*p0 ..) = x[r][:] · w for panels [p0, p1), all a->n rows, ldy floats from one row of y to
// the next; outputs past w->m are not written. a is of the kind that w's type wants. y overlaps
// nothing.
typedef void fr_matmul_fn(float *y, int ldy, const fr_act *a, const fr_matrix *w, int p0, int p1);

// One row's K, or V, of one KV head, x[head_dim], to `slot` of the head's plane, rounded or
// quantised. x overlaps nothing.
typedef void fr_kv_store_fn(void *plane, int slot, int head_dim, const float *x);

typedef struct fr_kern {
    fr_isa isa;
    const char *name; // "scalar", "avx2", ...

    // Quantises k-blocks [b0, b1) of all a->n rows of x (row stride ldx) into a; kinds Q32 and
    // Q256.
    void (*quantize)(const fr_act *a, const float *x, int ldx, int b0, int b1);
    fr_matmul_fn *matmul[FR_TYPE_LIMIT]; // by weight type; NULL where the type does not exist

    // y = x / sqrt(mean of x*x + eps) * w. y may be x; w NULL: all ones.
    void (*rmsnorm)(float *y, const float *x, const float *w, int n, float eps);
    // y = (x - mean of x) / sqrt(mean of (x - mean)^2 + eps) * w + b. y may be x; w NULL: all ones;
    // b NULL: all zeros.
    void (*layernorm)(float *y, const float *x, const float *w, const float *b, int n, float eps);
    void (*add)(float *y, const float *x, int n); // y += x
    void (*scale)(float *y, float factor, int n); // y *= factor
    // y = fma(factor, x, y): one rounding
    void (*add_times)(float *y, float factor, const float *x, int n);
    // y = silu(gate) * up, and with the tanh form of GELU. y may be gate.
    void (*silu_mul)(float *y, const float *gate, const float *up, int n);
    void (*clamped_mul)(float *y, const float *gate, const float *up, int n); // fr_clamped
    void (*gelu_mul)(float *y, const float *gate, const float *up, int n);
    void (*gelu)(float *y, const float *x, int n); // gelu_mul with up = 1. y may be x.
    // x = cap * tanh(x / cap); cap is finite and above 0. NaN stays NaN.
    void (*softcap)(float *x, int n, float cap);
    // Rotates the first n_rot values of a head in place. cs: n_rot/2 pairs (cos, sin). neox: pairs
    // (i, i + n_rot/2), else (2i, 2i+1).
    void (*rope)(float *head, const float *cs, int n_rot, bool neox);
    fr_kv_store_fn *store_k[FR_KV_FORMS], *store_v[FR_KV_FORMS]; // by form
    void (*attend)(const fr_attend *job);                        // any form of K with any of V
    // Lowest index of the largest value; NaN counts as smallest.
    int (*argmax)(const float *x, int n);

    // For draws from logits (decode/). Sums are of fixed-point weights (fr_fixed), so they are
    // exact. most[c] = the largest of x[FR_RUN c ..), FR_RUN values or the rest; NaN is left out,
    // and -inf is the result if there is nothing else. If the largest is 0 its sign is free,
    // because the two zeros are equal: it is the only result that may differ between instruction
    // sets. No token depends on it, since the sampler compares maxima and subtracts them from each
    // other.
    void (*run_max)(float *most, const float *x, int n);
    // w[i] = exp((x[i] - best) * rate), 0 where x[i] is below `low` or NaN; gives their sum. best
    // is finite and at least every x[i]; rate is finite and above 0. w may be x.
    uint64_t (*weigh)(float *w, const float *x, int n, float best, float rate, float low);
    // Writes the i with low <= x[i] <= high to at[0..), ascending, and returns how many; `at` has
    // room for n, and what follows them there is lost. *above += the weights of the x[i] > high; w
    // NULL: each weighs 1.
    int (*split)(int32_t *at, const float *x, const float *w, int n, float low, float high,
                 uint64_t *above);
} fr_kern;

// The table for `isa`, or the best this CPU has for "auto"/NULL. FR_EARG: unknown name; FR_EUNSUP:
// "this CPU has no AMX".
fr_status fr_kern_pick(const fr_kern **out, const char *isa, fr_error *err);
// In this build and on this CPU. AMX: and the system lets this process use its tiles.
bool fr_isa_available(fr_isa isa);
const char *fr_isa_name(fr_isa isa);   // "scalar", "avx2", ...; never NULL
const fr_kern *fr_kern_of(fr_isa isa); // NULL when it is not available

extern const fr_kern fr_kern_scalar;
#ifdef FR_HAVE_X86
extern const fr_kern fr_kern_avx2, fr_kern_avxvnni, fr_kern_avx512, fr_kern_amx;
#endif

#endif
