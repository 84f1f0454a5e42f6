// stop.h — stop strings across token borders.
//
// Text goes in piece by piece; what cannot be part of a stop string any more comes out at once, an
// end that may still become one is held back. The text stops at the stop string that is complete
// first (the longest of those that end at the same byte) and is cut exactly before it, however the
// text was cut into pieces. Only open can fail.
//
// Control tokens are not part of the text, but a stop string may name them: "<|im_start|>", or
// "\n<|im_start|>user". Such a string is compared with the text and the spellings of control tokens. All
// others are compared with the text alone, as if no control token stood in it.
#ifndef FR_TEXT_STOP_H
#define FR_TEXT_STOP_H
#include "text/tokenizer.h"

enum { FR_STOP_BYTES = 1 << 20 }; // of all strings together, at most
typedef struct fr_stop fr_stop;

// strings: NULL-terminated list, or NULL for none; copied. tokenizer: whose control tokens they may
// name; NULL: none. FR_EARG: an empty string, too many bytes; FR_ENOMEM.
fr_status fr_stop_open(fr_stop **out, const char *const *strings, const fr_tokenizer *tokenizer,
                       fr_error *err);
void fr_stop_close(fr_stop *s); // NULL is fine
void fr_stop_reset(fr_stop *s); // back to the state after open

size_t fr_stop_room(const fr_stop *s, size_t n); // bytes that `out` needs for a push of n

// Takes n bytes of text and writes what is sure to `out` (*out_bytes). True: a stop string is
// complete; what came out so far is the whole text, nothing is held, and later pushes give nothing
// and true. out overlaps nothing.
bool fr_stop_push(fr_stop *s, const char *text, size_t n, char *out, size_t *out_bytes);
// The same for a control token, which is spelled by n bytes. They never come out.
bool fr_stop_pass(fr_stop *s, const char *token, size_t n, char *out, size_t *out_bytes);
// The end without a stop string: writes what was held and returns its bytes. out: fr_stop_room(s,
// 0).
size_t fr_stop_finish(fr_stop *s, char *out);
int fr_stop_found(const fr_stop *s);     // which of the strings was complete, from 0; -1: none yet
bool fr_stop_is_sound(const fr_stop *s); // no string has matched whole and still waits

#endif
