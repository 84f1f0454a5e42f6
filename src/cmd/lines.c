// lines.c — libedit where there is a terminal.
#define _GNU_SOURCE
#include "cmd/lines.h"
#include "base/alloc.h"
#include "base/path.h"
#include "base/save.h"
#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

enum { HISTORY_LINES = 1000 };

static const char quotes[] = "\"\"\""; // around a message of several lines
enum { QUOTES = sizeof quotes - 1 };

struct fr_lines {
    const char *prompt;
    EditLine *editor; // NULL: no terminal
    History *history;
    char path[PATH_MAX]; // of the history file; empty: none
    fr_buffer line, message;
    bool goes_on; // the next line belongs to a message that has begun
    bool began;   // a line was read
    bool pastes;  // the terminal can mark pasted text
};

static char *show_prompt(EditLine *editor) {
    static char next[] = ". ";
    fr_lines *l;
    el_get(editor, EL_CLIENTDATA, &l);
    return l->goes_on ? next : (char *)(uintptr_t)l->prompt;
}

// ---------------------------------------------------------------- pasted text

// A terminal puts marks around pasted text on request. So the lines of a pasted text are one
// message, which is sent when Enter is typed.
static const char ask_marks[] = "\033[?2004h", drop_marks[] = "\033[?2004l",
                  paste_begins[] = "\033[200~";
static const wchar_t paste_ends[] = L"\033[201~";
enum { PASTE_END = sizeof paste_ends / sizeof *paste_ends - 1 };

typedef struct pasted {
    wchar_t *text;
    size_t n, cap;
} pasted;

static bool ends_paste(const pasted *p) {
    return p->n >= PASTE_END && !wmemcmp(p->text + p->n - PASTE_END, paste_ends, PASTE_END);
}

// Each CR, which terminals paste for a line's end, and each CR LF becomes a newline. Those at the end
// are dropped.
static void mend_newlines(pasted *p) {
    size_t n = 0;
    wchar_t before = 0;
    for (size_t i = 0; i < p->n; i++) {
        const wchar_t c = p->text[i];
        if (c != L'\n' || before != L'\r') p->text[n++] = c == L'\r' ? L'\n' : c;
        before = c;
    }
    while (n && p->text[n - 1] == L'\n')
        n--;
    p->text[p->n = n] = 0;
}

// Bound to paste_begins: puts all up to paste_ends into the line.
static unsigned char take_paste(EditLine *editor, int key) {
    pasted p = {0};
    (void)key;
    while (!ends_paste(&p)) {
        wchar_t c;
        if (p.n > FR_INPUT_MAX / sizeof *p.text ||
            !fr_list_reserve((void **)&p.text, &p.cap, p.n, 2, sizeof *p.text) ||
            el_wgetc(editor, &c) != 1) {
            fr_free(p.text);
            return CC_ERROR;
        }
        p.text[p.n++] = c;
    }
    p.n -= PASTE_END;
    mend_newlines(&p);
    const bool taken = !p.n || !el_winsertstr(editor, p.text);
    fr_free(p.text);
    return taken ? CC_REFRESH : CC_ERROR;
}

static void expect_pastes(fr_lines *l) {
    const char *terminal = getenv("TERM");
    // el_wset, as el_set would leak copies of the names.
    el_wset(l->editor, EL_ADDFN, L"forerun-paste", L"Take what is pasted", take_paste);
    el_set(l->editor, EL_BIND, paste_begins, "forerun-paste", NULL);
    l->pastes = terminal && strcmp(terminal, "dumb") != 0;
}

static void tell_terminal(const fr_lines *l, const char *what) {
    if (l->pastes) fr_cmd_write(what, strlen(what));
}

// ---------------------------------------------------------------- opening

// The history's path; makes its folders. The history is private, so its own folder is the user's
// alone.
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

static History *new_history(void) {
    HistEvent event;
    History *h = history_init();
    if (!h) return NULL;
    history(h, &event, H_SETSIZE, HISTORY_LINES);
    history(h, &event, H_SETUNIQUE, 1);
    return h;
}

// What is typed is UTF-8, as everywhere here, also where the environment says nothing: libedit drops
// what it cannot read by the locale. Numbers keep their point.
static void read_utf8(void) {
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

static bool open_editor(fr_lines *l) {
    HistEvent event;
    read_utf8();
    l->editor = el_init("forerun", stdin, stdout, stderr);
    l->history = new_history();
    if (!l->editor || !l->history) return false;
    el_set(l->editor, EL_CLIENTDATA, l);
    el_set(l->editor, EL_PROMPT, show_prompt);
    el_set(l->editor, EL_EDITOR, "emacs");
    el_set(l->editor, EL_SIGNAL, 0);
    el_set(l->editor, EL_HIST, history, l->history);
    find_history(l);
    if (l->path[0]) history(l->history, &event, H_LOAD, l->path);
    el_source(l->editor, NULL); // the user's ~/.editrc
    expect_pastes(l);
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

// ---------------------------------------------------------------- the history file

// Chats that share the file take turns; the system ends the lock with the process.
static int take_turn(const fr_lines *l) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", (int)fr_path_folder(l->path), l->path);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) (void)flock(fd, LOCK_EX);
    return fd;
}

// All of it, or errors where the disk is full. libedit looks at none of those of the last write.
static bool write_lines(History *lines, int fd) {
    HistEvent event;
    const int own = dup(fd);
    FILE *f = own < 0 ? NULL : fdopen(own, "w");
    if (!f && own >= 0) close(own);
    if (!f) return false;
    const bool wrote = history(lines, &event, H_SAVE_FP, f) >= 0 && !ferror(f);
    return !fclose(f) && wrote;
}

// Adds a line to the file; lines that other chats have added since stay in it. It is no error if
// the history cannot be kept, and a full disk or a kill does not damage the file.
static void keep_line(const fr_lines *l, const char *line) {
    HistEvent event;
    fr_saving saving;
    fr_error unsaid;
    const mode_t before = umask(077);
    const int turn = take_turn(l);
    History *lines = new_history();
    if (lines && !fr_save_begin(&saving, l->path, &unsaid)) {
        history(lines, &event, H_LOAD, l->path);
        history(lines, &event, H_ENTER, line);
        if (write_lines(lines, saving.fd))
            fr_save_finish(&saving, &unsaid);
        else
            fr_save_drop(&saving);
    }
    if (lines) history_end(lines);
    if (turn >= 0) close(turn);
    umask(before);
}

void fr_lines_close(fr_lines *l) {
    if (!l) return;
    if (l->history) history_end(l->history);
    if (l->editor) el_end(l->editor);
    fr_buffer_free(&l->line);
    fr_buffer_free(&l->message);
    free(l);
}

static fr_line take_edited(fr_lines *l, const char **text, size_t *bytes) {
    HistEvent event;
    int n = 0;
    errno = 0;
    const char *line = el_gets(l->editor, &n);
    clearerr(stdout); // an interrupt may have cut a prompt short
    if (fr_cmd_interrupted()) return FR_LINE_INTERRUPTED;
    if (!line || n <= 0) return FR_LINE_END;
    *text = line;
    *bytes = (size_t)n - (line[n - 1] == '\n');
    if (*bytes) history(l->history, &event, H_ENTER, line);
    if (*bytes && l->path[0]) keep_line(l, line);
    return FR_LINE_TEXT;
}

static fr_line read_edited(fr_lines *l, const char **text, size_t *bytes) {
    tell_terminal(l, ask_marks);
    const fr_line said = take_edited(l, text, bytes);
    tell_terminal(l, drop_marks);
    return said;
}

static fr_line read_line(fr_lines *l, const char **text, size_t *bytes, fr_error *err) {
    if (l->editor) return read_edited(l, text, bytes);
    bool more;
    const fr_status st = fr_cmd_read_line(&l->line, stdin, "standard input", &more, err);
    if (st == FR_EINTR) return FR_LINE_INTERRUPTED;
    if (st) return FR_LINE_FAILED;
    const size_t mark = l->began ? 0 : fr_cmd_mark(l->line.data, l->line.n);
    l->began = true;
    *text = l->line.data + mark;
    *bytes = l->line.n - mark;
    return more ? FR_LINE_TEXT : FR_LINE_END;
}

static bool ends_quoted(const char *text, size_t n) {
    return n >= QUOTES && !memcmp(text + n - QUOTES, quotes, QUOTES);
}

static fr_status add_to_message(fr_lines *l, const char *text, size_t n, fr_error *err) {
    if (n > FR_INPUT_MAX - l->message.n)
        return fr_fail(err, FR_EDATA, "message: longer than %zu MiB", FR_INPUT_MAX >> 20);
    return fr_buffer_add(&l->message, text, n, err);
}

// Reads a message of several lines, whose first one after the quotes is *text. The end of the input
// ends the message too.
static fr_line read_on(fr_lines *l, const char **text, size_t *bytes, fr_error *err) {
    const char *more = *text;
    size_t n = *bytes;
    fr_line said = FR_LINE_TEXT;
    l->message.n = 0;
    while (said == FR_LINE_TEXT) {
        const bool last = ends_quoted(more, n);
        if (add_to_message(l, more, last ? n - QUOTES : n, err)) return FR_LINE_FAILED;
        if (last) break;
        said = read_line(l, &more, &n, err);
        if (said == FR_LINE_TEXT && add_to_message(l, "\n", 1, err)) return FR_LINE_FAILED;
    }
    *text = l->message.data;
    *bytes = l->message.n;
    return said == FR_LINE_END ? FR_LINE_TEXT : said;
}

fr_line fr_lines_read(fr_lines *l, const char **text, size_t *bytes, fr_error *err) {
    fr_line said = read_line(l, text, bytes, err);
    if (said != FR_LINE_TEXT || *bytes < QUOTES || memcmp(*text, quotes, QUOTES)) return said;
    *text += QUOTES;
    *bytes -= QUOTES;
    l->goes_on = true;
    said = read_on(l, text, bytes, err);
    l->goes_on = false;
    return said;
}
