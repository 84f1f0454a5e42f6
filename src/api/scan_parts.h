// scan_parts.h — shared by the files that read calls (call_scan.h): a state for each place in a
// call, and the steps from it. Private to src/api.
#ifndef FR_API_SCAN_PARTS_H
#define FR_API_SCAN_PARTS_H
#include "api/call_scan.h"

enum { FR_MOST_NAME = 256 };

typedef enum fr_scan_place {
    FR_AT_OPEN,   // between objects, or before the first
    FR_AT_AROUND, // before the mark, after the one around calls
    FR_AT_BEGIN_MARK,
    FR_AT_OBJECT,
    FR_AT_DOUBLED, // before the second brace at its end
    FR_AT_MARK,    // in an end mark, or the next call's mark
    FR_AT_NAME,    // Mistral's
    FR_AT_NAMED,   // after it or a mark: before the arguments, or another mark
    FR_AT_NAME_MARK,
    FR_AT_CALL_ID,
    FR_AT_NULL, // in place of arguments
    FR_AT_ARGUMENTS,
    FR_AT_HEAD,
    FR_AT_FUNCTION, // the name in front of a literal
    FR_AT_LITERAL,
    FR_AT_TAGS_NAME, // between tags, from here
    FR_AT_TAGS_NAME_END,
    FR_AT_TAGS,
    FR_AT_TAG,
    FR_AT_TAGS_KEY,
    FR_AT_TAGS_KEY_END,
    FR_AT_TAGS_VALUE_MARK,
    FR_AT_TAGS_VALUE,
    FR_AT_TAGS_VALUE_END,
    FR_AT_TAGS_AFTER,
    FR_AT_TAGS_AFTER_TAG,
} fr_scan_place;

static inline fr_call_verdict fr_scan_go(fr_call_scan *s, fr_scan_place next) {
    s->place = (uint8_t)next;
    return FR_CALL_MAYBE;
}

// The call's text ends `cut` bytes in front of here. The last `rest` bytes belong to what follows.
static inline fr_call_verdict fr_scan_whole(fr_call_scan *s, size_t cut, size_t rest) {
    s->end = s->at - cut;
    s->next = s->at - rest;
    return FR_CALL_WHOLE;
}

// The mark from s->from to here: one that ends the call, or a part of one. *may: a part.
fr_call_verdict fr_scan_end_mark(fr_call_scan *s, const char *text, bool *may);
// Begins the arguments, whose first byte is c.
fr_call_verdict fr_scan_arguments(fr_call_scan *s, char c);

// Each takes the byte c in front of s->at, at its places.
fr_call_verdict fr_scan_name(fr_call_scan *s, const char *text, char c);    // [scan_names.c]
fr_call_verdict fr_scan_literal(fr_call_scan *s, const char *text, char c); // [scan_literals.c]
fr_call_verdict fr_scan_tags(fr_call_scan *s, const char *text, char c);    // [scan_tags.c]
// Whether the text may end within this tag, which can only be the end of a call without arguments.
bool fr_scan_tag_ends(const fr_call_scan *s, const char *text);

#endif
