// fim.h — the tokens by which a model fills in the middle of a text.
#ifndef FR_TEXT_FIM_H
#define FR_TEXT_FIM_H
#include "text/vocab.h"

// Finds by their usual names the ids->fim_* that the file does not name (-1). Marks the tokens that
// separate files as ends.
void fr_fim_find(fr_vocab *v, fr_special_ids *ids);

#endif
