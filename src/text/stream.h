// stream.h — bytes of tokens in, whole UTF-8 characters out.
//
// A token may end in the middle of a character. The stream holds such a beginning back (at most 3
// bytes) until the next bytes complete it or show that it is not one. Bytes that are not UTF-8
// become U+FFFD, one for every maximal part of a character (Unicode §3.9, as Python's
// errors="replace"). So the output does not depend on how the input was cut. Nothing here allocates
// or fails.
#ifndef FR_TEXT_STREAM_H
#define FR_TEXT_STREAM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fr_stream { // {0} is an empty stream
    uint8_t held[4];       // the beginning of one character: valid so far, not complete
    int n_held;            // 0..3
} fr_stream;

#define FR_STREAM_ROOM(n) (3 * ((size_t)(n) + 3)) // bytes that `out` needs for a push of n

// Takes n bytes; writes all characters that are certain to `out` and returns their bytes. out
// overlaps nothing.
size_t fr_stream_push(fr_stream *s, const void *bytes, size_t n, char *out);
// Ends the stream: a held beginning becomes one U+FFFD. Returns 0 or 3 bytes; the stream is empty
// then.
size_t fr_stream_finish(fr_stream *s, char out[static 3]);
bool fr_stream_is_sound(const fr_stream *s); // the held bytes are the beginning of one character

// The same for a whole text: writes at most 3n bytes. Returns their number.
size_t fr_utf8_repair(const void *bytes, size_t n, char *out);

#endif
