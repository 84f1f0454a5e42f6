#define _GNU_SOURCE
#include "text/chat/thinking.h"
#include <string.h>

static const fr_thinking_form FORMS[] = {
    {"<think>", "</think>", "\n", "\n\n"},
    {"<seed:think>", "</seed:think>", "", "\n"},               // Seed
    {"[THINK]", "[/THINK]", "", ""},                           // Mistral
    {"<|channel>thought", "<channel|>", "\n", ""},             // Gemma 4
    {"<think:opensource>", "</think:opensource>", "\n", "\n"}, // Hunyuan 3
    {"<|START_THINKING|>", "<|END_THINKING|>", "", ""},        // Command
};
enum { N_FORMS = sizeof FORMS / sizeof *FORMS };

const fr_thinking_form *fr_thinking_form_at(size_t i) {
    return i < N_FORMS ? &FORMS[i] : NULL;
}

const fr_thinking_form *fr_thinking_form_of(const char *text, size_t bytes) {
    for (size_t i = 0; i < N_FORMS && text; i++)
        if (memmem(text, bytes, FORMS[i].open, strlen(FORMS[i].open))) return &FORMS[i];
    return FORMS;
}
