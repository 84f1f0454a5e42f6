// dice.h — random numbers and random trees for the tests of src/tree. Every run draws the same.
#ifndef TESTS_TREE_DICE_H
#define TESTS_TREE_DICE_H
#include "tree/accuracy.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t dice;

static inline void dice_begin(uint64_t seed) {
    dice = seed;
    print_message("seed %llu\n", (unsigned long long)seed);
}

static inline uint64_t dice_bits(void) { // splitmix64
    uint64_t z = dice += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline int dice_below(int n) {
    return (int)(dice_bits() % (uint64_t)n);
}

static inline double dice_unit(void) { // [0, 1)
    return (double)(dice_bits() >> 11) * 0x1p-53;
}

// Accuracies of the shape that drafters have: ranks fall, and those of a depth sum to less than 1.
static inline void dice_accuracy(fr_accuracy *a, int depths) {
    memset(a, 0, sizeof *a);
    for (int k = 0; k < depths; k++) {
        double left = 1, share = 0.2 + 0.6 * dice_unit();
        a->tried[k] = 1000000;
        for (int r = 0; r < FR_ACCURACY_RANKS; r++, share *= 0.8) {
            a->right[k][r] = (uint64_t)(1e6 * left * share);
            left *= 1 - share;
        }
    }
}

#endif
