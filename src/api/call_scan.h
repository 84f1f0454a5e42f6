// call_scan.h — reads text that may become a tool call, byte by byte. It reports as soon as
// possible that the text cannot become one. Private to src/api.
//
// The mark of another call, and the end of the text, end a call too.
#ifndef FR_API_CALL_SCAN_H
#define FR_API_CALL_SCAN_H
#include "api/forms.h"
#include "api/literal.h"

typedef enum fr_call_verdict { FR_CALL_MAYBE, FR_CALL_NOT, FR_CALL_WHOLE } fr_call_verdict;

typedef enum fr_value_says { FR_SAYS_NOTHING, FR_SAYS_TEXT, FR_SAYS_JSON } fr_value_says;

struct fr_call_taker; // take.h

typedef struct fr_call_scan {
    const fr_call_form *form;
    const json_t *offered;       // as in fr_api_answer
    struct fr_call_taker *taker; // gets what is read, which is known to be a whole call; NULL: none
    size_t space, head;          // bytes before the mark; the same and the mark
    size_t body;                 // where the body begins: there, or after a further mark
    size_t at;                   // bytes read
    size_t steps;                // bytes that were looked at, again and again ones too
    size_t quoted;               // the end of the last string, or value between tags, that was read
                                 // whole: what looks like a call before it is text
    size_t end, next;            // whole call only: where its text ends, and where the rest begins
    int kind;                    // FR_BODY_*, of Python's; 0: it is not decided
    uint8_t place;               // the state (scan_parts.h)
    uint8_t member;              // the member of the current object whose value is read
    bool has_key, doubled;       // the current object has a key; its braces are doubled
    bool named, has_values;      // it has the name of a tool; it has arguments
    bool list, closed;           // the objects are in a list; no more of them may follow
    bool after_args;             // Mistral's [ARGS] was read
    bool cut;                    // no call, as the text ends within it: what looks like a call
                                 // there is a part of its values
    bool no_memory;              // memory ran out for a value: the verdict may be wrong
    int n_objects;               // whole objects so far
    size_t from;                 // where the current value, name or mark begins
    size_t value, value_to;      // of the current argument between tags
    fr_value_says says;          // ... what it is
    fr_json_walk json;
    fr_literal_walk literal;
} fr_call_scan;

// Begins a call: the text begins with so many bytes of white space, and with the form's mark or
// (around) the one that is around its calls.
void fr_call_scan_begin(fr_call_scan *s, const fr_call_form *form, const json_t *offered,
                        size_t space, size_t mark, bool around);
// Continues to read the same text, which now has n bytes. `last`: no more text follows.
fr_call_verdict fr_call_scan_read(fr_call_scan *s, const char *text, size_t n, bool last);

// Whether the text may be a function's name, in a form that has the name outside JSON.
bool fr_is_call_name(const char *text, size_t n);
// Whether an object with that name may be a call: in a form without a mark only one with a tool's
// name.
bool fr_is_call_offered(const fr_call_form *form, const json_t *offered, const char *name);
// The name in a head (FR_BODY_HEADED). Returns its bytes; 0: it is none.
size_t fr_call_head(const fr_call_form *form, const char *text, size_t n, const char **name);
// JSON as a model writes it (fr_json_load_lenient). NULL: something else, or *no_memory is set.
// [calls.c]
json_t *fr_call_json(const char *text, size_t n, bool *no_memory);

#endif
