// repeated.h — what OpenAI's responses repeat of the body that asked for them, within a bound.
#ifndef FR_SERVE_REPEATED_H
#define FR_SERVE_REPEATED_H
#include "json/value.h"

enum { FR_REPEATED_BYTES = 256 << 10 }; // of all members together

// Sets these members of a response as the body has them, and where it does not, or they do not fit
// beside those before them, to what stands there where nothing was asked.
void fr_repeat_asked(const json_t *body, json_t *doc);

#endif
