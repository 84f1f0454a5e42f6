// fim.h — the tokens by which a model fills in the middle of a text.
#ifndef FR_TEXT_FIM_H
#define FR_TEXT_FIM_H
#include "text/vocab.h"

// Finds, by the names that models give them, those of ids->fim_* that the file did not name (-1),
// and marks as ends the tokens that stand between files.
void fr_fim_find(fr_vocab *v, fr_special_ids *ids);

#endif
