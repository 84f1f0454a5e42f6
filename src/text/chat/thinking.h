// thinking.h — how models mark their thinking. A form is a row of FORMS (thinking.c).
#ifndef FR_TEXT_CHAT_THINKING_H
#define FR_TEXT_CHAT_THINKING_H
#include <stddef.h>

typedef struct fr_thinking_form {
    const char *open, *close;   // the marks, as they are recognised
    const char *before, *after; // white space that models write inside and after them
    const char *where;          // what a template of the form contains; NULL: the open mark
} fr_thinking_form;

// Row number i; NULL: there are no more.
const fr_thinking_form *fr_thinking_form_at(size_t i);
// The form that a template (NULL: none) uses: the first one whose sign is in its text, else the first
// one of all.
const fr_thinking_form *fr_thinking_form_of(const char *text, size_t bytes);

#endif
