// attention.h — attention of a chain that is unrolled in training, for all bases at once.
//
// Step 1 gives every row of a context a key and a value (k0, v0; causal). Step s has one query per
// *base*, a chosen row of its context: the query sees k0 of the context up to its row, and the keys
// of its own base of steps 2..s. So a step costs what the first one costs, and the rows of the
// score matrix grow by one number a step: the diagonal of EAGLE-3 (arXiv 2503.01840, section 3.2;
// "training-time test").
//
// Heads share keys in groups (GQA). Scores are scaled by 1/sqrt(head_dim). Softmax is over all
// visible keys. Threads take (context, key head) pairs: sums do not depend on how many threads
// there are.
#ifndef FR_TRAIN_MATH_ATTENTION_H
#define FR_TRAIN_MATH_ATTENTION_H
#include "train/math/gemm.h"

enum { FR_ATTENTION_STEPS = 32 };

typedef struct fr_attention {
    int n_head, n_kv, head_dim;
    int threads, max_rows;
    float *scratch;
} fr_attention;

fr_status fr_attention_open(fr_attention *a, int n_head, int n_kv, int head_dim, int max_rows,
                            int threads, fr_error *err); // FR_ENOMEM
void fr_attention_close(fr_attention *a);
size_t fr_attention_bytes(const fr_attention *a);

// Where contexts and bases lie in a batch: context c has rows [row0[c], row0[c + 1]) and bases
// [base0[c], base0[c + 1]); row[b] is the row of base b, never falling in a context.
typedef struct fr_bases {
    int contexts, n;
    const int *row0, *base0, *row;
} fr_bases;

// What step `step` (1..) reads. Queries are [bases][n_head * head_dim], keys and values
// [rows][n_kv * head_dim] for k0 and v0, [bases][n_kv * head_dim] for k[j] and v[j], j in 2..step.
typedef struct fr_attention_step {
    const fr_bases *bases;
    int step;
    const float *q, *k0, *v0;
    float *const *k, *const *v;
    float *o;   // [bases][n_head * head_dim]
    float *lse; // [bases][n_head]: log of the sum of the exponentials of the scores
} fr_attention_step;

void fr_attention_forward(const fr_attention *a, const fr_attention_step *s);
// dq is overwritten; dk0, dv0 (NULL: the context is constant), dk[j], dv[j] are added to.
void fr_attention_backward(const fr_attention *a, const fr_attention_step *s, const float *d_o,
                           float *dq, float *dk0, float *dv0, float *const *dk, float *const *dv);

#endif
