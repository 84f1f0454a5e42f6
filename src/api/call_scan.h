// call_scan.h — reads text that may become a tool call, byte by byte. It reports as soon as
// possible that the text cannot become one. Private to src/api.
//
// The mark of another call, and the end of the text, end a call too.
#ifndef FR_API_CALL_SCAN_H
#define FR_API_CALL_SCAN_H
#include "api/json_walk.h"

typedef enum fr_api_form { // form of a call
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
    size_t space, head;     // bytes before the mark; the same and the mark
    size_t at;              // bytes read
    size_t end, next;       // whole call only: where its text ends, and where the rest begins
    uint8_t place;          // the state (call_scan.c)
    uint8_t member;         // the member of the current object whose value is read
    bool has_key, doubled;  // the current object has a key; its braces are doubled
    bool named, has_values; // it has the name of a tool; it has arguments
    bool list, closed;      // the objects are in a list; no more of them may follow
    bool after_args;        // Mistral's [ARGS] was read
    bool no_memory;         // memory ran out for a value: the verdict may be wrong
    int n_objects;          // whole objects so far
    size_t from;            // where the current value or word begins
    char quote;             // of the current Python string
    fr_json_walk json;
} fr_call_scan;

// Begins a call: the text begins with so many bytes of white space and of the form's mark.
void fr_call_scan_begin(fr_call_scan *s, fr_api_form form, const json_t *offered, size_t space,
                        size_t mark);
// Continues to read the same text, which now has n bytes. `last`: no more text follows.
fr_call_verdict fr_call_scan_read(fr_call_scan *s, const char *text, size_t n, bool last);

// Whether the text may be a function's name, in a form that has the name outside JSON.
bool fr_is_call_name(const char *text, size_t n);
// Whether the form has no mark, so that it cannot be told from other JSON.
bool fr_is_call_unsure(fr_api_form form);
// Whether an object with that name may be a call: in such a form only one with a tool's name.
bool fr_is_call_offered(fr_api_form form, const json_t *offered, const char *name);
// JSON as a model writes it (fr_json_load_lenient), and a Python value: JSON, True, False, None or
// '...' without escapes. NULL: something else, or *no_memory is set.  [calls.c]
json_t *fr_call_json(const char *text, size_t n, bool *no_memory);
json_t *fr_python_value(const char *text, size_t n, bool *no_memory);

#endif
