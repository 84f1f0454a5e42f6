// literal.h — reads a value as programs write it, byte by byte, and can write it as JSON. It reports
// as soon as possible that the text cannot become one. Private to src/api.
#ifndef FR_API_LITERAL_H
#define FR_API_LITERAL_H
#include "api/json_walk.h"

enum {                          // what a value may have besides JSON's
    FR_LITERAL_PYTHON = 1,      // '...', True, False, None, and KEY=VALUE in round brackets
    FR_LITERAL_APOSTROPHES = 2, // a ' ends a string only in front of what may follow one
    FR_LITERAL_QUOTES = 4,      // strings between MARK_QUOTE, without escapes; keys without quotes
    FR_LITERAL_BARE = 8,        // strings without quotes, up to a comma or a bracket
};

typedef struct fr_literal_walk { // {.style} is at the beginning
    unsigned style;
    fr_buffer *out; // the JSON; NULL: it is not wanted
    bool no_memory; // for it
    uint8_t state;
    char quote;                      // of the current string; '<': MARK_QUOTE
    bool key, comma;                 // the string is a key; a comma is due
    bool ended;                      // the last byte showed the end of a string
    bool number;                     // the word has the bytes of a number
    char word[8];                    // its beginning
    size_t n;                        // bytes of the word, the key, or the current mark
    size_t from;                     // in *out: where the word or a string's end is
    int depth;                       // of the brackets
    char close[FR_JSON_MAX_NESTING]; // theirs
} fr_literal_walk;

// Takes one byte: of an opening bracket, and so on to the closing one, which gives FR_WALKED_ALL. Do
// not call it again after that or FR_WALKED_WRONG.
fr_walked fr_literal_step(fr_literal_walk *w, char byte);
// The JSON of a whole value. NULL: it is none, or *no_memory is set.
json_t *fr_literal_json(unsigned style, const char *text, size_t n, bool *no_memory);

#endif
