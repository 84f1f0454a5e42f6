// render_lines.c — renders one template with many sets of variables, for bench/templates/judge.py.
//
//     render_lines TEMPLATE [SECONDS]    JSON objects in, a line each; a line out for each:
//     {"text": …} or {"refused": sentence}. SECONDS: the time that strftime_now tells (UTC).
#include "json/template_values.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void answer(const char *key, const char *text, size_t n) {
    json_t *line = json_pack("{s:o}", key, json_stringn(text, n));
    if (!line) line = json_pack("{s:s}", "broken", "not UTF-8");
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(line);
}

static void render(const fr_jinja *t, json_t *vars, const struct tm *now) {
    fr_jinja_values *v;
    fr_marked out = {0};
    fr_error err = {0};
    if (fr_jinja_values_open(&v, &err)) exit(1);
    for (void *it = json_object_iter(vars); it; it = json_object_iter_next(vars, it))
        fr_jinja_set(v, json_object_iter_key(it),
                     fr_json_template_value(v, json_object_iter_value(it)));
    if (fr_jinja_render(t, v, &(fr_jinja_options){.now = now}, &out, &err))
        answer("refused", err.text, strlen(err.text));
    else
        answer("text", out.text.data, out.text.n);
    fr_marked_free(&out);
    fr_jinja_values_close(v);
}

static char *read_all(FILE *f, size_t *n) {
    fr_buffer b = {0};
    char piece[4096];
    for (size_t got; (got = fread(piece, 1, sizeof piece, f)) > 0;)
        if (fr_buffer_add(&b, piece, got, NULL)) exit(1);
    *n = b.n;
    return b.data;
}

int main(int argc, char **argv) {
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    const time_t at = argc > 2 ? (time_t)atoll(argv[2]) : 0;
    struct tm now;
    fr_jinja *t = NULL;
    fr_error err = {0};
    size_t n, cap = 0;
    char *line = NULL;
    if (!f) return 2;
    char *text = read_all(f, &n);
    fclose(f);
    gmtime_r(&at, &now);
    const fr_status st = fr_jinja_open(&t, text ? text : "", n, &err);
    for (ssize_t got; (got = getline(&line, &cap, stdin)) > 0;) {
        json_t *vars = fr_json_load(line, (size_t)got, &err);
        if (!vars)
            answer("broken", err.text, strlen(err.text));
        else if (st)
            answer("refused", err.text, strlen(err.text));
        else
            render(t, vars, &now);
        json_decref(vars);
    }
    fr_jinja_close(t);
    free(line);
    free(text);
    return 0;
}
