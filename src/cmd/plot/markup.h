// markup.h — writes XML (SVG, a page) into a buffer: the first failure is stored, so that a
// writer checks once, at its end.
#ifndef FR_CMD_PLOT_MARKUP_H
#define FR_CMD_PLOT_MARKUP_H
#include "base/buffer.h"

typedef struct fr_markup {
    fr_buffer *out;
    fr_error *err;
    fr_status st; // FR_ENOMEM from the first failure on
} fr_markup;

// Appends text as XML character data: markup is escaped, invalid UTF-8 and characters that XML
// lacks become U+FFFD. FR_ENOMEM.
fr_status fr_markup_escape(fr_buffer *out, const char *text, fr_error *err);

// Markup as it is, of any length.
void fr_markup_raw(fr_markup *m, const char *markup);
// Markup of less than 1024 bytes with numbers, and words that need no escape, filled in.
void fr_markup_put(fr_markup *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Any bytes, escaped.
void fr_markup_text(fr_markup *m, const char *text);

#endif
