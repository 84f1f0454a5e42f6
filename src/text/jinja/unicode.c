#include "text/jinja/unicode.h"
#include "base/utf8.h"
#include <string.h>

typedef struct property {
    uint32_t first, last;
    int bits;
} property;
typedef struct change { // every step-th character from first to last becomes code + delta
    uint32_t first, last, step;
    int32_t delta;
} change;
typedef struct spelling {
    uint32_t code;
    const char *text;
} spelling;

#include "text/jinja/unicode.inc"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static int bits_of(const property *table, size_t n, uint32_t code) {
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (code > table[middle].last)
            low = middle + 1;
        else if (code < table[middle].first)
            high = middle;
        else
            return table[middle].bits;
    }
    return 0;
}

int fr_jinja_char_properties(uint32_t code) {
    return bits_of(properties, COUNT(properties), code);
}

bool fr_jinja_char_is_ignorable(uint32_t code) {
    return bits_of(ignorable, COUNT(ignorable), code);
}

bool fr_jinja_char_is_space(uint32_t c) {
    if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static uint32_t changed(const change *table, size_t n, uint32_t code) {
    for (size_t i = 0; i < n && table[i].first <= code; i++)
        if (code <= table[i].last && (code - table[i].first) % table[i].step == 0)
            return (uint32_t)((int32_t)code + table[i].delta);
    return code;
}

static const char *spelled(const spelling *table, size_t n, uint32_t code) {
    for (size_t i = 0; i < n; i++)
        if (table[i].code == code) return table[i].text;
    return NULL;
}

size_t fr_jinja_char_case(uint32_t code, char_case to, char *out) {
    const char *text = NULL;
    if (code == 0x130 && to == CASE_LOWER) text = "i\xCC\x87";
    if (to == CASE_TITLE) text = spelled(other_title, COUNT(other_title), code);
    if (!text && to != CASE_LOWER && code >= 0x80)
        text = spelled(long_upper, COUNT(long_upper), code);
    if (text) return strlen(strcpy(out, text));
    const uint32_t new = to == CASE_LOWER ? changed(to_lower, COUNT(to_lower), code)
                                          : changed(to_upper, COUNT(to_upper), code);
    return fr_jinja_char_write(new, out);
}

size_t fr_jinja_char_write(uint32_t code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(lead[more] | code >> (6 * more));
    for (int i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3F));
    return (size_t)more + 1;
}

size_t fr_jinja_char_read(const char *s, size_t n, uint32_t *code) {
    const fr_utf8_step step = fr_utf8_next((const uint8_t *)s, n);
    *code = step.kind == FR_UTF8_WHOLE ? step.code : UINT32_MAX;
    return (size_t)step.bytes;
}
