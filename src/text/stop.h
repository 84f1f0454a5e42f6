// stop.h — stop strings across token borders.
//
// Text is pushed piece by piece. Bytes that cannot be part of a stop string any more are written at
// once; an end that may still become a stop string is held back. The text stops at the stop string
// that is complete first (the longest of those that end at the same byte). It is cut exactly before
// that string, however the text was divided into pieces. Only open can fail.
//
// Control tokens are not part of the text, but a stop string may name them: "<|im_start|>", or
// "\n<|im_start|>user". Such a string is compared with the text and the spellings of control
// tokens. All others are compared with the text alone, as if it had no control tokens.
#ifndef FR_TEXT_STOP_H
#define FR_TEXT_STOP_H
#include "text/tokenizer.h"

enum { FR_STOP_BYTES = 1 << 20 }; // of all strings together, at most
typedef struct fr_stop fr_stop;

// strings: NULL-terminated list, or NULL for none; copied. tokenizer: its control tokens may be
// named by them; NULL: none. FR_EARG: an empty string, too many bytes; FR_ENOMEM.
fr_status fr_stop_open(fr_stop **out, const char *const *strings, const fr_tokenizer *tokenizer,
                       fr_error *err);
void fr_stop_close(fr_stop *s); // NULL is fine
void fr_stop_reset(fr_stop *s); // back to the state after open

size_t fr_stop_room(const fr_stop *s, size_t n); // bytes that `out` needs for a push of n

// Takes n bytes of text and writes bytes that are certain to `out` (*out_bytes). True: a stop
// string is complete. Then the bytes written so far are the whole text, none are held, and later
// pushes write none and return true. out overlaps nothing.
bool fr_stop_push(fr_stop *s, const char *text, size_t n, char *out, size_t *out_bytes);
// The same for a control token with a spelling of n bytes, which are never written.
bool fr_stop_pass(fr_stop *s, const char *token, size_t n, char *out, size_t *out_bytes);
// Ends the text without a stop string: writes the held bytes and returns their number. out:
// fr_stop_room(s, 0).
size_t fr_stop_finish(fr_stop *s, char *out);
int fr_stop_found(const fr_stop *s);     // which of the strings was complete, from 0; -1: none yet
bool fr_stop_is_sound(const fr_stop *s); // no string has matched whole without ending the text

#endif
