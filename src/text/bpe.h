// bpe.h — BPE of one word, of its bytes or of its characters. Internal to text/.
#ifndef FR_TEXT_BPE_H
#define FR_TEXT_BPE_H
#include "text/merge.h"
#include "text/vocab.h"

typedef struct fr_bpe_merge {
    int32_t left, right; // left -1: an empty slot
    uint32_t rank;
    int32_t id;
} fr_bpe_merge;

typedef struct fr_bpe {
    const fr_vocab *vocab; // the tokenizer's
    fr_bpe_merge *merges;  // open addressing by (left, right)
    size_t mask;
    bool whole_words; // a word that is a token is not merged
    bool whole_lines; // nor is a word of newlines
} fr_bpe;

// Reads tokenizer.ggml.merges. FR_EDATA: an entry is not two tokens whose union is a token. An
// entry that would make a control token is skipped.
fr_status fr_bpe_open(fr_bpe *b, const fr_gguf *file, const fr_vocab *vocab, fr_error *err);
void fr_bpe_close(fr_bpe *b);
void fr_bpe_made(const fr_bpe *b, bool *made); // made[id] = true for each token that merges make
// Appends the ids of one word, which is whole characters. Bytes without a token are left out.
fr_status fr_bpe_word(const fr_bpe *b, fr_merger *m, const char *word, size_t bytes, fr_ids *ids,
                      fr_error *err);

#endif
