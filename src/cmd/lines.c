// lines.c — libedit where there is a terminal.
#define _GNU_SOURCE
#include "cmd/lines.h"
#include <errno.h>
#include <histedit.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HISTORY_LINES = 1000 };

struct fr_lines {
    const char *prompt;
    EditLine *editor; // NULL: no terminal
    History *history;
    char path[PATH_MAX]; // of the history file; empty: none
    fr_buffer line;
};

static char *show_prompt(EditLine *editor) {
    fr_lines *l;
    el_get(editor, EL_CLIENTDATA, &l);
    return (char *)(uintptr_t)l->prompt;
}

// The history's path, its folders made. Private: what one says to a model is nobody's business.
static void find_history(fr_lines *l) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char folder[PATH_MAX - 32];
    int n = -1;
    if (state && *state == '/')
        n = snprintf(folder, sizeof folder, "%s", state);
    else if (home && *home == '/')
        n = snprintf(folder, sizeof folder, "%s/.local/state", home);
    if (n < 0 || n >= (int)sizeof folder) return;
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(folder, 0777);
        *slash = '/';
    }
    mkdir(folder, 0700);
    snprintf(l->path, sizeof l->path, "%s/forerun", folder);
    mkdir(l->path, 0700);
    strcat(l->path, "/chat_history");
}

static bool open_editor(fr_lines *l) {
    HistEvent event;
    l->editor = el_init("forerun", stdin, stdout, stderr);
    l->history = history_init();
    if (!l->editor || !l->history) return false;
    el_set(l->editor, EL_CLIENTDATA, l);
    el_set(l->editor, EL_PROMPT, show_prompt);
    el_set(l->editor, EL_EDITOR, "emacs");
    el_set(l->editor, EL_SIGNAL, 0);
    el_set(l->editor, EL_HIST, history, l->history);
    history(l->history, &event, H_SETSIZE, HISTORY_LINES);
    history(l->history, &event, H_SETUNIQUE, 1);
    find_history(l);
    if (l->path[0]) history(l->history, &event, H_LOAD, l->path);
    el_source(l->editor, NULL); // the user's ~/.editrc
    // What is typed or pasted between two lines waits for the next one. The terminal's own line
    // editing would drop all but 4095 bytes of it, the end of the line too, and show it amid an
    // answer. libedit leaves it only after the prompt is shown.
    el_set(l->editor, EL_SETTY, "-x", "-icanon", "-echo", NULL);
    return true;
}

fr_status fr_lines_open(fr_lines **out, const char *prompt, fr_error *err) {
    fr_lines *l = calloc(1, sizeof *l);
    *out = l;
    if (!l) return fr_fail(err, FR_ENOMEM, "line editing: no memory");
    l->prompt = prompt;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || open_editor(l)) return FR_OK;
    fr_lines_close(l);
    *out = NULL;
    return fr_fail(err, FR_ENOMEM, "line editing: no memory");
}

// Written beside and renamed, so that a full disk costs no history.
static void save_history(const fr_lines *l) {
    char part[PATH_MAX + 8];
    HistEvent event;
    snprintf(part, sizeof part, "%s.part", l->path);
    const mode_t before = umask(077);
    if (history(l->history, &event, H_SAVE, part) < 0 || rename(part, l->path)) unlink(part);
    umask(before);
}

void fr_lines_close(fr_lines *l) {
    if (!l) return;
    if (l->history && l->path[0]) save_history(l);
    if (l->history) history_end(l->history);
    if (l->editor) el_end(l->editor);
    fr_buffer_free(&l->line);
    free(l);
}

static fr_line read_edited(fr_lines *l, const char **text, size_t *bytes) {
    HistEvent event;
    int n = 0;
    errno = 0;
    const char *line = el_gets(l->editor, &n);
    if (fr_cmd_interrupted()) return FR_LINE_INTERRUPTED;
    if (!line || n <= 0) return FR_LINE_END;
    *text = line;
    *bytes = (size_t)n - (line[n - 1] == '\n');
    if (*bytes) history(l->history, &event, H_ENTER, line);
    return FR_LINE_TEXT;
}

fr_line fr_lines_read(fr_lines *l, const char **text, size_t *bytes, fr_error *err) {
    if (l->editor) return read_edited(l, text, bytes);
    bool more;
    const fr_status st = fr_cmd_read_line(&l->line, stdin, "standard input", &more, err);
    if (st == FR_EINTR) return FR_LINE_INTERRUPTED;
    if (st) return FR_LINE_FAILED;
    *text = l->line.data;
    *bytes = l->line.n;
    return more ? FR_LINE_TEXT : FR_LINE_END;
}
