// home.h — a home folder for a test, with what other programs keep there.
#ifndef FR_TESTS_SUPPORT_HOME_H
#define FR_TESTS_SUPPORT_HOME_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/save.h"
#include "support/tiny_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char home_path[PATH_MAX];

// A path below the home folder, in one of a few rooms that are used in turn.
static inline const char *at_home(const char *format, ...) {
    static char room[8][PATH_MAX];
    static int next;
    char *path = room[next++ % 8];
    va_list args;
    const int n = snprintf(path, PATH_MAX, "%s/", home_path);
    va_start(args, format);
    vsnprintf(path + n, (size_t)(PATH_MAX - n), format, args);
    va_end(args);
    return path;
}

// Drops what is there, and every variable that names a folder of models.
static inline void home_begin(void) {
    static const char *const variables[] = {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE",
                                            "HF_HOME",      "XDG_CACHE_HOME",
                                            "LLAMA_CACHE",  "OLLAMA_MODELS"};
    char command[PATH_MAX + 64];
    if (!*home_path) {
        assert_non_null(getcwd(home_path, sizeof home_path - 64));
        snprintf(home_path + strlen(home_path), 64, "/home-%d", (int)getpid());
    }
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    setenv("HOME", home_path, 1);
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", home_path, home_path);
    assert_int_equal(system(command), 0);
}
static inline void home_end(void) {
    char command[PATH_MAX + 64];
    snprintf(command, sizeof command, "rm -rf '%s'", home_path);
    assert_int_equal(system(command), 0);
}

static inline void make_folder_of(const char *path) {
    fr_error err = {0};
    if (fr_make_folders(path, 0777, &err)) fail_msg("%s", err.text);
}

static inline void put_bytes(const char *path, const char *bytes, size_t n) {
    fr_error err = {0};
    make_folder_of(path);
    if (fr_save(path, bytes, n, &err)) fail_msg("%s", err.text);
}
static inline void put_text(const char *path, const char *text) {
    put_bytes(path, text, strlen(text));
}

// A small model; d, its width, decides how long the file is.
static inline void put_model(const char *path, int d) {
    fr_error err = {0};
    make_folder_of(path);
    if (fr_tiny_write(&(fr_tiny_options){.n_layer = 1, .d = d, .type = FR_TYPE_Q8_0}, path, &err))
        fail_msg("%s", err.text);
}

static inline void put_link(const char *path, const char *to) {
    make_folder_of(path);
    assert_int_equal(symlink(to, path), 0);
}

#define COMMIT_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define COMMIT_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HUB      ".cache/huggingface/hub"

// A file of Hugging Face's cache below `hub`: a blob, and the snapshot's link to it.
static inline void put_snapshot(const char *hub, const char *repo, const char *commit,
                                const char *file, int d) {
    static int blobs;
    char to[128];
    const int n = ++blobs;
    put_model(at_home("%s/models--%s/blobs/%064d", hub, repo, n), d);
    snprintf(to, sizeof to, "../../%sblobs/%064d", strchr(file, '/') ? "../" : "", n);
    put_link(at_home("%s/models--%s/snapshots/%s/%s", hub, repo, commit, file), to);
}

// An Ollama model: a manifest and its blob. d 0: no blob.
static inline void put_ollama(const char *root, const char *name, int d) {
    static int blobs;
    char manifest[512];
    const int n = ++blobs;
    snprintf(manifest, sizeof manifest,
             "{\"schemaVersion\":2,\"mediaType\":\"application/"
             "vnd.docker.distribution.manifest.v2+json\",\"config\":{\"digest\":\"sha256:%064d\"},"
             "\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.template\",\"digest\":"
             "\"sha256:%064d\",\"size\":3},{\"mediaType\":\"application/vnd.ollama.image.model\","
             "\"digest\":\"sha256:%064d\",\"size\":4}]}",
             n + 1000, n + 2000, n);
    put_text(at_home("%s/manifests/%s", root, name), manifest);
    if (d) put_model(at_home("%s/blobs/sha256-%064d", root, n), d);
}

#endif
