// repeated.h — the fields of a request's body that OpenAI's responses repeat, up to a limit.
#ifndef FR_SERVE_REPEATED_H
#define FR_SERVE_REPEATED_H
#include "json/value.h"

enum { FR_REPEATED_BYTES = 256 << 10 }; // of all members together

// Sets these members of a response to the values in the body. A member that the body lacks, or that
// does not fit after those before it, gets its default.
void fr_repeat_asked(const json_t *body, json_t *doc);

#endif
