// scan.h — one look at a JSON text before Jansson parses it: how much memory its values will take, and
// what has to be written in another way so that Jansson reads it.
#ifndef FR_JSON_SCAN_H
#define FR_JSON_SCAN_H
#include "base/buffer.h"

typedef struct fr_json_scan {
    size_t bytes;  // of the mended text, which has no byte order mark
    size_t mended; // changes: long integers, halves of surrogate pairs, control characters
    size_t kept;   // bytes that its values take at most in Jansson
    size_t memory; // ... and with the lexer and the mended text, while it is parsed
    int depth;     // of the lists and objects inside one another
} fr_json_scan;

// Linear, and allocates nothing. The text need not be JSON: the memory that Jansson takes before it
// finds the error is bounded too. lenient: raw control characters in strings become escapes, as a line
// break becomes \n.
fr_json_scan fr_json_look(const char *json, size_t bytes, bool lenient);

// Appends the mended text. FR_ENOMEM.
fr_status fr_json_mend(const char *json, size_t bytes, bool lenient, fr_buffer *out, fr_error *err);

// The offset in the text itself of an offset in the mended text.
size_t fr_json_unmended(const char *json, size_t bytes, bool lenient, size_t place);

// An integer of more than 18 digits, which 64 bits may not hold, becomes a string: this mark, then
// its digits.
#define FR_JSON_INT_MARK "\0int:"
enum { FR_JSON_INT_MARK_BYTES = sizeof FR_JSON_INT_MARK - 1, FR_JSON_INT_DIGITS = 18 };

#endif
