// answer_parts.h — shared by the files that parse answers. Private to src/api.
#ifndef FR_API_ANSWER_PARTS_H
#define FR_API_ANSWER_PARTS_H
#include "api/answer.h"

// The held bytes.
static inline const char *fr_answer_held(const fr_api_answer *a) {
    return a->held.data + a->done;
}
static inline size_t fr_answer_left(const fr_api_answer *a) {
    return a->held.n - a->done;
}

// Moves the first n held bytes to `to`, or drops them.  [answer.c]
fr_status fr_answer_move(fr_api_answer *a, fr_buffer *to, size_t n, fr_error *err);
void fr_answer_drop(fr_api_answer *a, size_t n);
// Records that thinking begins, or ends, at the first held byte.
void fr_answer_think(fr_api_answer *a);
void fr_answer_thought(fr_api_answer *a);
// Continues to read the current call. FR_CALL_WHOLE: its calls were stored.
fr_call_verdict fr_answer_scan(fr_api_answer *a, bool last);

// True: the current call, which is whole, is one call or several; they were stored. `last` as when
// it was read.  [calls.c]
bool fr_answer_take_calls(fr_api_answer *a, const char *text, bool last);
// True: the text is the arguments (a JSON object or nothing) of a call of that name, which was
// stored.
bool fr_answer_take_named(fr_api_answer *a, const char *name, size_t bytes, const char *text,
                          size_t n);
bool fr_answer_keep_named(fr_api_answer *a, const char *name, size_t bytes, const json_t *given);

// Stages of harmony's messages: each reads some of the held bytes. True: more of them can be read
// now.  [harmony.c]
bool fr_answer_head(fr_api_answer *a, bool last, fr_error *err, fr_status *st);
bool fr_answer_body(fr_api_answer *a, bool last, fr_error *err, fr_status *st);

#endif
