// canon.h — a Jinja template's text in one canonical spelling, for recognising it.
//
// Two templates that differ in line breaks, quotes, escapes, m['x'] against m.x, spaces, whitespace
// control, comments, or in how a constant text is cut into pieces have the same canonical form:
// blanks outside strings gone (one kept between two words), strings in single quotes with escapes
// decoded and quotes inside them doubled, neighbouring outputs joined by +, neighbouring strings
// joined. Whitespace of the text between tags is treated as Jinja2 does with trim_blocks and
// lstrip_blocks. Private to text/.
#ifndef FR_TEXT_CHAT_CANON_H
#define FR_TEXT_CHAT_CANON_H
#include "text/chat/chat.h"

// Replaces *out. FR_EUNSUP for a tag that does not end; FR_ENOMEM.
fr_status fr_chat_canon(fr_chat_text *out, const char *text, size_t bytes, fr_error *err);

#endif
