#include "base/system_file.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_below(const char *root, const char *path) {
    char whole[PATH_MAX];
    const int n = snprintf(whole, sizeof whole, "%s%s", root, path);
    return n > 0 && n < (int)sizeof whole ? fopen(whole, "re") : NULL;
}

// Digits alone: no sign, no number that does not fit.
static bool read_number(const char *text, uint64_t *value) {
    while (*text == ' ' || *text == '\t')
        text++;
    if (!isdigit((unsigned char)*text)) return false;
    errno = 0;
    const unsigned long long v = strtoull(text, NULL, 10);
    if (errno) return false;
    *value = v;
    return true;
}

bool fr_system_line(const char *root, const char *path, char *line, size_t room) {
    FILE *f = open_below(root, path);
    const bool read = f && fgets(line, (int)room, f);
    if (f) fclose(f);
    if (!read) *line = 0;
    line[strcspn(line, "\n")] = 0;
    return read;
}

bool fr_system_number(const char *root, const char *path, uint64_t *value) {
    char line[64];
    return fr_system_line(root, path, line, sizeof line) && read_number(line, value);
}

bool fr_system_entry(const char *root, const char *path, const char *key, uint64_t *value) {
    char line[512];
    const size_t n = strlen(key);
    bool found = false;
    FILE *f = open_below(root, path);
    while (f && !found && fgets(line, sizeof line, f))
        if (!strncmp(line, key, n) && (line[n] == ':' || line[n] == ' '))
            found = read_number(line + n + 1, value);
    if (f) fclose(f);
    return found;
}
