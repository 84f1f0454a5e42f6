// families.h — how each family of models cuts text into words. Internal to text/.
//
// A file names its family in tokenizer.ggml.pre. A family is a list of regular expressions: the
// first cuts the text into its matches and the gaps between them, the next cuts each of these, and
// so on.
#ifndef FR_TEXT_FAMILIES_H
#define FR_TEXT_FAMILIES_H
#include <stdbool.h>
#include <stddef.h>

enum { FR_WORDS_PATTERNS = 6 }; // at most

enum {                   // bits of fr_word_family.is
    FR_WORDS_WHOLE = 1,  // a word that is a token as it stands is not merged
    FR_WORDS_BOS = 2,    // prompts begin with bos, if the file does not state it
    FR_WORDS_CHARS = 4,  // merges join characters: tokens are not in the byte-level alphabet
    FR_WORDS_GEMMA4 = 8, // prompts begin with bos whatever the file states; newlines alone are
                         // a token where there is one, which no merge has to make
};

typedef struct fr_word_family {
    const char *names; // separated by spaces
    const char *patterns[FR_WORDS_PATTERNS + 1];
    unsigned is;
    int threes; // matches of patterns[threes - 1] are cut in threes from their end; 0: of none
} fr_word_family;

extern const fr_word_family fr_word_families[];
extern const size_t fr_n_word_families;

const fr_word_family *fr_word_family_find(const char *name, size_t bytes); // NULL: no such name

#endif
