// text.h — writing into a growable text without a check after every piece. Private to text/.
//
// The first failure is kept in `status`; nothing is written after it.
#ifndef FR_TEXT_CHAT_TEXT_H
#define FR_TEXT_CHAT_TEXT_H
#include "text/chat/chat.h"
#include <string.h>

typedef struct fr_chat_writer {
    fr_chat_text *out;
    fr_error *err;
    fr_status status;
} fr_chat_writer;

static inline void fr_chat_put(fr_chat_writer *w, fr_chat_str s) {
    if (!w->status && s.bytes) w->status = fr_chat_text_add(w->out, s.data, s.bytes, w->err);
}

static inline void fr_chat_puts(fr_chat_writer *w, const char *s) {
    fr_chat_put(w, (fr_chat_str){s, strlen(s)});
}

static inline bool fr_chat_is(fr_chat_str a, const char *b) {
    return a.data && a.bytes == strlen(b) && !memcmp(a.data, b, a.bytes);
}

// Without the whitespace of Python's str.strip() at its ends; the borrowed bytes stay where they
// are.
fr_chat_str fr_chat_lstrip(fr_chat_str s);
fr_chat_str fr_chat_rstrip(fr_chat_str s);

#endif
