#include "base/clean.h"
#include <stdint.h>

// The length of the character at the beginning, and its code point; 0: no UTF-8.
static size_t read_character(const uint8_t *s, size_t bytes, uint32_t *point) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (!n || n > bytes || s[0] > 0xf4) return 0;
    *point = n == 1 ? s[0] : s[0] & (0x7f >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        *point = *point << 6 | (s[i] & 0x3f);
    }
    const bool is_surrogate = *point >= 0xd800 && *point < 0xe000;
    return *point < least[n] || *point > 0x10ffff || is_surrogate ? 0 : n;
}

static bool is_shown(uint32_t c) {
    if (c < 0x20 || (c >= 0x7f && c < 0xa0)) return false;
    if (c == 0x61c || c == 0x200e || c == 0x200f) return false; // marks of direction
    return !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

size_t fr_clean_next(const char *text, size_t bytes, bool *shown) {
    uint32_t point = 0;
    const size_t n = read_character((const uint8_t *)text, bytes, &point);
    *shown = n && is_shown(point);
    return n ? n : 1;
}

size_t fr_clean(char *to, const char *text, size_t bytes) {
    size_t n = 0;
    for (size_t i = 0; i < bytes;) {
        bool shown;
        const size_t end = i + fr_clean_next(text + i, bytes - i, &shown);
        if (!shown) to[n++] = '?';
        for (; shown && i < end; i++)
            to[n++] = text[i];
        i = end;
    }
    return n;
}
