// marks.h — marks in a model's output. Private to src/api.
#ifndef FR_API_MARKS_H
#define FR_API_MARKS_H
#include <stdbool.h>
#include <stddef.h>

#define MARK_CALL_ID "[CALL_ID]"
#define MARK_ARGS    "[ARGS]"
#define MARK_QUOTE   "<|\"|>"      // Gemma's, around strings
#define MARK_CHANNEL "<|channel|>" // harmony's
#define MARK_MESSAGE "<|message|>"
#define MARK_START   "<|start|>"
#define MARK_END     "<|end|>"

typedef enum fr_begins { FR_BEGINS_NOT, FR_BEGINS_MAYBE, FR_BEGINS } fr_begins;

// Whether the text begins with the mark. FR_BEGINS_MAYBE: the text is a beginning of the mark.
fr_begins fr_begins_with(const char *text, size_t n, const char *mark);
// The offset of the first mark; n: there is none.
size_t fr_find_mark(const char *text, size_t n, const char *mark);
// The number of bytes at the end of the text that may begin the mark.
size_t fr_begun_mark(const char *text, size_t n, const char *mark);
// White space, as JSON has it.
static inline bool fr_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
// The number of bytes of white space at the beginning of the text.
size_t fr_blank(const char *text, size_t n);
// Bytes of the text without the white space at its end.
size_t fr_trimmed(const char *text, size_t n);

#endif
