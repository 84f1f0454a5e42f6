#include "text/fim.h"
#include <string.h>

enum { NAMES = 9 };

static int32_t find(const fr_vocab *v, const char *const names[NAMES]) {
    for (int i = 0; i < NAMES && names[i]; i++) {
        const size_t n = strlen(names[i]);
        const int32_t id = fr_vocab_find_special(v, names[i], n);
        if (id >= 0) return id;
        const int32_t plain =
            *names[i] == ' ' && v->kind == FR_VOCAB_SPM ? fr_vocab_find(v, names[i], n) : -1;
        if (plain >= 0) return plain;
    }
    return -1;
}

// Code Llama's have a space in front, written as U+2581, and are ordinary tokens in some files.
void fr_fim_find(const fr_vocab *v, fr_special_ids *ids) {
    const struct {
        int32_t *id;
        const char *names[NAMES];
    } table[] = {
        {&ids->fim_prefix,
         {"<|fim_prefix|>", "<fim_prefix>", "<fim-prefix>", "<｜fim▁begin｜>", "<PRE>", " <PRE>",
          "▁<PRE>", "<|code_prefix|>", "<|prefix|>"}},
        {&ids->fim_suffix,
         {"<|fim_suffix|>", "<fim_suffix>", "<fim-suffix>", "<｜fim▁hole｜>", "<SUF>", " <SUF>",
          "▁<SUF>", "<|code_suffix|>", "<|suffix|>"}},
        {&ids->fim_middle,
         {"<|fim_middle|>", "<fim_middle>", "<fim-middle>", "<｜fim▁end｜>", "<MID>", " <MID>",
          "▁<MID>", "<|code_middle|>", "<|middle|>"}},
        {&ids->fim_pad, {"<|fim_pad|>", "<fim_pad>", "<fim-pad>", "<PAD>", "[PAD]"}},
        {&ids->fim_repository,
         {"<|repo_name|>", "<|fim_repo|>", "<repo_name>", "<reponame>", "<fim-repo>", "<REPO>"}},
        {&ids->fim_file, {"<|file_sep|>", "<file_sep>"}},
        {&ids->fim_end, {" <EOT>", "▁<EOT>"}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (*table[i].id < 0) *table[i].id = find(v, table[i].names);
    const int32_t end = ids->fim_end;
    if (end >= 0 && ids->fim_prefix < 0 && fr_vocab_type(v, end) == FR_TOKEN_NORMAL)
        ids->fim_end = -1; // text like any other
}
