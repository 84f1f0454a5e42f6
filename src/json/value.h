// value.h — Jansson, with this project's rules: what is read, and writing as Python does.
#ifndef FR_JSON_VALUE_H
#define FR_JSON_VALUE_H
#include "base/buffer.h"
#include "base/watch.h"
#include <jansson.h>

// What is read may be nested deeper than what is written: fields that nobody knows are skipped.
// Jansson, which reads, writes, copies and frees by recursion, takes 2048 levels, for which a
// connection's stack has no room.
enum { FR_JSON_MAX_DEPTH = 100, FR_JSON_MAX_NESTING = 256, FR_JSON_MAX_BYTES = 64 << 20 };

// Parses one JSON document, in front of which a byte order mark may stand. NUL in strings is
// allowed; of a key that is there twice the last value counts, at the first one's place; half of a
// surrogate pair is U+FFFD; nesting deeper than FR_JSON_MAX_NESTING is refused. Integers of more
// than 18 digits are kept as marked strings, for which fr_json_is_text is false and which
// fr_json_dump and fr_json_compact, not Jansson's own writers, write as numbers. The caller owns
// the reference. NULL on error, with the sentence: FR_EARG, FR_ENOMEM.
json_t *fr_json_load(const char *json, size_t bytes, fr_error *err);
// The same of a document that may be long; FR_EINTR: it is not wanted any more.
json_t *fr_json_load_watched(const char *json, size_t bytes, const fr_watch *watch, fr_error *err);

// The same of what a model has written: line breaks, tabs and other control characters stand in
// strings as they are, as if they were escaped.
json_t *fr_json_load_lenient(const char *json, size_t bytes, fr_error *err);
// Any of these.
json_t *fr_json_read(const char *json, size_t bytes, bool lenient, const fr_watch *watch,
                     fr_error *err);

// A JSON string of bytes that need not be UTF-8: what is none becomes U+FFFD. NULL: no memory.
json_t *fr_json_text(const char *text, size_t bytes);
json_t *fr_json_string(const char *text); // ... up to its NUL

// A copy of a list or an object, which shares its items. NULL: no memory. (Jansson's own leaves items out
// then.)
json_t *fr_json_copy(const json_t *value);

// A string that is not such a number.
bool fr_json_is_text(const json_t *value);

// The digits of an integer of more than 18, its sign with them; NULL: an ordinary value.
const char *fr_json_digits(const json_t *value, size_t *bytes);

// Writes a text as a JSON string, in quotes and escaped as Python's json.dumps(ensure_ascii=False)
// does; what is no UTF-8 becomes U+FFFD. The number of bytes; to: NULL, or room for these.
size_t fr_json_quote(char *to, const char *text, size_t bytes);

// Appends `value` as Python's json.dumps(value, ensure_ascii=False) does: ", " and ": " between,
// keys in the order of the document, floats as repr. FR_EARG: nested deeper than FR_JSON_MAX_DEPTH.
// FR_ENOMEM. On failure *out holds a part.
fr_status fr_json_dump(fr_buffer *out, const json_t *value, fr_error *err);

// The same without blanks, as deep as what is read and a few levels more. For free(); NULL: there
// was no memory, or `value` is NULL.
char *fr_json_compact(const json_t *value);

// Whether that is at most so many bytes; takes no longer where it is more. NULL is not.
bool fr_json_fits(const json_t *value, size_t most);

// FR_EARG: nested deeper than FR_JSON_MAX_DEPTH.
fr_status fr_json_check_depth(const json_t *value, fr_error *err);

#endif
