#include "catalog/manifest.h"
#include "json/value.h"
#include <stdio.h>
#include <string.h>

static fr_status read_digest(char digest[FR_DIGEST], const json_t *value, fr_error *err) {
    static const char kind[] = "sha256:";
    const size_t head = sizeof kind - 1;
    const char *text = json_string_value(value);
    if (!text || json_string_length(value) != head + FR_DIGEST - 1 || strncmp(text, kind, head) ||
        strspn(text + head, "0123456789abcdef") != FR_DIGEST - 1)
        return fr_fail(err, FR_EDATA,
                       "the model's \"digest\": expected sha256: and 64 hexadecimal digits");
    snprintf(digest, FR_DIGEST, "%s", text + head);
    return FR_OK;
}

static bool is_model(const json_t *layer) {
    const char *type = json_string_value(json_object_get(layer, "mediaType"));
    return type && !strcmp(type, "application/vnd.ollama.image.model");
}

static fr_status find_model(char digest[FR_DIGEST], const json_t *root, fr_error *err) {
    const json_t *layers = json_object_get(root, "layers"), *model = NULL;
    int found = 0;
    if (!json_is_array(layers)) return fr_fail(err, FR_EDATA, "\"layers\": expected a list");
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const json_t *layer = json_array_get(layers, i);
        if (!is_model(layer)) continue;
        model = layer;
        found++;
    }
    if (found != 1)
        return fr_fail(err, FR_EDATA, "\"layers\": expected one model in GGUF, found %d", found);
    return read_digest(digest, json_object_get(model, "digest"), err);
}

fr_status fr_manifest_read(char digest[FR_DIGEST], const char *json, size_t bytes, fr_error *err) {
    fr_error why = {0};
    if (bytes > FR_MANIFEST_MAX)
        return fr_fail(err, FR_EDATA, "%zu bytes, expected at most %d", bytes, FR_MANIFEST_MAX);
    json_t *root = fr_json_load(json, bytes, &why);
    if (!root) return fr_fail(err, why.code == FR_ENOMEM ? FR_ENOMEM : FR_EDATA, "%s", why.text);
    const fr_status st = find_model(digest, root, err);
    json_decref(root);
    return st;
}
