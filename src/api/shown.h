// shown.h — marks of thinking and calls that are control tokens of a model. An answer's text has them,
// as the parser looks for them.
#ifndef FR_API_SHOWN_H
#define FR_API_SHOWN_H
#include "text/tokenizer.h"

typedef struct fr_api_shown { // {0} is empty
    fr_ids ids;               // each once, those of thinking first
    size_t n_thinking;
} fr_api_shown;

// They depend on the tokenizer alone: a server finds them once. *out is overwritten. It is only read
// from then on, by any number of threads. FR_ENOMEM leaves it empty.
fr_status fr_api_shown_open(fr_api_shown *out, const fr_tokenizer *t, fr_error *err);
void fr_api_shown_close(fr_api_shown *s); // {0} is fine

#endif
