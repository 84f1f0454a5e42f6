// outputs.c — lists outputs and inputs, checks that no output is an input or another output, then
// checks existing files. The locks are taken by the commands that write.
#include "cmd/output/outputs.h"
#include "cmd/output/output_list.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool same(const fr_named_file *a, const fr_named_file *b) {
    return a->known && b->known && fr_file_id_same(&a->id, &b->id);
}

// The pack that a training begins with is read before it is replaced, so it may be the same.
static fr_status check_apart(const fr_named_file *out, const fr_named_file *in, bool force,
                             fr_error *err) {
    if (!same(out, in)) return FR_OK;
    const bool begun = !strcmp(in->option, "--init") && out->kind == FR_OUTPUT_PACK;
    if (begun && force) return FR_OK;
    return fr_fail(err, FR_EARG, "%s %s: would write over %s %s, which is read%s", out->option,
                   out->path, in->option, in->path, begun ? " (--force allows it)" : "");
}

// The path of a file somewhere below a folder, links to folders aside; false: it is not there.
static bool find_below(char path[PATH_MAX], const char *folder, const fr_file_id *id, int depth) {
    DIR *dir = depth < 32 ? opendir(folder) : NULL;
    bool found = false;
    for (struct dirent *d = dir ? readdir(dir) : NULL; d && !found; d = readdir(dir)) {
        char at[PATH_MAX];
        fr_file_id other;
        struct stat s;
        const int n = snprintf(at, sizeof at, "%s/%s", folder, d->d_name);
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") || n >= (int)sizeof at) continue;
        found = fr_file_id_of(&other, at) && fr_file_id_same(&other, id);
        if (found)
            strcpy(path, at);
        else if (!lstat(at, &s) && S_ISDIR(s.st_mode))
            found = find_below(path, at, id, depth + 1);
    }
    if (dir) closedir(dir);
    return found;
}

// A file in a folder that is read is not written over either.
static fr_status check_below(const fr_named_file *out, const fr_named_files *ins, fr_error *err) {
    char path[PATH_MAX];
    for (size_t k = 0; k < ins->n && out->known; k++)
        if (find_below(path, ins->item[k].path, &out->id, 0))
            return fr_fail(err, FR_EARG, "%s %s: would write over %s, which %s reads", out->option,
                           out->path, path, ins->item[k].option);
    return FR_OK;
}

static fr_status check_kind(const fr_named_files *outs, size_t i, const fr_named_files *ins,
                            bool force, fr_error *err) {
    const fr_named_file *out = &outs->item[i];
    fr_file_id *own = malloc(outs->n * sizeof *own);
    if (!own) return fr_fail(err, FR_ENOMEM, "no memory for the names of files");
    for (size_t k = 0; k < outs->n; k++)
        own[k] = outs->item[k].id;
    fr_error why = {0};
    fr_status st = fr_output_check(out->path, out->kind, own, outs->n, &why);
    free(own);
    if (!st) return FR_OK;
    const bool foreign = st == FR_EIO;
    if (foreign && (st = check_below(out, ins, err))) return st;
    return foreign && force ? FR_OK : fr_fail(err, why.code, "%s", why.text);
}

static fr_status check(const fr_named_files *outs, const fr_named_files *ins, bool force,
                       fr_error *err) {
    fr_status st = FR_OK;
    for (size_t i = 0; i < outs->n && !st; i++) {
        const fr_named_file *out = &outs->item[i];
        for (size_t k = 0; k < ins->n && !st; k++)
            st = check_apart(out, &ins->item[k], force, err);
        for (size_t k = 0; k < i && !st; k++)
            if (same(out, &outs->item[k]))
                st = fr_fail(err, FR_EARG, "%s %s: is also %s %s", out->option, out->path,
                             outs->item[k].option, outs->item[k].path);
    }
    for (size_t i = 0; i < outs->n && !st; i++)
        st = check_kind(outs, i, ins, force, err);
    return st;
}

fr_status fr_outputs_check(const char *command, const fr_cmd_args *args, fr_error *err) {
    fr_named_files outs = {0}, ins = {0};
    fr_status st = fr_list_outputs(&outs, command, args, err);
    if (!st && outs.n) st = fr_list_inputs(&ins, args, err);
    if (!st) st = check(&outs, &ins, args->force, err);
    fr_named_files_free(&outs);
    fr_named_files_free(&ins);
    return st;
}

// Pictures and pages need no lock: they are written whole, and nothing is added to them.
static bool is_locked(const fr_named_file *f) {
    struct stat s;
    const bool device = !stat(f->path, &s) && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
    return !device && (f->kind == FR_OUTPUT_PACK || f->kind == FR_OUTPUT_STORE ||
                       f->kind == FR_OUTPUT_ANSWERS || f->kind == FR_OUTPUT_SHARDS);
}

fr_status fr_outputs_lock(fr_output_locks *l, const char *command, const fr_cmd_args *args,
                          fr_error *err) {
    fr_named_files outs = {0};
    l->n = 0;
    fr_status st = fr_list_outputs(&outs, command, args, err);
    for (size_t i = 0; i < outs.n && !st; i++)
        if (is_locked(&outs.item[i]) && l->n < FR_OUTPUT_LOCKS &&
            !(st = fr_lock_take(&l->lock[l->n], outs.item[i].path, err)))
            l->n++;
    fr_named_files_free(&outs);
    if (st) fr_outputs_unlock(l);
    return st;
}

void fr_outputs_unlock(fr_output_locks *l) {
    while (l->n > 0)
        fr_lock_drop(&l->lock[--l->n]);
}
