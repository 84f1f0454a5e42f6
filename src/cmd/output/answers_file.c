#include "cmd/output/answers_file.h"
#include "base/map.h"
#include "json/value.h"
#include <string.h>
#include <unistd.h>

// first: where the model that it names goes, or NULL.
static bool is_answer(const char *line, size_t n, char *first, size_t room, fr_error *why) {
    json_t *value = fr_json_load(line, n, why);
    if (!value) return false;
    const json_t *messages = json_object_get(value, "messages");
    const size_t turns = json_array_size(messages);
    const json_t *last = turns ? json_array_get(messages, turns - 1) : NULL;
    const char *role = json_string_value(json_object_get(last, "role"));
    const bool good =
        role && !strcmp(role, "assistant") && json_is_string(json_object_get(last, "content"));
    const char *model = json_string_value(json_object_get(value, "model"));
    if (good && first) snprintf(first, room, "%s", model ? model : "");
    json_decref(value);
    if (!good)
        fr_fail(why, FR_EDATA, "expected {\"id\",\"messages\":[...]} that ends in an answer");
    return good;
}

// All lines begin so.
static bool is_half(const char *line, size_t n) {
    static const char begin[] = "{\"id\":";
    return !memcmp(line, begin, n < sizeof begin - 1 ? n : sizeof begin - 1);
}

static bool is_blank(const char *line, size_t n) {
    size_t i = 0;
    while (i < n && strchr(" \t\r", line[i]))
        i++;
    return i == n;
}

// One good line makes it a file of answers, whatever stands in the others.
static fr_status judge(const fr_answers_file *f, const char *path, size_t bad, const fr_error *why,
                       fr_error *err) {
    if (!bad) return FR_OK;
    if (!f->lines)
        return fr_fail(err, FR_EDATA, "%s: expected answers of 'distill', found in line %zu: %s",
                       path, bad, why->text);
    return fr_fail(err, FR_EDATA, "%s, line %zu: damaged, mend it or take it out: %s", path, bad,
                   why->text);
}

static fr_status look(fr_answers_file *f, const fr_map *m, const char *path, fr_error *err) {
    const char *text = (const char *)m->data;
    size_t bad = 0, number = 0; // bad: the first line that is none
    fr_error first = {0}, why = {0};
    for (size_t at = 0; at < m->bytes;) {
        const char *end = memchr(text + at, '\n', m->bytes - at);
        const size_t n = end ? (size_t)(end - text) - at : m->bytes - at;
        number++;
        if (is_blank(text + at, n)) {
            ;
        } else if (is_answer(text + at, n, f->lines ? NULL : f->model, sizeof f->model, &why)) {
            f->lines++;
        } else if (!end && is_half(text + at, n)) {
            break;
        } else if (!bad) {
            bad = number;
            first = why;
        }
        at += n + (end != NULL);
        f->end = at;
        f->unended = !end;
    }
    return judge(f, path, bad, &first, err);
}

fr_status fr_answers_file_look(fr_answers_file *f, const char *path, fr_error *err) {
    fr_map m;
    *f = (fr_answers_file){0};
    if (access(path, F_OK)) return FR_OK;
    fr_status st = fr_map_open(&m, path, err);
    if (st) return st;
    st = look(f, &m, path, err);
    fr_map_close(&m);
    return st;
}
