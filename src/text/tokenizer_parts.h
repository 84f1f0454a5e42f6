// tokenizer_parts.h — what a tokenizer consists of. For tokenizer.c, encode.c and fewest.c
// alone.
#ifndef FR_TEXT_TOKENIZER_PARTS_H
#define FR_TEXT_TOKENIZER_PARTS_H
#include "text/bpe.h"
#include "text/presplit.h"
#include "text/spm.h"
#include "text/tokenizer.h"

struct fr_tokenizer {
    fr_vocab vocab;
    fr_special_ids special;
    fr_presplit *presplit; // BPE only
    fr_bpe bpe;
    fr_spm spm;    // SPM only
    fr_error note; // what was strange about the file and is no error; no text: nothing
};

#endif
