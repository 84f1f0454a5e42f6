// answer_parts.h — what the files that take answers apart share. Private to src/api.
#ifndef FR_API_ANSWER_PARTS_H
#define FR_API_ANSWER_PARTS_H
#include "api/answer.h"

// What is held.
static inline const char *fr_answer_held(const fr_api_answer *a) {
    return a->held.data + a->done;
}
static inline size_t fr_answer_left(const fr_api_answer *a) {
    return a->held.n - a->done;
}

// Moves the first n held bytes to where they belong, or drops them.  [answer.c]
fr_status fr_answer_move(fr_api_answer *a, fr_buffer *to, size_t n, fr_error *err);
void fr_answer_drop(fr_api_answer *a, size_t n);
// Thinking begins, or ends, where the held text begins.
void fr_answer_think(fr_api_answer *a);
void fr_answer_thought(fr_api_answer *a);
// Reads on in the call at hand. FR_CALL_WHOLE: its calls are kept.
fr_call_verdict fr_answer_scan(fr_api_answer *a, bool last);

// True: the text, in the form of the call at hand and without its marks, is one call or several,
// which are kept.  [calls.c]
bool fr_answer_take_calls(fr_api_answer *a, const char *text, size_t n);
// True: the text is the arguments, a JSON object or nothing, of a call of that name, which is kept.
bool fr_answer_take_named(fr_api_answer *a, const char *name, size_t bytes, const char *text,
                          size_t n);

// Stages of harmony's messages: each reads some of what is held. True: there is more to read of it
// now.  [harmony.c]
bool fr_answer_head(fr_api_answer *a, bool last, fr_error *err, fr_status *st);
bool fr_answer_body(fr_api_answer *a, bool last, fr_error *err, fr_status *st);

#endif
