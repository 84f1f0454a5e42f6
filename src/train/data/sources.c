#include "train/data/sources.h"
#include "base/alloc.h"
#include "base/map.h"
#include "base/path.h"
#include "base/save.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = 4096 };

static void path_of(char path[PATH_ROOM], const char *dir) {
    snprintf(path, PATH_ROOM, "%s/sources.txt", dir);
}

// The file's text, empty where there is none.
static fr_status read_text(fr_buffer *text, const char *dir, fr_error *err) {
    char path[PATH_ROOM];
    fr_map m;
    path_of(path, dir);
    if (access(path, F_OK)) return fr_buffer_add(text, "", 0, err);
    fr_status st = fr_map_open(&m, path, err);
    if (st) return st;
    st = fr_buffer_add(text, m.data, m.bytes, err);
    fr_map_close(&m);
    return st;
}

// "KIND NAME\n" of the next of "PATH,PATH,..."; false: there is none.
static bool next_line(char line[PATH_ROOM], const char *kind, const char **paths) {
    char path[PATH_ROOM];
    const size_t n = strcspn(*paths, ",");
    if (!n && !**paths) return false;
    snprintf(path, sizeof path, "%.*s", (int)n, *paths);
    snprintf(line, PATH_ROOM, "%s %s\n", kind, fr_path_name(path));
    *paths += n + ((*paths)[n] == ',');
    return true;
}

static bool is_among(const char *line, size_t n, const char *kind, const char *paths) {
    char one[PATH_ROOM];
    while (next_line(one, kind, &paths))
        if (strlen(one) == n && !memcmp(one, line, n)) return true;
    return false;
}

fr_status fr_sources_check(const char *dir, const char *kind, const char *paths, fr_error *err) {
    fr_buffer text = {0};
    fr_status st = read_text(&text, dir, err);
    for (const char *at = text.data; !st && at && *at;) {
        const size_t n = strcspn(at, "\n") + (strchr(at, '\n') != NULL);
        if (!is_among(at, n, kind, paths))
            st = fr_fail(err, FR_EDATA,
                         "%s: expected %s answers of the files in --data, found those of %.*s", dir,
                         kind, (int)strcspn(at, "\n"), at);
        at += n;
    }
    fr_buffer_free(&text);
    return st;
}

fr_status fr_sources_add(const char *dir, const char *kind, const char *paths, fr_error *err) {
    fr_buffer text = {0};
    char line[PATH_ROOM], path[PATH_ROOM];
    fr_status st = read_text(&text, dir, err);
    bool changed = false;
    while (!st && next_line(line, kind, &paths))
        if (!text.data || !strstr(text.data, line)) {
            st = fr_buffer_add(&text, line, strlen(line), err);
            changed = true;
        }
    path_of(path, dir);
    if (!st && changed) st = fr_save(path, text.data, text.n, err);
    fr_buffer_free(&text);
    return st;
}

static fr_status add_name(fr_sources *s, const char *name, size_t n, fr_error *err) {
    for (int i = 0; i < s->n; i++)
        if (strlen(s->name[i]) == n && !memcmp(s->name[i], name, n)) return FR_OK;
    char **more = fr_alloc_array((size_t)s->n + 1, sizeof *more), *copy = fr_alloc_zero(n + 1);
    if (!more || !copy) {
        fr_free(more);
        fr_free(copy);
        return fr_fail(err, FR_ENOMEM, "train: no memory for names");
    }
    memcpy(copy, name, n);
    if (s->n) memcpy(more, s->name, (size_t)s->n * sizeof *more);
    fr_free(s->name);
    s->name = more;
    s->name[s->n++] = copy;
    return FR_OK;
}

static fr_status add_lines(fr_sources *s, const char *text, fr_error *err) {
    fr_status st = FR_OK;
    while (*text && !st) {
        const size_t n = strcspn(text, "\n"), kind = strcspn(text, " \n");
        const bool own = kind == 3 && !memcmp(text, "own", 3);
        s->own |= own;
        s->given |= !own;
        if (kind < n) st = add_name(s, text + kind + 1, n - kind - 1, err);
        text += n + (text[n] == '\n');
    }
    return st;
}

fr_status fr_sources_read(fr_sources *s, const char *const *dirs, int n, fr_error *err) {
    fr_status st = FR_OK;
    *s = (fr_sources){0};
    for (int i = 0; i < n && !st; i++) {
        fr_buffer text = {0};
        st = read_text(&text, dirs[i], err);
        if (!st && text.n) {
            st = add_lines(s, text.data, err);
        } else if (!st) {
            char dir[PATH_ROOM];
            snprintf(dir, sizeof dir, "%s", dirs[i]);
            for (size_t k = strlen(dir); k > 1 && dir[k - 1] == '/'; k--)
                dir[k - 1] = 0; // "states/" is called states
            s->given = true;
            st = add_name(s, fr_path_name(dir), strlen(fr_path_name(dir)), err);
        }
        fr_buffer_free(&text);
    }
    if (st) fr_sources_close(s);
    return st;
}

void fr_sources_close(fr_sources *s) {
    for (int i = 0; i < s->n; i++)
        fr_free(s->name[i]);
    fr_free(s->name);
    *s = (fr_sources){0};
}
