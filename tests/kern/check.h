// check.h — what the kernel checker (checkkern.c) gives its check functions, one file
// check_<what>.c each.
//
// A check function compares c->kern with c->ref over many cases. Every case is reported once by
// check_case; inputs and outputs come from check_buffer, so that a read or write behind an end is a
// crash and one in front or between rows is seen.
#ifndef CHECK_H
#define CHECK_H
#include "kern/kern.h"
#include <stddef.h>

typedef struct check {
    const fr_kern *ref, *kern; // the definition, and what is compared with it (may be the same)
    int only_type;             // an fr_type, or -1 for all
    bool quick;
    uint64_t random; // state of check_random
    int passed, failed, skipped;
} check;

typedef void check_fn(check *c);
check_fn check_matmul, check_quantize; // K-major products and their inputs
check_fn check_vector;                 // norm, rope, exp, ...
check_fn check_attend;                 // attention
void check_bench(const fr_kern *kern, int only_type, bool quick, int threads); // --bench

void check_case(check *c, bool ok, const char *format, ...) __attribute__((format(printf, 3, 4)));
uint32_t check_random(check *c);
int check_below(check *c, int n); // 0..n-1
float check_uniform(check *c, float low, float high);

// Memory that ends exactly at an unreadable page (so it is aligned only as `bytes` is), with 64
// guard bytes in front; all of it starts as POISON bytes (0xff: a float NaN). Released by
// check_release, all at once.
enum { CHECK_POISON = 0xff, CHECK_MAX_BUFFERS = 512 };
void *check_buffer(size_t bytes);
bool check_fronts_intact(void); // the guard bytes in front of all buffers
void check_release(void);

// Random GGUF rows of `type` with sane scales; mode 0: random codes; 1..CHECK_MODES-1: extreme
// codes and scales.
enum { CHECK_MODES = 6 };
void check_random_rows(check *c, fr_type type, uint8_t *rows, int m, int k, int mode);

#endif
