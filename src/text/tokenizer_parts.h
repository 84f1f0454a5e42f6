// tokenizer_parts.h — what a tokenizer consists of. For tokenizer.c, encode.c and fewest.c alone.
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
    fr_error note; // an odd entry of the file that is no error; no text: none
    // What bounds the tokens of a text from below.
    bool has_all_bytes; // each byte has a token
    bool strips;        // some tokens take any amount of white space with them
};

// Sets these two, when all else is open.  [fewest.c]
void fr_fewest_open(fr_tokenizer *t);

#endif
