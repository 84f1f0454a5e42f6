// bus.c — a mapped file that cannot be read any more ends the program with a sentence. Reading a page
// that its file no longer has raises SIGBUS; the system's list of mappings says which file it was. All
// functions here are safe in a handler. Memory is static, as a thread's stack may be short.
#define _GNU_SOURCE
#include "base/clean.h"
#include "cmd/lib/cmd.h"
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static char maps[8 << 10]; // the list, a piece at a time
static size_t n_maps;
static atomic_flag reports = ATOMIC_FLAG_INIT; // a thread is in the handler

static bool read_hex(const char **at, uintptr_t *value) {
    const char *begin = *at;
    for (*value = 0;; ++*at) {
        const char c = **at;
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return *at > begin;
        *value = *value << 4 | (uintptr_t)digit;
    }
}

// The path in a line "BEGIN-END r--p OFFSET DEVICE INODE PATH"; NULL: the mapping does not have the
// address, or is not made as base/map.c does.
static char *path_at(char *line, uintptr_t address) {
    const char *at = line;
    uintptr_t begin, end;
    if (!read_hex(&at, &begin) || *at++ != '-' || !read_hex(&at, &end)) return NULL;
    if (address < begin || address >= end || strncmp(at, " r--p ", 6) != 0) return NULL;
    return strchr(line, '/');
}

// The next line, in `maps`; NULL: none is left. A line has at most PATH_MAX and a hundred bytes.
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

static void report(int number, siginfo_t *info, void *context) {
    static const char before[] = "forerun: ",
                      after[] =
                          ": it became shorter while it was in use, or its disk failed; a file "
                          "is replaced by renaming another to its name\n";
    (void)context;
    while (atomic_flag_test_and_set(&reports)) // until the other thread ends the program
        pause();
    char *path = info->si_code == BUS_ADRERR ? mapped_at((uintptr_t)info->si_addr) : NULL;
    if (path) {
        fr_cmd_drop_parts();
        put(before, sizeof before - 1);
        put(path, fr_clean(path, path, strlen(path)));
        put(after, sizeof after - 1);
        _exit(FR_EXIT_FAILED);
    }
    signal(number, SIG_DFL); // no such file: the signal ends the program
    atomic_flag_clear(&reports);
    raise(number);
}

void fr_cmd_catch_bus_errors(void) {
    struct sigaction action = {.sa_sigaction = report, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
