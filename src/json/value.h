// value.h — Jansson, with this project's rules for reading, and writing as Python does.
#ifndef FR_JSON_VALUE_H
#define FR_JSON_VALUE_H
#include "base/buffer.h"
#include "base/watch.h"
#include <jansson.h>

// Values that are read may be nested deeper than written ones, because unknown fields are skipped.
// Jansson reads, writes, copies and frees by recursion, up to 2048 levels, which a connection's
// stack cannot hold.
enum { FR_JSON_MAX_DEPTH = 100, FR_JSON_MAX_NESTING = 256, FR_JSON_MAX_BYTES = 64 << 20 };

// Parses one JSON document; a byte order mark may stand in front. Strings may hold NUL. A key that occurs
// twice has the last value, at the first one's place. Half of a surrogate pair is U+FFFD. Nesting deeper
// than FR_JSON_MAX_NESTING is refused. Integers of more than 18 digits become marked strings:
// fr_json_is_text is false for them, and fr_json_dump and fr_json_compact, but not Jansson's own writers,
// write them as numbers. The caller owns the reference. NULL: FR_EARG, FR_ENOMEM.
json_t *fr_json_load(const char *json, size_t bytes, fr_error *err);
// The same for a document that may be long. FR_EINTR by the watch.
json_t *fr_json_load_watched(const char *json, size_t bytes, const fr_watch *watch, fr_error *err);

// The same for a model's text: in strings line breaks, tabs and other control characters may stand as
// they are.
json_t *fr_json_load_lenient(const char *json, size_t bytes, fr_error *err);
// All of these in one.
json_t *fr_json_read(const char *json, size_t bytes, bool lenient, const fr_watch *watch,
                     fr_error *err);

// A JSON string of bytes that need not be UTF-8; invalid ones become U+FFFD. NULL: no memory.
json_t *fr_json_text(const char *text, size_t bytes);
json_t *fr_json_string(const char *text); // ... up to its NUL

// A copy of a list or an object, which shares its items. NULL: no memory. (Jansson's json_copy leaves
// items out then.)
json_t *fr_json_copy(const json_t *value);

// A string that is not such a number.
bool fr_json_is_text(const json_t *value);

// The digits of an integer of more than 18, its sign with them; NULL: an ordinary value.
const char *fr_json_digits(const json_t *value, size_t *bytes);

// Writes a text as a JSON string, in quotes and escaped as Python's json.dumps(ensure_ascii=False)
// does; invalid UTF-8 becomes U+FFFD. Returns the number of bytes. to: a buffer for them, or NULL.
size_t fr_json_quote(char *to, const char *text, size_t bytes);

// Appends `value` as Python's json.dumps(value, ensure_ascii=False) does: ", " and ": " between,
// keys in the order of the document, floats as repr. FR_EARG: nested deeper than FR_JSON_MAX_DEPTH.
// FR_ENOMEM. On failure *out holds a part.
fr_status fr_json_dump(fr_buffer *out, const json_t *value, fr_error *err);

// The same without blanks, for values a few levels deeper than read ones. Free it with free().
// NULL: no memory, or `value` is NULL.
char *fr_json_compact(const json_t *value);

// Whether that text has at most so many bytes. A longer one is not written to its end. False for NULL.
bool fr_json_fits(const json_t *value, size_t most);

// FR_EARG: nested deeper than FR_JSON_MAX_DEPTH.
fr_status fr_json_check_depth(const json_t *value, fr_error *err);

#endif
