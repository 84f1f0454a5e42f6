// mend.h — types of tokens that converters got wrong. Internal to text/.
#ifndef FR_TEXT_MEND_H
#define FR_TEXT_MEND_H
#include "text/vocab.h"

// Makes control tokens of marks of turns, whatever type the file gives them; of ordinary tokens that are
// written like such marks; and of those that the file gives a task. So they stay text in messages. Called
// before the vocabulary is indexed.
void fr_mend_types(fr_vocab *v, const fr_special_ids *s);

// Whether a token is written "<|...|>", as no text is by chance.
bool fr_mend_is_mark(const fr_vocab *v, int32_t id);

// Of byte-level BPE: marks ordinary tokens in brackets that no merge makes (made[id] false), so that they
// are found in what a template writes (FR_VOCAB_ADDED). They are still shown in answers. Returns their
// number.
int fr_mend_added(fr_vocab *v, const bool *made);

// Marks the control tokens that end an answer by their spelling. After the vocabulary is indexed.
void fr_mend_mark_ends(fr_vocab *v);

#endif
