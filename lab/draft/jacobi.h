// jacobi.h — Jacobi decoding: a chain of guessed tokens, which each pass replaces by its own
// predictions. [Song et al. 2021; Santilli et al. 2023, Algorithm 2; Fu et al. 2024, §2]
//
// Guess k (1..width) is of the token k places after the root. With y the guesses of one pass after
// the text x and f the likeliest next token, the next ones are y'_k = f(x, y_1 .. y_{k-1}): all at
// once, by one pass over the chain. Guesses at the front that were right are text by then. So the
// chain moves on with the root: its first guess is always the one after the root, and tokens of the
// text, picked at random, enter at its end. A guess whose row was not in the pass stays as it was.
#ifndef LAB_DRAFT_JACOBI_H
#define LAB_DRAFT_JACOBI_H
#include <stdbool.h>
#include <stdint.h>

enum { FR_JACOBI_WIDTH = 63, FR_JACOBI_AGES = 4 };

typedef struct fr_jacobi {
    int width;                       // 1..FR_JACOBI_WIDTH
    uint64_t filled;                 // guesses picked at random so far
    int32_t id[FR_JACOBI_WIDTH + 1]; // [k]; [0] is not used
    // Passes in a row that gave this token, up to FR_JACOBI_AGES - 1; 0: picked at random.
    uint8_t age[FR_JACOBI_WIDTH + 1];
} fr_jacobi;

bool fr_jacobi_is_sound(const fr_jacobi *j); // width, ages and guesses are within their bounds
void fr_jacobi_begin(fr_jacobi *j, const int32_t *ids, int n_ids); // width is set
// A pass took the text `taken` tokens on, to ids[0..n_ids). next[k], k in 1..width, is the
// likeliest token after guess k, or -1 where it had no row.
void fr_jacobi_move(fr_jacobi *j, int taken, const int32_t *next, const int32_t *ids, int n_ids);

#endif
