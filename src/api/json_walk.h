// json_walk.h — reads JSON as a model writes it, byte by byte. It says as soon as possible that the text
// cannot become an object or a list. In strings control characters may stand as they are
// (fr_json_load_lenient). Private to src/api.
#ifndef FR_API_JSON_WALK_H
#define FR_API_JSON_WALK_H
#include "json/value.h"

typedef enum fr_walked { // after a byte
    FR_WALKED,
    FR_WALKED_WRONG, // no JSON begins so
    FR_WALKED_KEY,   // a key has ended
    FR_WALKED_BEGIN, // a value begins with it
    FR_WALKED_TEXT,  // a value that is a string has ended
    FR_WALKED_ALL,   // the whole has ended
} fr_walked;

typedef struct fr_json_walk { // {0} is at the beginning
    uint8_t state, left;      // left: digits of a \u that are still to come
    bool in_key;
    const char *word; // the rest of true, false or null
    int depth;
    uint64_t lists[FR_JSON_MAX_NESTING / 64]; // bit d: level d + 1 is a list
    size_t at;                                // bytes read
    size_t from;                              // where the last string begins
} fr_json_walk;

// Takes one byte. After FR_WALKED_WRONG and FR_WALKED_ALL nothing more may come.
fr_walked fr_json_walk_step(fr_json_walk *w, char byte);

#endif
