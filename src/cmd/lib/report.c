// report.c — sentences, JSON and colours; queries of the commands to the system.
#define _GNU_SOURCE
#include "base/clean.h"
#include "base/save.h"
#include "cmd/lib/cmd.h"
#include "kern/kern.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *program = "forerun";

void fr_cmd_speak_as(const char *name) {
    program = name;
}

void fr_cmd_print_clean(FILE *out, const char *text, size_t bytes) {
    while (bytes) {
        bool shown;
        const size_t n = fr_clean_next(text, bytes, &shown);
        fwrite(shown ? text : "?", 1, shown ? n : 1, out);
        text += n;
        bytes -= n;
    }
}

static void print_args(FILE *out, const char *format, va_list args) {
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0) return; // no memory for a sentence
    for (const char *line = text; *line;) {
        const size_t n = strcspn(line, "\n");
        fr_cmd_print_clean(out, line, n);
        if (line[n]) putc('\n', out);
        line += n + (line[n] == '\n');
    }
    free(text);
}

void fr_cmd_print(FILE *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    print_args(out, format, args);
    va_end(args);
}

int fr_cmd_fail_as(int exit_code, const fr_error *err) {
    fprintf(stderr, "%s: %s\n", program, err->text);
    return exit_code;
}

int fr_cmd_fail(const fr_error *err) {
    if (err->code == FR_EINTR) {
        fprintf(stderr, "%s: interrupted\n", program);
        return FR_EXIT_INTERRUPTED;
    }
    return fr_cmd_fail_as(err->code == FR_EARG ? FR_EXIT_USAGE : FR_EXIT_FAILED, err);
}

int fr_cmd_usage(const char *command, const char *format, ...) {
    va_list args;
    fprintf(stderr, "%s: ", program);
    va_start(args, format);
    print_args(stderr, format, args);
    va_end(args);
    fprintf(stderr, " (see '%s %s%s--help')\n", program, command, *command ? " " : "");
    return FR_EXIT_USAGE;
}

int fr_cmd_check(const char *command, const fr_cmd_args *args) {
    if (!args->model) return fr_cmd_usage(command, "-m: a MODEL is needed");
    const fr_kern *kern;
    fr_error err;
    if (fr_kern_pick(&kern, fr_cmd_isa(args), &err)) return fr_cmd_usage(command, "--%s", err.text);
    return FR_EXIT_DONE;
}

fr_status fr_cmd_model(const fr_cmd_args *args, fr_error *err) {
    if (!args->model_missing) return FR_OK;
    *err = *args->model_missing;
    return err->code;
}

int fr_cmd_print_json(json_t *value) {
    if (!value) {
        fprintf(stderr, "forerun: output: no memory for the JSON document\n");
        return FR_EXIT_FAILED;
    }
    const int bad = json_dumpf(value, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(value);
    putchar('\n');
    if (bad && !ferror(stdout)) {
        fprintf(stderr, "forerun: output: no memory for the JSON document\n");
        return FR_EXIT_FAILED;
    }
    return FR_EXIT_DONE;
}

json_t *fr_cmd_real(double x) {
    return x - x == 0 ? json_real(x) : json_null();
}

// Why stdout failed first; the stream itself remembers only that it did.
static int output_error;

bool fr_cmd_flush(void) {
    if (output_error) return false;
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout)) return true;
    output_error = errno ? errno : EIO;
    return false;
}

// Not through the stream, which drops its buffer when a signal cuts its write short.
bool fr_cmd_write(const char *text, size_t bytes) {
    if (!fr_cmd_flush()) return false;
    if (!fr_write_all(STDOUT_FILENO, text, bytes)) output_error = errno ? errno : EIO;
    return !output_error;
}

int fr_cmd_end_output(int code) {
    if (fr_cmd_flush()) return code;
    // No message where the reader has seen enough, as `head` has.
    if (output_error != EPIPE)
        fprintf(stderr, "forerun: standard output: %s\n", strerror(output_error));
    return FR_EXIT_FAILED;
}

bool fr_cmd_colored(int when, FILE *out) {
    if (when != FR_COLOR_AUTO) return when == FR_COLOR_ALWAYS;
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(fileno(out)) && !(no && *no) && terminal && strcmp(terminal, "dumb") != 0;
}

size_t fr_cmd_peak_bytes(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (size_t)usage.ru_maxrss * 1024;
}

bool fr_cmd_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    if (user) fr_progress_show(user, what, done, total);
    return !fr_cmd_interrupted();
}
