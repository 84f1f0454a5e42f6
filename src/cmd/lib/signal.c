// signal.c — Ctrl-C as a flag that the commands look at between two steps; a second one ends the
// program; and what the program is given at its start: three open descriptors, signals that are
// errors of a write.
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

// Files that are being written are open and called PATH.PID.part (base/save.h), so they are found
// in the process's own list of open files.
static void drop_parts(void) {
    enum { DESCRIPTORS = 1024 };
    char end[32], link[32], path[PATH_MAX];
    char *tail = put_number(end, ".", (long)getpid());
    memcpy(tail, ".part", 5);
    const size_t n = (size_t)(tail - end) + 5;
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        *put_number(link, "/proc/self/fd/", fd) = 0;
        const ssize_t bytes = readlink(link, path, sizeof path - 1);
        if (bytes <= (ssize_t)n || memcmp(path + bytes - n, end, n)) continue;
        path[bytes] = 0;
        (void)unlink(path);
    }
}

static void note(int number) {
    if (interrupted && (second_ends || ended)) {
        drop_parts();
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
