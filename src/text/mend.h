// mend.h — types of tokens that converters got wrong. Internal to text/.
#ifndef FR_TEXT_MEND_H
#define FR_TEXT_MEND_H
#include "text/vocab.h"

// Before the vocabulary is indexed: marks of turns become control tokens whatever a file calls them.
// So do ordinary tokens that are written like one, and those that the file gives a task. What a
// message says stays text.
void fr_mend_types(fr_vocab *v, const fr_special_ids *s);

// Whether a token is written "<|...|>", as nobody writes by chance.
bool fr_mend_is_mark(const fr_vocab *v, int32_t id);

// Byte-level BPE, where made[id] says which tokens merges make: an ordinary token in brackets that
// none makes was added to the vocabulary. It is read in what a template writes, and stays a token that
// is shown. Returns how many there are.
int fr_mend_added(fr_vocab *v, const bool *made);

#endif
