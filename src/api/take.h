// take.h — takes calls while they are read a second time: the reader names what it finds. Private to
// src/api.
#ifndef FR_API_TAKE_H
#define FR_API_TAKE_H
#include "api/answer.h"

typedef struct fr_call_taker {
    fr_api_answer *answer;
    const char *name;
    size_t name_bytes;
    const char *key;
    size_t key_bytes;
    json_t *arguments; // owned: of the call that is read
    fr_buffer json;    // ... or their text
    bool failed;       // something was no call
} fr_call_taker;

// A call of that name begins; then follow the key of an argument, its text as it is between tags, and
// the end of the call. A value that its tag calls JSON and that is none counts as a value without a
// type. The call's arguments are those taken, or the JSON text.
void fr_take_name(fr_call_taker *t, const char *name, size_t n);
void fr_take_key(fr_call_taker *t, const char *key, size_t n);
void fr_take_value(fr_call_taker *t, const char *text, size_t n, fr_value_says says);
void fr_take_end(fr_call_taker *t);

// Reads the text of a whole call, s, again and keeps its calls: all of them or none.
bool fr_take_again(fr_api_answer *a, const fr_call_scan *s, const char *text, bool last);

// The value of an argument that is written as plain text. Its JSON type comes from the parameters of
// the tool of that name. NULL: *no_memory is set.  [typed.c]
json_t *fr_typed_value(const json_t *offered, const char *name, size_t name_bytes, const char *key,
                       size_t key_bytes, const char *text, size_t n, bool *no_memory);

#endif
