// marked.h — text of which it is known, byte for byte, who wrote it.
//
// A rendered conversation is made of the template's own text and of what its messages hold. Only
// the template may write control tokens, and marks of calls, results and thinking: <|im_end|> in a
// user's message does not end the turn.
#ifndef FR_TEXT_MARKED_H
#define FR_TEXT_MARKED_H
#include "base/buffer.h"

typedef enum fr_mark {
    FR_MARK_TEMPLATE, // trusted: control tokens are read in it
    FR_MARK_MESSAGE,  // from outside: neither these nor the marks above are read in it
    FR_MARK_PLAIN,    // no message: all user-defined tokens are read in it, control tokens are not
} fr_mark;

typedef struct fr_text_run { // bytes of one mark, from the end of the run before
    size_t end;
    fr_mark mark;
} fr_text_run;

// {0} is empty; fr_marked_free returns it to that. Neighbouring runs differ, none is empty, the
// last ends where the text does.
typedef struct fr_marked {
    fr_buffer text;
    fr_text_run *run;
    size_t n_runs, cap_runs;
} fr_marked;

// Appends bytes of one mark. FR_ENOMEM leaves the text as it was.
fr_status fr_marked_add(fr_marked *m, const char *bytes, size_t n, fr_mark mark, fr_error *err);
void fr_marked_free(fr_marked *m);

#endif
