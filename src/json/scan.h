// scan.h — one look at a JSON text before Jansson parses it: what its values will take, and what
// has to be written otherwise so that Jansson takes it.
#ifndef FR_JSON_SCAN_H
#define FR_JSON_SCAN_H
#include "base/buffer.h"

typedef struct fr_json_scan {
    size_t bytes;  // of the text as it is mended; it begins behind a byte order mark
    size_t mended; // places that differ from the text: long integers, halves of surrogate pairs
    size_t kept;   // bytes that its values take at most in Jansson
    size_t memory; // ... and the lexer and the mended text beside them while it is parsed
    int depth;     // how deep its lists and objects lie inside one another
} fr_json_scan;

// Linear, and takes no memory. The text need not be JSON: what Jansson takes of it before it finds
// the fault is bounded too. lenient: raw control characters in strings are mended, as a line break
// that stands for \n.
fr_json_scan fr_json_look(const char *json, size_t bytes, bool lenient);

// Appends the mended text. FR_ENOMEM.
fr_status fr_json_mend(const char *json, size_t bytes, bool lenient, fr_buffer *out, fr_error *err);

// Where a place of the mended text is in the text itself; both count from its begin.
size_t fr_json_unmended(const char *json, size_t bytes, bool lenient, size_t place);

// An integer of more than 18 digits, which 64 bits may not hold, becomes a string: this mark, then
// its digits.
#define FR_JSON_INT_MARK "\0int:"
enum { FR_JSON_INT_MARK_BYTES = sizeof FR_JSON_INT_MARK - 1, FR_JSON_INT_DIGITS = 18 };

#endif
