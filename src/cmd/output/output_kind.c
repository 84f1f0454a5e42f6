// output_kind.c — checks the path of an output: a file by its first bytes, a folder by the names
// in it. A path that is no earlier output of the same kind is refused.
#define _GNU_SOURCE
#include "cmd/output/output_kind.h"
#include "base/map.h"
#include "base/path.h"
#include "cmd/output/answers_file.h"
#include "draft/pack/pack.h"
#include "draft/retrieval/datastore_file.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// ---------------------------------------------------------------- files
static const char *const names[] = {"a pack",
                                    "the checkpoint of a training",
                                    "a datastore",
                                    "answers of 'distill'",
                                    "a folder",
                                    "a picture of forerun's",
                                    "a page of forerun's",
                                    "numbers of 'bench'",
                                    "a manual page",
                                    "lines of 'replay'"};

static bool begins(const fr_map *m, const char *with, size_t n) {
    return m->bytes >= n && !memcmp(m->data, with, n);
}

// In its first `most` bytes.
static bool holds(const fr_map *m, const char *text, size_t most) {
    return memmem(m->data, m->bytes < most ? m->bytes : most, text, strlen(text)) != NULL;
}

// By the mark at its beginning, or by text that every file of its kind holds.
static bool is_kind(const fr_map *m, const char *path, fr_output_kind kind) {
    switch (kind) {
    case FR_OUTPUT_PACK:
        return fr_pack_is_file(path);
    case FR_OUTPUT_CHECKPOINT:
        return begins(m, "FRTRAIN", 8);
    case FR_OUTPUT_STORE:
        return begins(m, FR_DATASTORE_MAGIC, 7); // of any version
    case FR_OUTPUT_PICTURE:
        return begins(m, "<svg ", 5) &&
               (holds(m, "<metadata>forerun ", 1024) || holds(m, "<rect class=\"paper\"", 8192));
    case FR_OUTPUT_PAGE:
        return holds(m, "<meta name=\"generator\" content=\"forerun ", 4096) ||
               holds(m, "<title>forerun bench: ", 65536);
    case FR_OUTPUT_NUMBERS:
        return begins(m, "{", 1) && holds(m, "\"prompts_repeated\":", m->bytes) &&
               holds(m, "\"tree_sizes\":", m->bytes);
    case FR_OUTPUT_MANUAL:
        return begins(m, ".TH FORERUN", 11);
    case FR_OUTPUT_ANSWERS:
    case FR_OUTPUT_SHARDS:
    case FR_OUTPUT_REPLAY:
        break;
    }
    return false;
}

static fr_status check_answers(const char *path, fr_error *err) {
    fr_answers_file f;
    fr_error why;
    const fr_status st = fr_answers_file_look(&f, path, &why);
    if (st != FR_EDATA || f.lines) return st ? fr_fail(err, st, "%s", why.text) : FR_OK;
    return fr_fail(err, FR_EIO, "%s; --force writes over it", why.text);
}

static fr_status check_file(const char *path, fr_output_kind kind, fr_error *err) {
    fr_map m;
    const fr_status st = fr_map_open(&m, path, err);
    if (st) return st;
    const bool good = is_kind(&m, path, kind);
    fr_map_close(&m);
    if (good) return FR_OK;
    if (kind == FR_OUTPUT_CHECKPOINT)
        return fr_fail(err, FR_EDATA, "%s: expected %s, found another file", path, names[kind]);
    return fr_fail(err, FR_EIO, "%s: expected %s, found another file; --force writes over it", path,
                   names[kind]);
}

// ---------------------------------------------------------------- a folder of shards
static bool is_shard(const char *name) {
    return !strncmp(name, "shard-", 6) && fr_path_ends(name, ".frs") &&
           strspn(name + 6, "0123456789") == strlen(name) - 10;
}

// Lines "own NAME" and "given NAME".
static bool is_sources(const char *path) {
    fr_map m;
    fr_error unsaid;
    bool good = true;
    if (fr_map_open(&m, path, &unsaid)) return false;
    for (const char *at = (const char *)m.data, *end = at + m.bytes; good && at < end;) {
        const size_t left = (size_t)(end - at);
        const char *line = memchr(at, '\n', left);
        good = line &&
               ((left > 4 && !memcmp(at, "own ", 4)) || (left > 6 && !memcmp(at, "given ", 6)));
        at = line ? line + 1 : end;
    }
    fr_map_close(&m);
    return good;
}

// Hidden files, and what a process that was killed left, do no harm.
static bool belongs(const char *path, const char *name, const fr_file_id *own, size_t n) {
    fr_file_id id;
    if (*name == '.' || is_shard(name) || fr_path_ends(name, ".part") ||
        fr_path_ends(name, ".lock"))
        return true;
    if (!strcmp(name, "sources.txt")) return is_sources(path);
    for (size_t i = 0; i < n; i++)
        if (fr_file_id_of(&id, path) && fr_file_id_same(&id, &own[i])) return true;
    return false;
}

static fr_status check_folder(const char *folder, const fr_file_id *own, size_t n, fr_error *err) {
    char path[PATH_MAX + NAME_MAX + 2];
    DIR *dir = opendir(folder);
    if (!dir) return fr_fail(err, FR_EDATA, "%s: %m", folder);
    fr_status st = FR_OK;
    for (struct dirent *d; !st && (d = readdir(dir));) {
        snprintf(path, sizeof path, "%.*s/%s", PATH_MAX, folder, d->d_name);
        if (!belongs(path, d->d_name, own, n))
            st = fr_fail(err, FR_EIO,
                         "%s: expected a folder of shards or an empty one, found %s in it; --force "
                         "writes there all the same",
                         folder, d->d_name);
    }
    closedir(dir);
    return st;
}

// ---------------------------------------------------------------- both
fr_status fr_output_check(const char *path, fr_output_kind kind, const fr_file_id *own, size_t n,
                          fr_error *err) {
    struct stat s;
    const bool folder = kind == FR_OUTPUT_SHARDS;
    if (stat(path, &s) || (S_ISREG(s.st_mode) && !s.st_size && !folder)) return FR_OK;
    if (!S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode)) return FR_OK; // opening it reports that
    if (folder != S_ISDIR(s.st_mode))
        return fr_fail(err, FR_EDATA, "%s: expected a %s, found a %s", path,
                       folder ? "folder" : "file", folder ? "file" : "folder");
    if (folder) return check_folder(path, own, n, err);
    if (kind == FR_OUTPUT_REPLAY) return FR_OK;
    return kind == FR_OUTPUT_ANSWERS ? check_answers(path, err) : check_file(path, kind, err);
}
