// tokenizer_parts.h — the members of a tokenizer. For tokenizer.c, encode.c and fewest.c only.
#ifndef FR_TEXT_TOKENIZER_PARTS_H
#define FR_TEXT_TOKENIZER_PARTS_H
#include "text/bpe.h"
#include "text/presplit.h"
#include "text/spm.h"
#include "text/tokenizer.h"

struct fr_tokenizer {
    fr_vocab vocab;
    fr_special_ids special;
    fr_presplit *presplit; // BPE only, of bytes or characters
    fr_bpe bpe;
    fr_spm spm;    // SPM only
    fr_error note; // a wrong entry of the file that was left out; no text: none
    // Used by the lower bound of a text's tokens.
    bool has_all_bytes; // each byte has a token
    bool strips;        // some tokens take any amount of white space with them
};

// Sets has_all_bytes and strips, after all other members are open.  [fewest.c]
void fr_fewest_open(fr_tokenizer *t);

#endif
