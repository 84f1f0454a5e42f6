// What the program is started with and what is sent to it: closed descriptors, files that may not
// grow, a signal after a signal.
#define _GNU_SOURCE
#include "cmd/program.h"
#include "support/tiny_model.h"
#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cmocka.h>

static char folder[64], model[96], line[2048];

static void write_file(const char *name, const char *content) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(content, f);
    fclose(f);
}

// The whole of a file, which is short.
static const char *read_file(const char *name, char *to, size_t room) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("%s: %s", path, strerror(errno));
    to[fread(to, 1, room - 1, f)] = 0;
    fclose(f);
    return to;
}

static int set_up(void **state) {
    (void)state;
    fr_error err;
    snprintf(folder, sizeof folder, "signals_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(model, sizeof model, "%s/tiny.gguf", folder);
    write_file("prompts.jsonl", "{\"id\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]"
                                "}\n{\"id\":\"c\",\"messages\":[{\"role\":\"user\",\"content\":"
                                "\"the\"}]}\n");
    return fr_tiny_write(&(fr_tiny_options){.type = FR_TYPE_Q8_0, .n_ctx = 1 << 17}, model, &err);
}

static int tear_down(void **state) {
    (void)state;
    snprintf(line, sizeof line, "rm -rf %s", folder);
    return system(line);
}

// Exit code of a line for the shell in which $forerun is the program and $d the folder.
static int shell(const char *format, ...) {
    char rest[1024], all[3072];
    va_list args;
    va_start(args, format);
    vsnprintf(rest, sizeof rest, format, args);
    va_end(args);
    snprintf(all, sizeof all, "forerun=%s; d=%s; %s", FR_PROGRAM, folder, rest);
    const int status = system(all);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

// ---------------------------------------------------------------- descriptors

// The answers are the file's alone, whatever was closed when the program began.
static void nothing_that_is_said_goes_into_a_file(void **state) {
    static const char *const closed[] = {"2>&-", ">&-", "<&-", "<&- >&- 2>&-"};
    static const char *const order = "$forerun distill -m $d/tiny.gguf -t 1 --prompts "
                                     "$d/prompts.jsonl -n 8 -c 200 -o $d/";
    static char open[8192], other[8192];
    (void)state;
    assert_int_equal(shell("%sopen.jsonl </dev/null 2>&1", order), 0);
    read_file("open.jsonl", open, sizeof open);
    assert_int_equal(lines_in(open), 2);
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
        assert_int_equal(shell("%s%zu.jsonl %s", order, i, closed[i]), 0);
        char name[16];
        snprintf(name, sizeof name, "%zu.jsonl", i);
        assert_string_equal(read_file(name, other, sizeof other), open);
    }
}

static void a_result_without_an_output_is_an_error(void **state) {
    static char text[1024];
    (void)state;
    assert_int_equal(shell("$forerun inspect $d/tiny.gguf >&- 2>$d/said"), 1);
    assert_non_null(strstr(read_file("said", text, sizeof text), "standard output: Bad file"));
}

// ---------------------------------------------------------------- limits

static int parts_left(void) {
    int n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        n += strstr(e->d_name, ".part") != NULL;
    closedir(dir);
    return n;
}

static void a_file_that_may_not_grow_is_an_error(void **state) {
    static char text[1024];
    (void)state;
    snprintf(line, sizeof line, "%s/long.txt", folder);
    FILE *f = fopen(line, "w");
    assert_non_null(f);
    for (int i = 0; i < 4000; i++)
        fprintf(f, "%d the ", i);
    fclose(f);
    assert_int_equal(shell("ulimit -f 8; $forerun datastore -m $d/tiny.gguf --data $d/long.txt -o "
                           "$d/long.frd 2>$d/said"),
                     1);
    assert_non_null(strstr(read_file("said", text, sizeof text), "long.frd: File too large"));
    assert_int_equal(parts_left(), 0);
}

// Regular files may not grow at all; standard output is a pipe, which may.
static void what_was_measured_is_printed_where_its_file_has_no_room(void **state) {
    static const struct {
        const char *rest, *shows, *says;
    } of[] = {
        {"curve --rows 1 --context 16 --plot $d/c.svg", "of limit", "c.svg: File too large"},
        {"accuracy --prompts $d/prompts.jsonl --drafter prompt-lookup -n 16 --plot $d/a.svg",
         "distance    places  guessed", "a.svg: File too large"},
        {"tune --drafter prompt-lookup --limit 1 -n 4", "'auto' uses", "profile: File too large"},
    };
    static char text[1 << 14];
    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        shell("export XDG_CACHE_HOME=$d/cache; (ulimit -f 0; $forerun %s -m $d/tiny.gguf -t 1 -q "
              "2>&1; echo code $?) | cat >$d/all",
              of[i].rest);
        read_file("all", text, sizeof text);
        if (!strstr(text, of[i].shows) || !strstr(text, of[i].says) || !strstr(text, "code 1\n"))
            fail_msg("%s: %s", of[i].rest, text);
        assert_null(strstr(text, "Stored in"));
    }
}

// ---------------------------------------------------------------- signals

static bool is_there(const char *path) {
    return !access(path, F_OK);
}

// Both signals wait when the process goes on, so the second comes before the first was looked at.
static void a_second_signal_takes_away_what_is_half_written(void **state) {
    char part[128], second[128], other[128];
    int status;
    (void)state;
    const pid_t child = fork();
    if (!child) {
        // As if the program were writing two files of its own, and reading somebody else's.
        snprintf(part, sizeof part, "%s/half.%ld.part", folder, (long)getpid());
        snprintf(second, sizeof second, "%s/half.%ld-1.part", folder, (long)getpid());
        snprintf(other, sizeof other, "%s/other.1.part", folder);
        if (open(part, O_WRONLY | O_CREAT, 0666) < 0 ||
            open(second, O_WRONLY | O_CREAT, 0666) < 0 || open(other, O_RDWR | O_CREAT, 0666) < 0)
            _exit(126);
        if (dup2(open("/dev/null", O_RDWR), 1) < 0) _exit(126);
        execl(FR_PROGRAM, "forerun", "run", "-m", model, "-p", "x", "-n", "-1", "--ignore-eos",
              "-q", (char *)NULL);
        _exit(127);
    }
    let_run(child, 300);
    snprintf(part, sizeof part, "%s/half.%ld.part", folder, (long)child);
    snprintf(second, sizeof second, "%s/half.%ld-1.part", folder, (long)child);
    snprintf(other, sizeof other, "%s/other.1.part", folder);
    assert_true(is_there(part) && is_there(second) && is_there(other));
    kill(child, SIGSTOP);
    kill(child, SIGINT);
    kill(child, SIGTERM);
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
    assert_false(is_there(part) || is_there(second));
    assert_true(is_there(other));
    unlink(other);
}

// Until a file has been opened so often; false where the program ended before.
static bool wait_for_opens(int watch, int times, pid_t child) {
    struct pollfd p = {.fd = watch, .events = POLLIN};
    char events[4096] __attribute__((aligned(8)));
    while (times > 0) {
        if (poll(&p, 1, 100) < 1) {
            if (waitpid(child, NULL, WNOHANG)) return false;
            continue;
        }
        const ssize_t n = read(watch, events, sizeof events);
        for (ssize_t at = 0; at < n; times--)
            at += (ssize_t)sizeof(struct inotify_event) +
                  (ssize_t)((struct inotify_event *)(void *)(events + at))->len;
    }
    return true;
}

// The datastore beside the model is looked at in the beginning and opened for the last drafter:
// then the one before it has been measured.
static void an_interrupted_tune_shows_what_it_has(void **state) {
    static char text[1 << 14];
    char out[128], store[128], cache[PATH_MAX];
    int status;
    (void)state;
    assert_int_equal(shell("for i in 1 2 3 4 5 6 7 8 9; do echo the wind and the water; done >$d/t"
                           "; $forerun datastore -m $d/tiny.gguf --data $d/t -o $d/tiny.frd -q"),
                     0);
    snprintf(store, sizeof store, "%s/tiny.frd", folder);
    snprintf(out, sizeof out, "%s/said", folder);
    assert_non_null(realpath(folder, cache));
    const int watch = inotify_init1(IN_CLOEXEC);
    assert_true(watch >= 0 && inotify_add_watch(watch, store, IN_OPEN) >= 0);
    const pid_t child = fork();
    if (!child) {
        setenv("XDG_CACHE_HOME", cache, 1);
        dup2(open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666), 1);
        dup2(1, 2);
        execl(FR_PROGRAM, "forerun", "tune", "-m", model, "-t", "1", "-n", "300", "--limit", "8",
              "-q", (char *)NULL);
        _exit(127);
    }
    assert_true(wait_for_opens(watch, 2, child));
    kill(child, SIGINT);
    waitpid(child, &status, 0);
    close(watch);
    read_file("said", text, sizeof text);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 130) fail_msg("%d: %s", status, text);
    assert_non_null(strstr(text, "  prompt-lookup\n"));
    assert_null(strstr(text, "rest:"));
    assert_non_null(strstr(text, "'auto' uses"));
    assert_non_null(strstr(text, "Stored in "));
    assert_non_null(strstr(text, "\nforerun: interrupted\n"));
}

// Ctrl-C while nobody reads the answer: what was said comes out whole, and it ends as interrupted.
static void an_interrupt_finds_a_write_that_waits(void **state) {
    static char text[1 << 16];
    int to[2], held = 0, status;
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/said", folder);
    assert_int_equal(pipe(to), 0);
    const int room = fcntl(to[1], F_SETPIPE_SZ, 4096);
    assert_true(room > 0);
    const pid_t child = fork();
    if (!child) {
        dup2(to[1], 1);
        dup2(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666), 2);
        close(to[0]);
        close(to[1]);
        execl(FR_PROGRAM, "forerun", "run", "-m", model, "-p", "x", "-n", "-1", "--ignore-eos",
              "--drafter", "none", (char *)NULL);
        _exit(127);
    }
    close(to[1]);
    while (!ioctl(to[0], FIONREAD, &held) && held < room - 64 && !waitpid(child, NULL, WNOHANG))
        usleep(1000);
    usleep(100000); // into the write that waits
    kill(child, SIGINT);
    usleep(100000);
    size_t n = 0;
    for (ssize_t k; (k = read(to[0], text + n, sizeof text - 1 - n)) > 0; n += (size_t)k) {
    }
    waitpid(child, &status, 0);
    close(to[0]);
    assert_true(n >= (size_t)room - 64);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
    assert_non_null(strstr(read_file("said", text, sizeof text), "interrupted"));
    assert_null(strstr(text, "standard output"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_that_is_said_goes_into_a_file),
        cmocka_unit_test(a_result_without_an_output_is_an_error),
        cmocka_unit_test(a_file_that_may_not_grow_is_an_error),
        cmocka_unit_test(what_was_measured_is_printed_where_its_file_has_no_room),
        cmocka_unit_test(an_interrupted_tune_shows_what_it_has),
        cmocka_unit_test(an_interrupt_finds_a_write_that_waits),
        cmocka_unit_test(a_second_signal_takes_away_what_is_half_written)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
