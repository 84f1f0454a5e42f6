// json_walk.h — reads JSON as a model writes it, byte by byte. It reports as soon as possible
// that the text cannot become an object or a list. Strings may contain control characters
// (fr_json_load_lenient). Private to src/api.
#ifndef FR_API_JSON_WALK_H
#define FR_API_JSON_WALK_H
#include "json/value.h"

typedef enum fr_walked { // after a byte
    FR_WALKED,
    FR_WALKED_WRONG, // no JSON begins with these bytes
    FR_WALKED_KEY,   // a key has ended
    FR_WALKED_BEGIN, // a value begins with this byte
    FR_WALKED_TEXT,  // a string value has ended
    FR_WALKED_ALL,   // the whole object or list has ended
} fr_walked;

typedef struct fr_json_walk { // {0} is at the beginning
    uint8_t state, left;      // left: missing digits of a \u
    bool in_key;
    bool spoiled;     // the string has a wrong escape; FR_WALKED_WRONG comes at its end
    const char *word; // the rest of true, false or null
    int depth;
    uint64_t lists[FR_JSON_MAX_NESTING / 64]; // bit d: level d + 1 is a list
    size_t at;                                // bytes read
    size_t from;                              // where the last string begins
} fr_json_walk;

// Takes one byte. Do not call it again after FR_WALKED_WRONG or FR_WALKED_ALL.
fr_walked fr_json_walk_step(fr_json_walk *w, char byte);

#endif
