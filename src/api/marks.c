#define _GNU_SOURCE
#include "api/marks.h"
#include <string.h>

fr_begins fr_begins_with(const char *text, size_t n, const char *mark) {
    const size_t length = strlen(mark), same = n < length ? n : length;
    if (same && memcmp(text, mark, same)) return FR_BEGINS_NOT;
    return same < length ? FR_BEGINS_MAYBE : FR_BEGINS;
}

size_t fr_find_mark(const char *text, size_t n, const char *mark) {
    const char *at = n ? memmem(text, n, mark, strlen(mark)) : NULL;
    return at ? (size_t)(at - text) : n;
}

size_t fr_begun_mark(const char *text, size_t n, const char *mark) {
    size_t k = strlen(mark) - 1;
    for (k = k < n ? k : n; k > 0; k--)
        if (fr_begins_with(text + n - k, k, mark) == FR_BEGINS_MAYBE) return k;
    return 0;
}

size_t fr_blank(const char *text, size_t n) {
    size_t i = 0;
    while (i < n && fr_is_blank(text[i]))
        i++;
    return i;
}

size_t fr_trimmed(const char *text, size_t n) {
    while (n && fr_is_blank(text[n - 1]))
        n--;
    return n;
}
