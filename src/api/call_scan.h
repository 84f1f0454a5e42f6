// call_scan.h — reads what may become a call of a tool, byte by byte. It says as soon as possible that
// the text cannot become one. Private to src/api.
//
// The mark of another call, and the end of the text, end a call too.
#ifndef FR_API_CALL_SCAN_H
#define FR_API_CALL_SCAN_H
#include "api/json_walk.h"

typedef enum fr_api_form { // of a call
    FR_API_MARKED,
    FR_API_ALONE,
    FR_API_BARE,
    FR_API_FENCED,
    FR_API_MISTRAL,
    FR_API_TAGGED,
    FR_API_HARMONY, // the arguments alone
} fr_api_form;

typedef enum fr_call_verdict { FR_CALL_MAYBE, FR_CALL_NOT, FR_CALL_WHOLE } fr_call_verdict;

typedef struct fr_call_scan {
    fr_api_form form;
    const json_t *offered;  // as in fr_api_answer
    size_t space, head;     // bytes in front of the mark; the same and the mark
    size_t at;              // bytes read
    size_t end, next;       // of a whole call: where its text ends, and where the rest begins
    uint8_t place;          // the state (call_scan.c)
    uint8_t member;         // of the object at hand: the one whose value is read
    bool has_key, doubled;  // the object at hand has a key; its braces are doubled
    bool named, has_values; // it has the name of a tool; it has arguments
    bool list, closed;      // the objects stand in a list; no more of them may follow
    bool after_args;        // Mistral's [ARGS] was there
    bool no_memory;         // ... for a value, so that the verdict may be wrong
    int n_objects;          // whole ones
    size_t from;            // where the value or the word at hand begins
    char quote;             // of Python's string at hand
    fr_json_walk json;
} fr_call_scan;

// The text begins with so many bytes of white space and of the form's mark.
void fr_call_scan_begin(fr_call_scan *s, fr_api_form form, const json_t *offered, size_t space,
                        size_t mark);
// Reads on in the same text, which has n bytes by now. `last`: there will be no more.
fr_call_verdict fr_call_scan_read(fr_call_scan *s, const char *text, size_t n, bool last);

// Whether it may be a function's name, in a form where that stands outside JSON.
bool fr_is_call_name(const char *text, size_t n);
// Whether the form has no mark, so that other JSON looks the same.
bool fr_is_call_unsure(fr_api_form form);
// Whether an object with that name may be a call: in such a form only one with a tool's name.
bool fr_is_call_offered(fr_api_form form, const json_t *offered, const char *name);
// JSON as a model writes it (fr_json_load_lenient), and a Python value: JSON, True, False, None or '...'
// without escapes. NULL: something else, or *no_memory is set.  [calls.c]
json_t *fr_call_json(const char *text, size_t n, bool *no_memory);
json_t *fr_python_value(const char *text, size_t n, bool *no_memory);

#endif
