// lines.h — the user's messages: with editing and history on a terminal, as they come elsewhere.
#ifndef FR_CMD_LINES_H
#define FR_CMD_LINES_H
#include "cmd/lib/cmd.h"

typedef struct fr_lines fr_lines;

typedef enum fr_line { FR_LINE_TEXT, FR_LINE_INTERRUPTED, FR_LINE_END, FR_LINE_FAILED } fr_line;

// History is read from forerun/chat_history below $XDG_STATE_HOME (or ~/.local/state) and gets
// every line as it comes. A history that cannot be had is no error.
fr_status fr_lines_open(fr_lines **out, const char *prompt, fr_error *err);
void fr_lines_close(fr_lines *l); // NULL is fine
// Reads one message, valid until the next call: a line without its newline, a text that was pasted, or
// the lines from one that begins with """ to one that ends with it. FAILED fills *err.
fr_line fr_lines_read(fr_lines *l, const char **text, size_t *bytes, fr_error *err);

#endif
