// program.h — runs the forerun program and keeps what it said.
#ifndef FR_TESTS_CMD_PROGRAM_H
#define FR_TESTS_CMD_PROGRAM_H
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SAID_MOST = 1 << 20, WORDS_MOST = 40 };

typedef struct said {
    int code; // exit code, or 1000 + signal
    char out[SAID_MOST], err[SAID_MOST];
    size_t n_out, n_err;
} said;

static inline size_t read_back(FILE *f, char *to) {
    rewind(f);
    const size_t n = fread(to, 1, SAID_MOST - 1, f);
    to[n] = 0;
    return n;
}

// Puts the cache of the programs that are started from now on into `folder`, until NULL brings back
// where it was before.
static inline void keep_cache_in(const char *folder) {
    static char before[4096];
    if (folder) {
        const char *now = getenv("XDG_CACHE_HOME");
        snprintf(before, sizeof before, "%s", now ? now : "");
        setenv("XDG_CACHE_HOME", folder, 1);
    } else if (*before) {
        setenv("XDG_CACHE_HOME", before, 1);
    } else {
        unsetenv("XDG_CACHE_HOME");
    }
}

// Lets a child run for `ms` by the clock and by its processors': on a busy machine it may not even
// have begun by the clock alone. Returns before that when it has ended, and after a minute.
static inline void let_run(pid_t child, int ms) {
    const int step = 10, most = 60000;
    for (int waited = step; waited <= most; waited += step) {
        clockid_t clock;
        struct timespec used;
        siginfo_t ended = {0};
        usleep((useconds_t)step * 1000);
        if (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) || ended.si_pid) return;
        if (clock_getcpuclockid(child, &clock) || clock_gettime(clock, &used)) return;
        if (waited >= ms && used.tv_sec * 1000 + used.tv_nsec / 1000000 >= ms) return;
    }
}

// The words of `line` are split at spaces; '^' inside a word becomes a space. interrupt_ms: sends
// SIGINT after so long (let_run; 0: never). out: a path for stdout, or NULL to keep it.
static inline void run_with(said *s, const char *line, const char *input, size_t n_input,
                            int interrupt_ms, const char *out_path) {
    char text[4096], *argv[WORDS_MOST + 2] = {(char *)FR_PROGRAM};
    int n = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *w = strtok(text, " "); w && n <= WORDS_MOST; w = strtok(NULL, " ")) {
        for (char *c = w; *c; c++)
            if (*c == '^') *c = ' ';
        argv[n++] = w;
    }
    FILE *in = tmpfile(), *out = tmpfile(), *err = tmpfile();
    fwrite(input, 1, n_input, in);
    rewind(in);
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
        const int to = out_path ? open(out_path, O_WRONLY) : fileno(out);
        dup2(fileno(in), 0);
        dup2(to, 1);
        dup2(fileno(err), 2);
        execv(FR_PROGRAM, argv);
        _exit(127);
    }
    if (interrupt_ms) {
        let_run(child, interrupt_ms);
        kill(child, SIGINT);
    }
    int status = 0;
    waitpid(child, &status, 0);
    s->code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    s->n_out = read_back(out, s->out);
    s->n_err = read_back(err, s->err);
    fclose(in);
    fclose(out);
    fclose(err);
}

static inline int run_line(said *s, const char *line) {
    run_with(s, line, "", 0, 0, NULL);
    return s->code;
}

static inline int run_input(said *s, const char *line, const char *input) {
    run_with(s, line, input, strlen(input), 0, NULL);
    return s->code;
}

static inline int lines_in(const char *text) {
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

// The same without the line that a model's first run on a machine begins with.
static inline int complaints_in(const char *err) {
    return lines_in(err) - !strncmp(err, "First run of this model ", 24);
}

#endif
