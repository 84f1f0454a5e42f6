// fuzz_manifest.c — any bytes as an Ollama manifest: 64 hexadecimal digits come out, or a sentence.
#include "catalog/manifest.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char digest[FR_DIGEST];
    fr_error err = {0};
    memset(digest, 'x', sizeof digest);
    const fr_status st = fr_manifest_read(digest, (const char *)data, size, &err);
    if (st && !err.text[0]) abort();
    if (!st && (digest[FR_DIGEST - 1] || strspn(digest, "0123456789abcdef") != FR_DIGEST - 1))
        abort();
    return 0;
}
