// spm.h — SentencePiece BPE: characters merged by score, bytes as a last resort. Internal to
// text/.
#ifndef FR_TEXT_SPM_H
#define FR_TEXT_SPM_H
#include "text/merge.h"
#include "text/vocab.h"

typedef struct fr_spm {
    const fr_vocab *vocab; // the tokenizer's
    int32_t unknown;       // id for characters without token and byte tokens; -1: left out
    uint64_t *pairs;       // bits by hash: two characters that are adjacent in some token
} fr_spm;

fr_status fr_spm_open(fr_spm *s, const fr_vocab *vocab, int32_t unknown,
                      fr_error *err); // FR_ENOMEM
void fr_spm_close(fr_spm *s);
// Appends the ids of text[0, bytes), which has plain spaces. Invalid UTF-8 is read byte by byte.
fr_status fr_spm_text(const fr_spm *s, fr_merger *m, const char *text, size_t bytes, fr_ids *ids,
                      fr_error *err);

#endif
