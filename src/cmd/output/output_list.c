// output_list.c — collects the files that a command line writes, then those that it reads, each
// with its option and its file id.
#include "cmd/output/output_list.h"
#include "base/alloc.h"
#include "cmd/bench/bench.h"
#include "draft/spec.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void fr_named_files_free(fr_named_files *f) {
    fr_free(f->item);
    *f = (fr_named_files){0};
}

// head and tail make the path.
static fr_status add(fr_named_files *to, const char *option, const char *head, const char *tail,
                     fr_output_kind kind, fr_error *err) {
    if (!fr_list_reserve((void **)&to->item, &to->cap, to->n, 1, sizeof *to->item))
        return fr_fail(err, FR_ENOMEM, "no memory for the names of files");
    fr_named_file *f = &to->item[to->n];
    *f = (fr_named_file){.kind = kind};
    snprintf(f->option, sizeof f->option, "%s", option);
    const int n = snprintf(f->path, sizeof f->path, "%s%s", head, tail);
    if (n < 0 || n >= (int)sizeof f->path)
        return fr_fail(err, FR_EIO, "%s %.80s...: too long a path", option, head);
    f->known = fr_file_id_of(&f->id, f->path);
    to->n++;
    return FR_OK;
}

// ---------------------------------------------------------------- outputs
// Whether a training makes a folder of data: where --data names files. With --resume it continues
// that folder or reads it, and takes the same locks either way.
static bool makes_data(const fr_cmd_args *a) {
    char path[PATH_MAX];
    struct stat s;
    bool files = false;
    for (const char *at = a->data; at && *at; at += *at == ',') {
        const size_t n = strcspn(at, ",");
        snprintf(path, sizeof path, "%.*s", (int)n, at);
        files |= !stat(path, &s) && !S_ISDIR(s.st_mode);
        at += n;
    }
    return files;
}

static fr_status list_training(fr_named_files *to, const fr_cmd_args *a, fr_error *err) {
    fr_status st = add(to, "-o", a->output, "", FR_OUTPUT_PACK, err);
    if (!st) st = add(to, "-o", a->output, ".ckpt", FR_OUTPUT_CHECKPOINT, err);
    if (!st && makes_data(a)) st = add(to, "-o", a->output, ".data", FR_OUTPUT_SHARDS, err);
    return st;
}

static fr_status list_report(fr_named_files *to, const char *folder, fr_error *err) {
    char name[64];
    fr_status st = add(to, "--report", folder, "/index.html", FR_OUTPUT_PAGE, err);
    if (!st) st = add(to, "--report", folder, "/bench.json", FR_OUTPUT_NUMBERS, err);
    for (int i = 0; i < FR_BENCH_PICTURES && !st; i++) {
        snprintf(name, sizeof name, "/%s", fr_bench_picture_file(i));
        st = add(to, "--report", folder, name, FR_OUTPUT_PICTURE, err);
    }
    return st;
}

static fr_status list_manual(fr_named_files *to, const char *folder, fr_error *err) {
    char name[64];
    fr_status st = add(to, "--dir", folder, "/forerun.1", FR_OUTPUT_MANUAL, err);
    for (const fr_command *const *c = fr_cmd_program.commands; *c && !st; c++) {
        if ((*c)->hidden) continue;
        snprintf(name, sizeof name, "/forerun-%s.1", (*c)->name);
        st = add(to, "--dir", folder, name, FR_OUTPUT_MANUAL, err);
    }
    return st;
}

fr_status fr_list_outputs(fr_named_files *to, const char *command, const fr_cmd_args *a,
                          fr_error *err) {
    fr_status st = FR_OK;
    if (a->output && !strcmp(command, "train"))
        st = list_training(to, a, err);
    else if (a->output)
        st = add(to, "-o", a->output, "",
                 !strcmp(command, "capture")     ? FR_OUTPUT_SHARDS
                 : !strcmp(command, "datastore") ? FR_OUTPUT_STORE
                 : a->init                       ? FR_OUTPUT_PACK // made of another one
                                                 : FR_OUTPUT_ANSWERS,
                 err);
    if (!st && a->results) st = add(to, "-o", a->results, "", FR_OUTPUT_REPLAY, err);
    if (!st && a->answers) st = add(to, "--answers", a->answers, "", FR_OUTPUT_REPLAY, err);
    if (!st && a->capture) st = add(to, "--capture", a->capture, "", FR_OUTPUT_SHARDS, err);
    if (!st && a->plot) st = add(to, "--plot", a->plot, "", FR_OUTPUT_PICTURE, err);
    if (!st && a->report) st = list_report(to, a->report, err);
    if (!st && a->man_dir) st = list_manual(to, a->man_dir, err);
    return st;
}

// ---------------------------------------------------------------- inputs
// An input that does not exist cannot be overwritten.
static fr_status add_input(fr_named_files *to, const char *option, const char *path,
                           fr_error *err) {
    struct stat s;
    if (!path || !*path || strlen(path) >= PATH_MAX || stat(path, &s)) return FR_OK;
    return add(to, option, path, "", FR_OUTPUT_PACK, err);
}

// A model with the other files of a split one: NAME-00001-of-00003.gguf.
static fr_status add_model(fr_named_files *to, const char *option, const char *path,
                           fr_error *err) {
    const size_t tail = strlen("-00001-of-00003.gguf"), n = path ? strlen(path) : 0;
    int first, count;
    char end[32];
    fr_status st = add_input(to, option, path, err);
    if (n <= tail || n >= PATH_MAX ||
        sscanf(path + n - tail, "-%5d-of-%5d.%4s", &first, &count, end) != 3 || strcmp(end, "gguf"))
        return st;
    for (int i = 1; i <= count && !st; i++) {
        char part[PATH_MAX];
        snprintf(part, sizeof part, "%.*s-%05d-of-%05d.gguf", (int)(n - tail), path, i, count);
        if (i != first) st = add_input(to, option, part, err);
    }
    return st;
}

// Calls a function for each part of "A,B,C".
static fr_status add_each(fr_named_files *to, const char *option, const char *text,
                          fr_status (*one)(fr_named_files *, const char *, const char *,
                                           fr_error *),
                          fr_error *err) {
    char *list = text ? strdup(text) : NULL, *rest = NULL;
    if (text && !list) return fr_fail(err, FR_ENOMEM, "no memory for the names of files");
    fr_status st = FR_OK;
    for (char *s = list ? strtok_r(list, ",", &rest) : NULL; s && !st;
         s = strtok_r(NULL, ",", &rest))
        st = one(to, option, s, err);
    free(list);
    return st;
}

// A SPEC that cannot be parsed is reported elsewhere.
static fr_status add_spec(fr_named_files *to, const char *option, const char *text, fr_error *err) {
    fr_error unsaid;
    fr_spec *spec = malloc(sizeof *spec);
    if (!spec) return fr_fail(err, FR_ENOMEM, "no memory for a drafter");
    fr_status st = FR_OK;
    if (!fr_spec_parse(spec, text, &unsaid))
        for (int i = 0; i < spec->n && !st; i++) {
            const char *driver = strchr(spec->part[i].driver, ':');
            st = add_model(to, option, spec->part[i].file, err);
            if (!st && driver) st = add_model(to, option, driver + 1, err);
        }
    free(spec);
    return st;
}

fr_status fr_list_inputs(fr_named_files *to, const fr_cmd_args *a, fr_error *err) {
    fr_status st = add_model(to, "-m", a->model, err);
    if (!st) st = add_each(to, "--prompts", a->prompts, add_input, err);
    if (!st) st = add_each(to, "--data", a->data, add_input, err);
    if (!st) st = add_input(to, "-f", a->file, err);
    if (!st) st = add_input(to, "--messages", a->messages, err);
    if (!st) st = add_input(to, "--request", a->request, err);
    if (!st) st = add_input(to, "--init", a->init, err);
    if (!st) st = add_input(to, "--tree", a->tree, err);
    if (!st) st = add_input(to, "--chat-template-file", a->chat_template_file, err);
    if (!st) st = add_each(to, "--drafter", a->drafter, add_spec, err);
    if (!st) st = add_each(to, "--drafters", a->drafters, add_spec, err);
    return st;
}
