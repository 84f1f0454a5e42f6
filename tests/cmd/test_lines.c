// The chat at a terminal: long lines are read whole, also those that come while an answer is
// printed; the history has them, and the terminal is left as it was.
#define _GNU_SOURCE
#include "base/clock.h"
#include "cmd/program.h"
#include "support/tiny_model.h"
#include <poll.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <termios.h>
#include <utmp.h>

#include <cmocka.h>

enum { LONG = 20000, PATIENCE = 60 }; // characters; seconds, far more than it takes

static char folder[] = "/tmp/fr-lines-XXXXXX", model[64], history[96];

typedef struct terminal {
    int master, slave;
    pid_t chat;
    struct termios before;
    char said[SAID_MOST];
    size_t n;
} terminal;
static terminal t;
static bool disk_is_full; // for the next chat

static int set_up(void **state) {
    (void)state;
    fr_error err;
    if (!mkdtemp(folder)) return -1;
    snprintf(model, sizeof model, "%s/tiny.gguf", folder);
    snprintf(history, sizeof history, "%s/forerun/chat_history", folder);
    setenv("XDG_STATE_HOME", folder, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("TERM", "xterm", 1);
    // Of this seed the answer to "hello" does not end.
    return fr_tiny_write(&(fr_tiny_options){.n_ctx = 1 << 17, .seed = 1}, model, &err);
}

static int tear_down(void **state) {
    char drop[64];
    (void)state;
    snprintf(drop, sizeof drop, "rm -rf %s", folder);
    return system(drop);
}

// Keeps what the program says; false after a tenth of a second of silence.
static bool hear(void) {
    struct pollfd p = {.fd = t.master, .events = POLLIN};
    if (poll(&p, 1, 100) < 1) return false;
    if (t.n > sizeof t.said / 2) t.n = 0; // of what is long ago nothing is asked
    const ssize_t n = read(t.master, t.said + t.n, sizeof t.said - 1 - t.n);
    if (n > 0) t.n += (size_t)n;
    t.said[t.n] = 0;
    return n > 0;
}

static void wait_for(const char *text) {
    for (const double end = fr_seconds() + PATIENCE; !memmem(t.said, t.n, text, strlen(text));) {
        hear();
        if (fr_seconds() > end) {
            kill(t.chat, SIGKILL);
            fail_msg("'%s' never came, but: %.300s", text, t.said);
        }
    }
}

// As a terminal does: in pieces, while it shows what comes back.
static size_t type(const char *text, size_t n, double seconds) {
    size_t done = 0;
    for (const double end = fr_seconds() + seconds; done < n && fr_seconds() < end;) {
        const ssize_t k = write(t.master, text + done, n - done < 512 ? n - done : 512);
        if (k > 0) done += (size_t)k;
        struct pollfd p = {.fd = t.master, .events = POLLIN};
        if (k < 0 || poll(&p, 1, 0) > 0) hear();
    }
    return done;
}

static void open_chat(void) {
    const struct winsize size = {.ws_row = 24, .ws_col = 80};
    memset(&t, 0, sizeof t);
    assert_int_equal(openpty(&t.master, &t.slave, NULL, NULL, &size), 0);
    assert_int_equal(tcgetattr(t.slave, &t.before), 0);
    t.chat = fork();
    if (!t.chat) {
        close(t.master);
        login_tty(t.slave);
        if (disk_is_full) setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
        execl(FR_PROGRAM, FR_PROGRAM, "chat", "-m", model, "-t", "1", "-n", "100000", "--temp", "0",
              "--drafter", "none", NULL);
        _exit(127);
    }
    fcntl(t.master, F_SETFL, O_NONBLOCK);
    wait_for("> ");
    t.n = 0;
}

// How it ended, which it does now. Where it was not killed, the terminal is as it was.
static int ended(void) {
    int status;
    struct termios after;
    for (const double end = fr_seconds() + PATIENCE; !waitpid(t.chat, &status, WNOHANG);) {
        hear();
        if (fr_seconds() > end) kill(t.chat, SIGKILL);
    }
    const bool killed = WIFSIGNALED(status);
    assert_int_equal(tcgetattr(t.slave, &after), 0);
    if (killed) after = t.before;
    assert_int_equal(after.c_lflag, t.before.c_lflag);
    assert_int_equal(after.c_iflag, t.before.c_iflag);
    assert_int_equal(after.c_oflag, t.before.c_oflag);
    close(t.master);
    close(t.slave);
    return killed ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void close_chat(void) {
    type("\004", 1, PATIENCE);
    assert_int_equal(ended(), 0);
}

// A command that nobody knows, so that no model has to read it.
static const char *long_line(void) {
    static char line[LONG + 2];
    memset(line, 'a', LONG);
    line[0] = '/';
    line[LONG] = '\r';
    return line;
}

static const char *history_text(void) {
    static char text[4 * LONG];
    FILE *f = fopen(history, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static void expect_in_history(void) {
    const char *at = strstr(history_text(), "/aaa");
    assert_non_null(at);
    assert_int_equal(strspn(at + 1, "a"), LONG - 1);
}

static void a_long_line_is_read_whole(void **state) {
    (void)state;
    unlink(history);
    open_chat();
    assert_int_equal(type(long_line(), LONG + 1, PATIENCE), LONG + 1);
    wait_for("unknown. ");
    close_chat();
    expect_in_history();
}

static void a_line_that_comes_during_an_answer_is_read_whole(void **state) {
    (void)state;
    unlink(history);
    open_chat();
    type("hello\r", 6, PATIENCE);
    wait_for("hello");
    wait_for("\n");
    const size_t echo = t.n;
    for (int i = 0; i < 100 && t.n == echo; i++)
        hear(); // the answer has begun
    const size_t done =
        type(long_line(), LONG + 1, 0.5); // what it does not take now, it takes later
    kill(t.chat, SIGINT);
    assert_int_equal(type(long_line() + done, LONG + 1 - done, PATIENCE), LONG + 1 - done);
    wait_for("unknown. ");
    close_chat();
    expect_in_history();
}

static void a_history_that_is_none_is_no_error(void **state) {
    (void)state;
    char noise[4000];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)(i * i * 7 + i / 3);
    for (int headed = 0; headed < 2; headed++) {
        FILE *f = fopen(history, "w");
        assert_non_null(f);
        if (headed) fputs("_HiStOrY_V2_\n\\04\\\n", f);
        fwrite(noise, 1, sizeof noise, f);
        fclose(f);
        open_chat();
        assert_int_equal(type(long_line(), LONG + 1, PATIENCE), LONG + 1);
        wait_for("unknown. ");
        close_chat();
        expect_in_history();
    }
}

// One that nobody knows either, answered.
static void type_command(const char *line) {
    t.n = 0;
    type(line, strlen(line), PATIENCE);
    wait_for("unknown. ");
}

static void write_history(const char *how, const char *text) {
    FILE *f = fopen(history, how);
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void lines_are_kept_as_they_come(void **state) {
    (void)state;
    unlink(history);
    open_chat();
    type_command("/one\r");
    assert_string_equal(history_text(), "_HiStOrY_V2_\n/one\\012\n");
    write_history("a", "/other\\012\n"); // a chat in another window
    type_command("/two\r");
    kill(t.chat, SIGKILL);
    ended();
    assert_string_equal(history_text(), "_HiStOrY_V2_\n/one\\012\n/other\\012\n/two\\012\n");
}

// Whatever the locale is, and none.
static void every_script_can_be_typed(void **state) {
    static const char *const locales[] = {"C", "C.UTF-8", "de_DE.ISO-8859-1", "no such"};
    (void)state;
    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++) {
        unlink(history);
        setenv("LC_ALL", locales[i], 1);
        open_chat();
        type_command("/h\u00e9llo\u4f60\u597d\u0416\U0001f600\r");
        close_chat();
        // The prompt's line, as it is kept: what the terminal showed is told anew as it is typed.
        if (!strstr(history_text(), "/h\u00e9llo\u4f60\u597d\u0416\U0001f600"))
            fail_msg("%s: %s", locales[i], history_text());
    }
    unsetenv("LC_ALL");
}

// A terminal marks where a paste begins and ends. Enter sends all of it.
static void what_is_pasted_is_one_message(void **state) {
    static const char paste[] = "\033[200~hello\rst\ned\u00e9\n\033[201~";
    (void)state;
    unlink(history);
    open_chat();
    type(paste, sizeof paste - 1, PATIENCE);
    type("\r", 1, PATIENCE);
    wait_for("ed\u00e9");
    wait_for("\033[?2004l");
    t.n = 0;
    kill(t.chat, SIGINT); // its answer, unless that has ended
    wait_for("\033[?2004h");
    close_chat();
    assert_string_equal(history_text(), "_HiStOrY_V2_\nhello\\012st\\012ed\u00e9\\012\n");
}

static void the_terminal_is_asked_to_mark_pastes_while_a_line_is_typed(void **state) {
    (void)state;
    open_chat();
    type_command("/one\r");
    const char *asked = strstr(t.said, "\033[?2004l");
    assert_non_null(asked);
    wait_for("\033[?2004h");
    close_chat();
}

static void help_says_how_to_send_several_lines(void **state) {
    (void)state;
    open_chat();
    type("/help\r", 6, PATIENCE);
    wait_for("\"\"\"");
    close_chat();
}

static void a_full_disk_costs_no_history(void **state) {
    (void)state;
    write_history("w", "_HiStOrY_V2_\n/one\\012\n");
    disk_is_full = true;
    open_chat();
    disk_is_full = false;
    type_command("/two\r");
    close_chat();
    assert_string_equal(history_text(), "_HiStOrY_V2_\n/one\\012\n");
    char part[128];
    snprintf(part, sizeof part, "%s.%ld.part", history, (long)t.chat);
    assert_int_not_equal(access(part, F_OK), 0);
}

// Ctrl-C stops an answer; who ends the program means all of it.
// Nor a second later, when the signal comes again.
static void an_interrupt_does_not_end_the_chat(void **state) {
    (void)state;
    open_chat();
    type("hello\n", 6, PATIENCE);
    wait_for("hello");
    usleep(300000);
    type("\003", 1, PATIENCE);
    wait_for("; interrupted");
    for (const double end = fr_seconds() + 1.5; fr_seconds() < end;)
        hear();
    t.n = 0;
    type("/hellp\n", 7, PATIENCE);
    wait_for("unknown");
    close_chat();
}

// Also one that comes before the answer has begun.
static void an_interrupt_after_enter_stops_the_answer(void **state) {
    (void)state;
    open_chat();
    for (int i = 0; i < 10; i++) {
        t.n = 0;
        type("hello\r", 6, PATIENCE);
        wait_for("\033[?2004l"); // the line was taken
        kill(t.chat, SIGINT);
        wait_for("; interrupted");
        t.n = 0;
        type("/reset\r", 7, PATIENCE); // a second answer might end by itself
        wait_for("starts anew");
        wait_for("\033[?2004h"); // the next line is asked for
    }
    close_chat();
}

static void a_sigterm_ends_the_chat(void **state) {
    (void)state;
    unlink(history);
    open_chat();
    kill(t.chat, SIGTERM);
    assert_int_equal(ended(), 130);
    open_chat();
    type("hello\r", 6, PATIENCE);
    wait_for("hello\r\n");
    const size_t echo = t.n;
    for (int i = 0; i < 100 && t.n == echo; i++)
        hear(); // the answer has begun
    kill(t.chat, SIGTERM);
    assert_int_equal(ended(), 130);
    assert_non_null(strstr(history_text(), "hello"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_line_is_read_whole),
        cmocka_unit_test(a_line_that_comes_during_an_answer_is_read_whole),
        cmocka_unit_test(a_history_that_is_none_is_no_error),
        cmocka_unit_test(lines_are_kept_as_they_come),
        cmocka_unit_test(every_script_can_be_typed),
        cmocka_unit_test(what_is_pasted_is_one_message),
        cmocka_unit_test(the_terminal_is_asked_to_mark_pastes_while_a_line_is_typed),
        cmocka_unit_test(help_says_how_to_send_several_lines),
        cmocka_unit_test(a_full_disk_costs_no_history),
        cmocka_unit_test(an_interrupt_does_not_end_the_chat),
        cmocka_unit_test(an_interrupt_after_enter_stops_the_answer),
        cmocka_unit_test(a_sigterm_ends_the_chat),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
