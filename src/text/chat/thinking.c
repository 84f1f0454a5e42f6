#define _GNU_SOURCE
#include "text/chat/thinking.h"
#include <string.h>

static const fr_thinking_form FORMS[] = {
    {"<think>", "</think>", "\n", "\n\n", NULL},
    {"<seed:think>", "</seed:think>", "", "\n", NULL},   // Seed
    {"[THINK]", "[/THINK]", "", "", NULL},               // Mistral
    {"<|channel>thought", "<channel|>", "\n", "", NULL}, // Gemma 4
    // Hunyuan 3, whose templates put the mark together, and write nothing between it and the text.
    {"<think:opensource>", "</think:opensource>", "", "", ":opensource"},
    {"<|START_THINKING|>", "<|END_THINKING|>", "", "", NULL}, // Command
};
enum { N_FORMS = sizeof FORMS / sizeof *FORMS };

const fr_thinking_form *fr_thinking_form_at(size_t i) {
    return i < N_FORMS ? &FORMS[i] : NULL;
}

const fr_thinking_form *fr_thinking_form_of(const char *text, size_t bytes) {
    for (size_t i = 0; i < N_FORMS && text; i++) {
        const char *sign = FORMS[i].where ? FORMS[i].where : FORMS[i].open;
        if (memmem(text, bytes, sign, strlen(sign))) return &FORMS[i];
    }
    return FORMS;
}
