// find.c — looks into each folder in turn and opens every .gguf file in it. It keeps the path of
// the pack of the right drafter and target that is expected to bring most tokens.
#include "draft/pack/find.h"
#include "base/file_id.h"
#include "base/path.h"
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Tokens that the first guesses of a pack are expected to bring, by its accuracies.
static double promise_of(const fr_pack *p) {
    double path = 1, tokens = 0;
    for (int k = 1; k <= p->depth; k++) {
        path *= fr_accuracy_rate(&p->accuracy, k, 0);
        tokens += path;
    }
    return tokens;
}

typedef struct search {
    const fr_pack_form *form;
    const fr_gguf *target;
    char print[FR_GGUF_FINGERPRINT]; // of the target; "": not taken yet
    char *path;                      // of the best so far
    double promise;                  // ... and its expected gain; below 0: none found
} search;

// The fingerprint reads from every tensor of the target, so it is taken only where there is a pack
// to compare.
static const char *print_of(search *s) {
    if (!*s->print) fr_gguf_fingerprint(s->target, s->print);
    return s->print;
}

static void look_at(void *user, const char *path, const fr_pack *p) {
    search *s = user;
    const double promise = promise_of(p);
    if (p->form != s->form || promise <= s->promise || strcmp(p->target, print_of(s)) != 0) return;
    s->promise = promise;
    snprintf(s->path, FR_PACK_PATH, "%s", path);
}

static void look_into(void *user, const char *folder) {
    fr_pack_list(folder, look_at, user);
}

void fr_pack_list(const char *folder, fr_pack_visit_fn *visit, void *user) {
    char path[FR_PACK_PATH + NAME_MAX + 2];
    struct dirent **entry;
    fr_error unsaid;
    fr_pack p;
    const int n = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const int bytes = snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        if (fr_path_ends(entry[i]->d_name, ".gguf") && bytes < FR_PACK_PATH &&
            !fr_pack_open(&p, path, &unsaid)) {
            visit(user, path, &p);
            fr_pack_close(&p);
        }
        free(entry[i]);
    }
    if (n >= 0) free(entry);
}

// The folder of a file, with the slash; "" for one here.
static void folder_of(char dir[FR_PACK_PATH], const char *file) {
    snprintf(dir, FR_PACK_PATH, "%.*s", (int)fr_path_folder(file), file);
}

static void visit_inside(fr_pack_folder_fn *visit, void *user, const char *folder,
                         const char *tail) {
    char dir[2 * FR_PACK_PATH];
    if (snprintf(dir, sizeof dir, "%s%s", folder, tail) < FR_PACK_PATH) visit(user, dir);
}

// The program's folder, with the slash; false if the system does not report it.
static bool folder_of_program(char dir[FR_PACK_PATH]) {
    char program[FR_PACK_PATH];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0) return false;
    program[n] = 0;
    folder_of(dir, program);
    return true;
}

static void visit_by_program(fr_pack_folder_fn *visit, void *user) {
    char folder[FR_PACK_PATH];
    if (!folder_of_program(folder)) return;
    visit_inside(visit, user, folder, "../packs");
    visit_inside(visit, user, folder, "../share/forerun/packs");
}

// The folder of `make install`, for other programs that use the library. For an installed forerun
// it was reported before, as the folder beside the program's.
static void visit_installed(fr_pack_folder_fn *visit, void *user) {
    char folder[FR_PACK_PATH], by_program[2 * FR_PACK_PATH];
    if (folder_of_program(folder)) {
        snprintf(by_program, sizeof by_program, "%s../share/forerun/packs", folder);
        if (fr_same_file(by_program, FR_PACKS_DIR)) return;
    }
    visit(user, FR_PACKS_DIR);
}

static void visit_at_home(fr_pack_folder_fn *visit, void *user) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && *data)
        visit_inside(visit, user, data, "/forerun/packs");
    else if (home && *home)
        visit_inside(visit, user, home, "/.local/share/forerun/packs");
}

void fr_pack_folders(const char *target, fr_pack_folder_fn *visit, void *user) {
    char folder[FR_PACK_PATH];
    if (target) {
        folder_of(folder, target);
        visit_inside(visit, user, folder, "packs");
    }
    visit_by_program(visit, user);
    visit_installed(visit, user);
    visit_at_home(visit, user);
}

fr_status fr_pack_find(char path[FR_PACK_PATH], const fr_pack_form *form, const fr_gguf *target,
                       fr_error *err) {
    char folder[FR_PACK_PATH];
    search s = {.form = form, .target = target, .path = path, .promise = -1};
    folder_of(folder, fr_gguf_path(target));
    fr_pack_folders(fr_gguf_path(target), look_into, &s);
    if (s.promise >= 0) return FR_OK;
    return fr_fail(err, FR_EIO,
                   "no pack for this model (fingerprint %s) in %spacks, in packs of this program, "
                   "installed, or in $XDG_DATA_HOME/forerun/packs: name the file, or train one",
                   print_of(&s), folder);
}
