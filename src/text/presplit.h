// presplit.h — cuts text into the words inside which BPE merges.
//
// The families of models and their regular expressions: families.h. Internal to text/; the splitter
// is read-only once open, the state belongs to one caller.
#ifndef FR_TEXT_PRESPLIT_H
#define FR_TEXT_PRESPLIT_H
#include "base/status.h"

typedef struct fr_presplit fr_presplit;
typedef struct fr_presplit_state fr_presplit_state;

// FR_EUNSUP: no family of that name.
fr_status fr_presplit_open(fr_presplit **out, const char *name, size_t name_bytes, fr_error *err);
void fr_presplit_close(fr_presplit *p);
unsigned fr_presplit_is(const fr_presplit *p); // bits FR_WORDS_*

fr_status fr_presplit_state_open(fr_presplit_state **out, const fr_presplit *p, fr_error *err);
void fr_presplit_state_close(fr_presplit_state *s);

// Calls word() for every word of text[0, bytes), in order; together they are the text. The text is
// valid UTF-8. Fails only with the status of word().
typedef fr_status fr_word_fn(void *user, const char *word, size_t bytes, fr_error *err);
fr_status fr_presplit_run(const fr_presplit *p, fr_presplit_state *s, const char *text,
                          size_t bytes, fr_word_fn *word, void *user, fr_error *err);

#endif
