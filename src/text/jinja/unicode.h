// unicode.h — characters as Python's strings see them. Private to text/jinja/.
#ifndef FR_TEXT_JINJA_UNICODE_H
#define FR_TEXT_JINJA_UNICODE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { // bits of fr_jinja_char_properties
    CHAR_PRINTS = 1,
    CHAR_ALPHA = 2,
    CHAR_DECIMAL = 4,
    CHAR_DIGIT = 8,
    CHAR_NUMERIC = 16,
    CHAR_LOWER = 32,
    CHAR_UPPER = 64,
};
int fr_jinja_char_properties(uint32_t code);
bool fr_jinja_char_is_space(uint32_t code);

typedef enum char_case { CASE_UPPER, CASE_LOWER, CASE_TITLE } char_case;
enum { CHAR_CASE_MAX = 16 };
// Writes the character in the given case as UTF-8 and returns its bytes (at most CHAR_CASE_MAX).
size_t fr_jinja_char_case(uint32_t code, char_case to, char *out);
// Whether final sigma looks past this character.
bool fr_jinja_char_is_ignorable(uint32_t code);

size_t fr_jinja_char_write(uint32_t code, char *out); // UTF-8; at most 4 bytes

// Reads the first character of s[0, n), n > 0. Returns its bytes and sets *code. Bytes that are not
// UTF-8 are characters without properties (code UINT32_MAX).
size_t fr_jinja_char_read(const char *s, size_t n, uint32_t *code);

#endif
