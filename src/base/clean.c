#include "base/clean.h"
#include "base/utf8.h"
#include <string.h>

static bool is_shown(uint32_t c) {
    const bool is_control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    const bool separates_lines = c == 0x2028 || c == 0x2029;
    const bool is_direction = c == 0x61c || c == 0x200e || c == 0x200f ||
                              (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    return !is_control && !separates_lines && !is_direction;
}

size_t fr_clean_next(const char *text, size_t bytes, bool *shown) {
    const fr_utf8_step c = fr_utf8_next((const uint8_t *)text, bytes);
    *shown = c.kind == FR_UTF8_WHOLE && is_shown(c.code);
    return c.kind == FR_UTF8_WHOLE ? (size_t)c.bytes : 1;
}

size_t fr_clean(char *to, const char *text, size_t bytes) {
    size_t n = 0;
    for (size_t i = 0; i < bytes;) {
        bool shown;
        const size_t piece = fr_clean_next(text + i, bytes - i, &shown);
        if (shown)
            memmove(to + n, text + i, piece);
        else
            to[n] = '?';
        n += shown ? piece : 1;
        i += piece;
    }
    return n;
}
