// distance.h — edit distance between words, to suggest the one that may be meant.
#ifndef FR_BASE_DISTANCE_H
#define FR_BASE_DISTANCE_H
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { FR_WORD_MOST = 63 };

static inline int fr_word_fold(char c, bool any_case) {
    return any_case ? tolower((uint8_t)c) : (uint8_t)c;
}

// The Levenshtein distance of a and b; `most` (up to FR_WORD_MOST) if one of them is longer than
// `most` bytes, as it is no typing error then. any_case: upper and lower case are the same.
static inline int fr_word_distance(const char *a, const char *b, int most, bool any_case) {
    const size_t na = strlen(a), nb = strlen(b);
    if (na > (size_t)most || nb > (size_t)most) return most;
    int row[FR_WORD_MOST + 1];
    for (size_t j = 0; j <= nb; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            const int above = row[j];
            int best =
                diagonal + (fr_word_fold(a[i - 1], any_case) != fr_word_fold(b[j - 1], any_case));
            if (above + 1 < best) best = above + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = above;
            row[j] = best;
        }
    }
    return row[nb];
}

#endif
