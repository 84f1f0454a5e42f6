// fuzz_json.c — any bytes as JSON. What Jansson reads is read the same. Mended text needs no mending.
// Places stay within the text, and memory within what the scan announced.
#include "json/scan.h"
#include "json/value.h"
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t held, most;

static void *take(size_t bytes) {
    void *p = malloc(bytes);
    if (p) held += malloc_usable_size(p);
    if (held > most) most = held;
    return p;
}

static void give(void *p) {
    if (p) held -= malloc_usable_size(p);
    free(p);
}

static void require(bool so) {
    if (!so) abort();
}

static json_t *load(const char *text, size_t n, bool lenient) {
    const fr_json_scan found = fr_json_look(text, n, lenient);
    fr_error err = {0};
    most = held;
    const size_t before = held;
    json_t *value = lenient ? fr_json_load_lenient(text, n, &err) : fr_json_load(text, n, &err);
    require(most - before + (found.mended ? found.bytes : 0) <= found.memory);
    require(held - before <= found.kept);
    require(value || (err.text[0] && err.code == FR_EARG));
    return value;
}

// The mended text is as long as the scan announced, and needs no more mending.
static void mend(const char *text, size_t n, bool lenient) {
    const fr_json_scan found = fr_json_look(text, n, lenient);
    fr_buffer once = {0};
    require(!fr_json_mend(text, n, lenient, &once, NULL) && once.n == found.bytes);
    const fr_json_scan again = fr_json_look(once.data, once.n, lenient);
    // After one byte order mark there may be another, which is an error.
    require(!again.mended && again.depth == found.depth);
    size_t last = 0;
    for (size_t i = 0; i <= once.n; i += 1 + once.n / 50) {
        const size_t at = fr_json_unmended(text, n, lenient, i);
        require(at >= last && at <= n);
        last = at;
    }
    fr_buffer_free(&once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_set_alloc_funcs(take, give);
    char *text = malloc(size + 1); // of its own size: sanitizers see a read beyond it
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    text[size] = 0;
    mend(text, size, false);
    mend(text, size, true);
    json_t *strict = load(text, size, false), *lenient = load(text, size, true);
    json_t *plain = json_loadb(text, size, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    const fr_json_scan found = fr_json_look(text, size, false);
    if (plain && found.depth <= FR_JSON_MAX_NESTING)
        require(strict && (found.mended || json_equal(plain, strict)));
    if (strict) require(lenient && json_equal(strict, lenient));
    json_decref(plain);
    json_decref(lenient);
    json_decref(strict);
    free(text);
    return 0;
}
