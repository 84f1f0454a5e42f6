#define _GNU_SOURCE
#include "catalog/names.h"
#include "base/path.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { TAIL = sizeof "-00001-of-00001.gguf" - 1 };

bool fr_name_same(const char *a, const char *b) {
    return !strcasecmp(a, b);
}

bool fr_name_begins(const char *text, const char *begin) {
    return !strncasecmp(text, begin, strlen(begin));
}

// Whether a name ends as that of a part does, and which part it is.
static bool is_part(const char *name, int *part) {
    static const char shape[] = "-#####-of-#####.gguf";
    const size_t n = strlen(name);
    *part = 0;
    if (n <= TAIL) return false;
    const char *tail = name + n - TAIL;
    for (int i = 0; i < TAIL; i++) {
        const bool digit = tail[i] >= '0' && tail[i] <= '9';
        if (shape[i] == '#' ? !digit : tail[i] != shape[i]) return false;
        if (digit && i < 6) *part = *part * 10 + (tail[i] - '0');
    }
    return true;
}

bool fr_name_is_model(const char *path) {
    static const char *const others[] = {"mmproj",  "imatrix", "mtp-",
                                         "eagle3-", "dflash-", "dspark-"};
    const char *name = fr_path_name(path);
    int part;
    if (!fr_path_ends(name, ".gguf") || (is_part(name, &part) && part != 1)) return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasestr(name, others[i])) return false;
    return true;
}

bool fr_name_has_quant(const char *name, const char *quant) {
    const size_t n = strlen(quant);
    for (const char *at = name; n && (at = strcasestr(at, quant)); at++)
        if (at[n] == '.' || at[n] == '-') return true;
    return false;
}

size_t fr_name_quant(const char *path, const char **at) {
    const char *name = fr_path_name(path);
    size_t end = strlen(name);
    int part;
    if (is_part(name, &part))
        end -= TAIL;
    else if (fr_path_ends(name, ".gguf"))
        end -= 5;
    size_t from = end;
    while (from && (isalnum((unsigned char)name[from - 1]) || name[from - 1] == '_'))
        from--;
    *at = name + from;
    return from && (name[from - 1] == '-' || name[from - 1] == '.') ? end - from : 0;
}
