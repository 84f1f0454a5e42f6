// ollama.c — Ollama's folder: manifests/HOST/NAMESPACE/NAME/TAG, each of which names a file in
// blobs/.
#include "base/map.h"
#include "catalog/manifest.h"
#include "catalog/walk.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// The file of a digest; older versions wrote a colon.
static bool find_blob(char path[PATH_MAX], const char *root, const char *digest) {
    char name[16 + FR_DIGEST];
    snprintf(name, sizeof name, "blobs/sha256:%s", digest);
    if (fr_path_join(path, root, name) && !access(path, F_OK)) return true;
    snprintf(name, sizeof name, "blobs/sha256-%s", digest);
    return fr_path_join(path, root, name) && !access(path, F_OK);
}

// Half a sentence in *why where the manifest leads to no file; `path` then is the manifest's.
static fr_status follow(char path[PATH_MAX], const char *root, const char *manifest,
                        fr_error *why) {
    char digest[FR_DIGEST];
    fr_map m;
    snprintf(path, PATH_MAX, "%s", manifest);
    fr_status st = fr_map_open(&m, manifest, why);
    if (st) return st;
    st = fr_manifest_read(digest, (const char *)m.data, m.bytes, why);
    fr_map_close(&m);
    if (st) return st;
    if (find_blob(path, root, digest)) return FR_OK;
    snprintf(path, PATH_MAX, "%s", manifest);
    return fr_fail(why, FR_EIO, "its file blobs/sha256-%s is not there", digest);
}

// "HOST/NAMESPACE/NAME" as users write it, without the default parts.
static const char *short_name(const char *name) {
    static const char host[] = "registry.ollama.ai/", library[] = "library/";
    if (strncmp(name, host, sizeof host - 1)) return name;
    name += sizeof host - 1;
    return strncmp(name, library, sizeof library - 1) ? name : name + sizeof library - 1;
}

static fr_status add_manifest(fr_walk *w, const char *path, const char *name, bool folder,
                              void *user) {
    char repo[PATH_MAX], file[PATH_MAX];
    int slashes = 0;
    fr_error why = {0};
    (void)folder;
    for (const char *s = name; *s; s++)
        slashes += *s == '/';
    if (slashes != 3) return FR_OK;
    const char *tag = strrchr(name, '/');
    snprintf(repo, sizeof repo, "%.*s", (int)(tag - name), name);
    const fr_status st = follow(file, user, path, &why);
    if (st == FR_ENOMEM) return fr_fail(w->err, st, "%s", why.text);
    return fr_walk_add(w, short_name(repo), tag + 1, file, st ? why.text : NULL);
}

fr_status fr_walk_ollama(fr_walk *w, const char *path) {
    char manifests[PATH_MAX];
    if (!fr_path_join(manifests, path, "manifests")) return FR_OK;
    return fr_walk_below(w, manifests, 3, add_manifest, (void *)path);
}
