// vocab_match.h — whether two models mean the same by a token id.
#ifndef FR_DRAFT_KIT_VOCAB_MATCH_H
#define FR_DRAFT_KIT_VOCAB_MATCH_H
#include "text/tokenizer.h"

// The ids that both vocabularies have, 0..n-1, must be the same tokens: the same bytes, and both
// text or both special. Fillers (of type unused) match anything; a vocabulary may be longer than
// the other. Returns n; or -1 with FR_EUNSUP in *err, naming the first id that differs.
int fr_vocab_match(const fr_tokenizer *target, const fr_tokenizer *draft, fr_error *err);

// A name for what the ids of a vocabulary mean, in hexadecimal digits: a hash of all tokens but the
// fillers. Vocabularies of the same name are the same.
enum { FR_VOCAB_NAME = 17 };
void fr_vocab_name(const fr_tokenizer *t, char hex[FR_VOCAB_NAME]);

#endif
