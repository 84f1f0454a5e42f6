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

static void mark_end(fr_vocab *v, int32_t id) {
    if (id >= 0) v->flags[id] |= FR_VOCAB_END;
}

// Only control tokens, and "<|...|>", which no text holds by chance.
static void mark_ends(fr_vocab *v, const char *const names[NAMES]) {
    for (int i = 0; i < NAMES && names[i]; i++) {
        const int32_t id = fr_vocab_find_special(v, names[i], strlen(names[i]));
        if (id < 0) continue;
        const fr_token_type type = fr_vocab_type(v, id);
        if (type == FR_TOKEN_CONTROL || (type == FR_TOKEN_USER && !strncmp(names[i], "<|", 2)))
            mark_end(v, id);
    }
}

// Code Llama's have a space in front, written as U+2581, and are ordinary tokens in some files.
void fr_fim_find(fr_vocab *v, fr_special_ids *ids) {
    const struct {
        int32_t *id;
        bool ends; // another file begins after it
        const char *names[NAMES];
    } table[] = {
        {&ids->fim_prefix,
         false,
         {"<|fim_prefix|>", "<fim_prefix>", "<fim-prefix>", "<｜fim▁begin｜>", "<PRE>", " <PRE>",
          "▁<PRE>", "<|code_prefix|>", "<|prefix|>"}},
        {&ids->fim_suffix,
         false,
         {"<|fim_suffix|>", "<fim_suffix>", "<fim-suffix>", "<｜fim▁hole｜>", "<SUF>", " <SUF>",
          "▁<SUF>", "<|code_suffix|>", "<|suffix|>"}},
        {&ids->fim_middle,
         false,
         {"<|fim_middle|>", "<fim_middle>", "<fim-middle>", "<｜fim▁end｜>", "<MID>", " <MID>",
          "▁<MID>", "<|code_middle|>", "<|middle|>"}},
        {&ids->fim_pad, true, {"<|fim_pad|>", "<fim_pad>", "<fim-pad>", "<PAD>", "[PAD]"}},
        {&ids->fim_repository,
         true,
         {"<|repo_name|>", "<|fim_repo|>", "<repo_name>", "<reponame>", "<fim-repo>", "<REPO>"}},
        {&ids->fim_file, true, {"<|file_sep|>", "<file_sep>"}},
        {&ids->fim_end, true, {" <EOT>", "▁<EOT>"}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].ends) mark_end(v, *table[i].id); // named by a key
        if (table[i].ends) mark_ends(v, table[i].names);
        if (*table[i].id < 0) *table[i].id = find(v, table[i].names);
    }
    if (ids->fim_prefix >= 0) mark_end(v, ids->fim_end); // without a prefix it is ordinary text
}
