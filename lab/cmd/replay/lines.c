// lines.c — reads whole lines, cuts off what stands after them, and appends.
#include "lab/cmd/replay/lines.h"
#include "json/value.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static fr_status read_line(const lab_lines *l, const char *text, size_t n, int number,
                           lab_line_fn *visit, void *user, fr_error *err) {
    fr_error why = {0};
    json_t *line = fr_json_load(text, n, &why);
    const fr_status st = line ? visit(user, number, line, &why) : FR_EDATA;
    json_decref(line);
    return st ? fr_fail(err, st, "%s, line %d: %s", l->path, number, why.text) : FR_OK;
}

// *end: of the last whole line.
static fr_status read_all(const lab_lines *l, const fr_buffer *all, size_t *end, lab_line_fn *visit,
                          void *user, fr_error *err) {
    fr_status st = FR_OK;
    *end = 0;
    for (int number = 1; *end < all->n && !st; number++) {
        const char *at = all->data + *end, *stop = memchr(at, '\n', all->n - *end);
        if (!stop) break;
        st = read_line(l, at, (size_t)(stop - at), number, visit, user, err);
        *end += (size_t)(stop - at) + 1;
    }
    return st;
}

fr_status lab_lines_open(lab_lines *l, const char *path, lab_line_fn *visit, void *user,
                         fr_error *err) {
    fr_buffer all = {0};
    size_t end = 0;
    *l = (lab_lines){.path = path};
    if (!path) return FR_OK;
    fr_status st = fr_lock_take(&l->lock, path, err);
    if (!st && !access(path, F_OK)) st = fr_cmd_read_file(&all, path, err);
    if (!st) st = read_all(l, &all, &end, visit, user, err);
    if (!st && all.n && !end)
        st = fr_fail(err, FR_EDATA, "%s: expected whole lines of JSON, found %zu bytes and no line",
                     path, all.n);
    fr_buffer_free(&all);
    if (!st && (!(l->out = fopen(path, "ab")) || ftruncate(fileno(l->out), (off_t)end)))
        st = fr_fail(err, FR_EIO, "%s: %s", path, strerror(errno));
    if (st) lab_lines_close(l);
    return st;
}

fr_status lab_lines_add(lab_lines *l, json_t *line, fr_error *err) {
    if (!line) return fr_fail(err, FR_ENOMEM, "replay: no memory for a line");
    const bool good = !l->out || (!json_dumpf(line, l->out, JSON_COMPACT) &&
                                  fputc('\n', l->out) != EOF && !fflush(l->out));
    json_decref(line);
    return good ? FR_OK : fr_fail(err, FR_EIO, "%s: %s", l->path, strerror(errno));
}

void lab_lines_close(lab_lines *l) {
    if (l->out) fclose(l->out);
    fr_lock_drop(&l->lock);
    *l = (lab_lines){0};
}
