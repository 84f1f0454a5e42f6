// fim.h — the tokens with which a model fills in the middle of a text.
#ifndef FR_TEXT_FIM_H
#define FR_TEXT_FIM_H
#include "text/vocab.h"

// Sets those ids->fim_* that the file leaves out (-1), by the usual names of the tokens. Marks the
// tokens that separate files as ends.
void fr_fim_find(fr_vocab *v, fr_special_ids *ids);

#endif
