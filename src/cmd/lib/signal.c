// signal.c — Ctrl-C as a flag that the commands look at between two steps; a second one ends the
// program. And what the program is given at its start: three open descriptors, signals that are errors
// of a write.
#define _GNU_SOURCE
#include "cmd/lib/cmd.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

// A handler can reach nothing else.
static volatile sig_atomic_t interrupted, ended, second_ends;

// ---------------------------------------------------------------- the start

// The number of a closed descriptor would go to the next file that is opened, and everything
// printed would end up in that file. So /dev/null takes the number, opened the wrong way round:
// reading from stdin or writing to the others is an error.
void fr_cmd_open_standard(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY); // the lowest: fd
}

// ---------------------------------------------------------------- the second signal
// From here to the handler: functions that are safe in one.

// "PREFIX" and a number of at least 0; room for it is there. Returns the end.
static char *put_number(char *to, const char *prefix, long number) {
    char digits[24];
    int n = 0;
    while (*prefix)
        *to++ = *prefix++;
    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n)
        *to++ = digits[--n];
    return to;
}

// Whether a path of n bytes ends in ".PID.part" or ".PID-NUMBER.part".
static bool is_own_part(const char *path, size_t n) {
    char pid[32];
    const size_t bytes = (size_t)(put_number(pid, ".", (long)getpid()) - pid);
    if (n < 5 || memcmp(path + n - 5, ".part", 5)) return false;
    size_t end = n - 5, at = end;
    while (at > 0 && path[at - 1] >= '0' && path[at - 1] <= '9')
        at--;
    if (at > 0 && at < end && path[at - 1] == '-') end = at - 1;
    return end > bytes && !memcmp(path + end - bytes, pid, bytes);
}

// Files that are being written are open and called so (base/save.c), so they are found in the
// process's own list of open files.
void fr_cmd_drop_parts(void) {
    enum { DESCRIPTORS = 1024 };
    char link[32], path[PATH_MAX];
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        *put_number(link, "/proc/self/fd/", fd) = 0;
        const ssize_t bytes = readlink(link, path, sizeof path - 1);
        if (bytes < 0 || !is_own_part(path, (size_t)bytes)) continue;
        path[bytes] = 0;
        (void)unlink(path);
    }
}

static void note(int number) {
    if (interrupted && (second_ends || ended)) {
        fr_cmd_drop_parts();
        _exit(FR_EXIT_INTERRUPTED);
    }
    if (number == SIGTERM) ended = 1;
    interrupted = 1;
    alarm(1);
}

// A signal that comes just before a read that waits for input does not end that read. So another
// one follows a second later.
static void come_again(int number) {
    (void)number;
}

// ---------------------------------------------------------------- the flag

void fr_cmd_catch_interrupts(void) {
    // No SA_RESTART, so that waiting for input ends too.
    struct sigaction action = {.sa_handler = note};
    sigemptyset(&action.sa_mask);
    second_ends = 1;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = come_again;
    sigaction(SIGALRM, &action, NULL);
    fr_cmd_catch_bus_errors();
    // A closed pipe and a file that may not grow are errors of a write, seen where they happen.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void fr_cmd_clear_interrupt(void) {
    alarm(0); // what waits for input from here on is not woken by it
    second_ends = 0;
    interrupted = 0;
}

bool fr_cmd_interrupted(void) {
    return interrupted || ended;
}

static bool wanted(void *user) {
    (void)user;
    return !fr_cmd_interrupted();
}

const fr_watch fr_cmd_watch = {.go_on = wanted};
