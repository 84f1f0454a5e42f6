// presplit.h — cuts text into the words inside which byte-level BPE merges.
//
// Every family of models has its regular expressions; a file names its family in
// tokenizer.ggml.pre. A family is a list of expressions: the first cuts the text into its matches
// and the gaps between them, the next cuts each of these, and so on. Internal to text/; the
// splitter is read-only once open, the state belongs to one caller.
#ifndef FR_TEXT_PRESPLIT_H
#define FR_TEXT_PRESPLIT_H
#include "base/status.h"

typedef struct fr_presplit fr_presplit;
typedef struct fr_presplit_state fr_presplit_state;

// FR_EUNSUP: no family of that name.
fr_status fr_presplit_open(fr_presplit **out, const char *name, size_t name_bytes, fr_error *err);
void fr_presplit_close(fr_presplit *p);
bool fr_presplit_whole_words(
    const fr_presplit *p); // a word that is a token as it stands is not merged
bool fr_presplit_adds_bos(const fr_presplit *p); // if the file does not state it

fr_status fr_presplit_state_open(fr_presplit_state **out, const fr_presplit *p, fr_error *err);
void fr_presplit_state_close(fr_presplit_state *s);

// Calls word() for every word of text[0, bytes), in order; together they are the text. The text is
// valid UTF-8. Fails only with the status of word().
typedef fr_status fr_word_fn(void *user, const char *word, size_t bytes, fr_error *err);
fr_status fr_presplit_run(const fr_presplit *p, fr_presplit_state *s, const char *text,
                          size_t bytes, fr_word_fn *word, void *user, fr_error *err);

#endif
