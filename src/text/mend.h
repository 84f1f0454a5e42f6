// mend.h — corrects types of tokens that converters got wrong. Internal to text/.
#ifndef FR_TEXT_MEND_H
#define FR_TEXT_MEND_H
#include "text/vocab.h"

// Makes these tokens control tokens, so that they stay text in messages: marks of turns, whatever
// their type in the file; ordinary tokens that are spelled like such marks; tokens to which the
// file gives a task. Call it before the vocabulary is indexed.
void fr_mend_types(fr_vocab *v, const fr_special_ids *s);

// Whether a token is spelled "<|...|>", which no text is by chance.
bool fr_mend_is_mark(const fr_vocab *v, int32_t id);

// BPE only: flags ordinary tokens in brackets that no merge makes (made[id] false) as
// FR_VOCAB_ADDED, so that they are matched in a template's own text. Answers still show them.
// Returns their number.
int fr_mend_added(fr_vocab *v, const bool *made);

// Marks, by their spelling, the control tokens that end an answer, and takes the mark from those that
// end only a part of one. Call it after the vocabulary is indexed and the file's ends are marked.
void fr_mend_mark_ends(fr_vocab *v);

#endif
