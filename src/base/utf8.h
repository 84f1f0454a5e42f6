// utf8.h — one step through bytes that may or may not be UTF-8.
#ifndef FR_BASE_UTF8_H
#define FR_BASE_UTF8_H
#include <stddef.h>
#include <stdint.h>

typedef enum fr_utf8_kind {
    FR_UTF8_WHOLE, // a character
    FR_UTF8_CUT,   // the bytes end inside a character that is valid so far
    FR_UTF8_BAD,   // not UTF-8
} fr_utf8_kind;

typedef struct fr_utf8_step {
    fr_utf8_kind kind;
    uint32_t code; // of a whole character
    int bytes;     // 1..4: of the character, or of the maximal part that is replaced as one
} fr_utf8_step;

// Looks at p[0, n), n > 0. Overlong forms, surrogates and codes above U+10FFFF are bad at the byte
// that shows it.
static inline fr_utf8_step fr_utf8_next(const uint8_t *p, size_t n) {
    uint8_t a = p[0];
    if (a < 0x80) return (fr_utf8_step){FR_UTF8_WHOLE, a, 1};
    if (a < 0xC2 || a > 0xF4) return (fr_utf8_step){FR_UTF8_BAD, 0, 1};
    int need = a < 0xE0 ? 2 : a < 0xF0 ? 3 : 4;
    // Only the second byte has a narrower range, after these four first bytes (Unicode, table 3-7).
    uint8_t low = a == 0xE0 ? 0xA0 : a == 0xF0 ? 0x90 : 0x80;
    uint8_t high = a == 0xED ? 0x9F : a == 0xF4 ? 0x8F : 0xBF;
    uint32_t code = a & (0x7Fu >> need);
    for (int i = 1; i < need; i++) {
        if ((size_t)i == n) return (fr_utf8_step){FR_UTF8_CUT, 0, i};
        if (p[i] < low || p[i] > high) return (fr_utf8_step){FR_UTF8_BAD, 0, i};
        code = code << 6 | (p[i] & 0x3F);
        low = 0x80, high = 0xBF;
    }
    return (fr_utf8_step){FR_UTF8_WHOLE, code, need};
}

#endif
