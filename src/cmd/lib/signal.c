// signal.c — Ctrl-C as a flag that the commands look at between two steps; a second one ends the
// program; a mapped file that cannot be read any more ends it with a sentence; and what the program is
// given at its start: three open descriptors, signals that are errors of a write.
#define _GNU_SOURCE
#include "base/clean.h"
#include "cmd/lib/cmd.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
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
static void drop_parts(void) {
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

// ---------------------------------------------------------------- a file that became shorter
// Reading a mapped page that its file has no more raises SIGBUS. The system's list of mappings says
// which file it was. Safe in a handler too; memory is static, as the stack may be short.

static char maps[8 << 10]; // the list, a piece at a time
static size_t n_maps;
static atomic_flag tells = ATOMIC_FLAG_INIT;

static bool read_hex(const char **at, uintptr_t *value) {
    const char *begin = *at;
    for (*value = 0;; ++*at) {
        const char c = **at;
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return *at > begin;
        *value = *value << 4 | (uintptr_t)digit;
    }
}

// The path in a line "BEGIN-END r--p OFFSET DEVICE INODE PATH", if it is of a file that is mapped as
// ours are and has the address; else NULL.
static char *path_at(char *line, uintptr_t address) {
    const char *at = line;
    uintptr_t begin, end;
    if (!read_hex(&at, &begin) || *at++ != '-' || !read_hex(&at, &end)) return NULL;
    if (address < begin || address >= end || strncmp(at, " r--p ", 6) != 0) return NULL;
    return strchr(line, '/');
}

// The next line, in `maps`; NULL: none is left. Lines are shorter than PATH_MAX and a little.
static char *next_line(int fd, size_t *used) {
    memmove(maps, maps + *used, n_maps -= *used);
    *used = 0;
    for (;;) {
        char *end = memchr(maps, '\n', n_maps);
        if (end) {
            *end = 0;
            *used = (size_t)(end + 1 - maps);
            return maps;
        }
        const ssize_t n = read(fd, maps + n_maps, sizeof maps - n_maps);
        if (n <= 0) return NULL;
        n_maps += (size_t)n;
    }
}

static char *mapped_at(uintptr_t address) {
    size_t used = 0;
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char *path = NULL;
    if (fd < 0) return NULL;
    for (char *line; !path && (line = next_line(fd, &used));)
        path = path_at(line, address);
    close(fd);
    return path;
}

static void put(const char *text, size_t n) {
    (void)!write(STDERR_FILENO, text, n);
}

static void tell_shortened(int number, siginfo_t *info, void *context) {
    static const char before[] = "forerun: ",
                      after[] =
                          ": it became shorter while it was in use, or its disk failed; a file "
                          "is replaced by renaming another to its name\n";
    (void)context;
    while (atomic_flag_test_and_set(&tells)) // another thread does
        pause();
    char *path = info->si_code == BUS_ADRERR ? mapped_at((uintptr_t)info->si_addr) : NULL;
    if (path) {
        drop_parts();
        put(before, sizeof before - 1);
        put(path, fr_clean(path, path, strlen(path)));
        put(after, sizeof after - 1);
        _exit(FR_EXIT_FAILED);
    }
    signal(number, SIG_DFL); // it is no such file's
    atomic_flag_clear(&tells);
    raise(number);
}

static void catch_shortened(void) {
    struct sigaction action = {.sa_sigaction = tell_shortened, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
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
    catch_shortened();
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
