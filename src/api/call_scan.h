// call_scan.h — whether what a model writes may become a call of a tool, byte by byte: so that what
// can be none is known at once, and nothing is read twice. Private to src/api.
//
// A call that is cut off by another one's mark is whole, as is one at the end of the text.
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
    size_t space, head;     // bytes in front of the mark; up to where it ends
    size_t at;              // bytes that were read
    size_t end, next;       // of one that is whole: where its text ends, and what stands after it
    uint8_t place;          // in call_scan.c
    uint8_t member;         // of the object at hand: which one's value it is
    bool has_key, doubled;  // it has one; its braces are
    bool list, closed;      // of objects; no more may follow
    bool named, has_values; // so is the object at hand; it has arguments
    bool after_args;        // Mistral's mark of arguments was there
    int n_objects;
    size_t from; // where the value or the word at hand begins
    char quote;
    fr_json_walk json;
} fr_call_scan;

// Of a text that begins with so many bytes of white space and the form's mark.
void fr_call_scan_begin(fr_call_scan *s, fr_api_form form, const json_t *offered, size_t space,
                        size_t mark);
// Reads on in the n bytes of the same text; `last`: there are no more.
fr_call_verdict fr_call_scan_read(fr_call_scan *s, const char *text, size_t n, bool last);

// Whether it may be the name of a function in a form where that stands outside of JSON.
bool fr_is_call_name(const char *text, size_t n);
// Other JSON has names too: without a mark only those of tools are calls.
bool fr_is_call_offered(fr_api_form form, const json_t *offered, const char *name);
bool fr_is_call_unsure(fr_api_form form); // JSON without a mark
// A value as Python writes it; NULL: neither JSON nor one of the few words that differ.
json_t *fr_python_value(const char *text, size_t n);

#endif
