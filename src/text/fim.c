#include "text/fim.h"
#include <string.h>

enum { NAMES = 5 };

static int32_t find(const fr_vocab *v, const char *const names[NAMES]) {
    for (int i = 0; i < NAMES && names[i]; i++) {
        const int32_t id = fr_vocab_find_special(v, names[i], strlen(names[i]));
        if (id >= 0) return id;
    }
    return -1;
}

void fr_fim_find(const fr_vocab *v, fr_special_ids *ids) {
    const struct {
        int32_t *id;
        const char *names[NAMES];
    } table[] = {
        {&ids->fim_prefix,
         {"<|fim_prefix|>", "<fim_prefix>", "<fim-prefix>", "<｜fim▁begin｜>", "<PRE>"}},
        {&ids->fim_suffix,
         {"<|fim_suffix|>", "<fim_suffix>", "<fim-suffix>", "<｜fim▁hole｜>", "<SUF>"}},
        {&ids->fim_middle,
         {"<|fim_middle|>", "<fim_middle>", "<fim-middle>", "<｜fim▁end｜>", "<MID>"}},
        {&ids->fim_pad, {"<|fim_pad|>", "<fim_pad>", "<fim-pad>"}},
        {&ids->fim_repository, {"<|repo_name|>", "<repo_name>", "<reponame>"}},
        {&ids->fim_file, {"<|file_sep|>", "<file_sep>"}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (*table[i].id < 0) *table[i].id = find(v, table[i].names);
}
