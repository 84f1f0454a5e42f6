// run_corpus.c — runs a fuzz target over files, so that every build replays what the fuzzers found.
//
//     corpus_gguf FILE|FOLDER...    exit 0 when all inputs were taken without a crash
//
// Each input is also cut at a few places: a parser's faults like to sit at the end.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int runs, files;

// The target gets a copy of exactly `size` bytes, so that a sanitizer sees the first byte beyond
// it.
static int run_bytes(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) return 1;
    if (size) memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    runs++;
    return 0;
}

static int run_cuts(const uint8_t *data, size_t size) {
    int failed = run_bytes(data, size);
    for (size_t cut = 1; cut < size; cut *= 2)
        failed |= run_bytes(data, size - cut);
    return failed;
}

static int run_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    int failed = 1;
    size_t cap = 1 << 16, size = 0;
    uint8_t *data = malloc(cap);
    while (data) {
        size += fread(data + size, 1, cap - size, f);
        if (size < cap) {
            failed = run_cuts(data, size);
            files++;
            break;
        }
        uint8_t *more = realloc(data, cap *= 2);
        if (!more) break;
        data = more;
    }
    free(data);
    fclose(f);
    return failed;
}

static int run_path(const char *path) {
    struct stat st;
    if (stat(path, &st)) {
        perror(path);
        return 1;
    }
    if (!S_ISDIR(st.st_mode)) return run_file(path);
    struct dirent **names;
    int n = scandir(path, &names, NULL, alphasort), failed = 0;
    if (n < 0) {
        perror(path);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        char file[4096];
        int length = snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && length > 0 && (size_t)length < sizeof file)
            failed |= run_path(file);
        free(names[i]);
    }
    free(names);
    return failed;
}

int main(int argc, char **argv) {
    int failed = run_bytes((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++)
        failed |= run_path(argv[i]);
    printf("%d files, %d runs\n", files, runs);
    return failed || (argc > 1 && !files);
}
