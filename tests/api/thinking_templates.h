// thinking_templates.h — the end of a prompt that begins thinking, as templates of models with each
// form write it: in the order of the rows (text/chat/thinking.c).
#ifndef FR_TESTS_API_THINKING_TEMPLATES_H
#define FR_TESTS_API_THINKING_TEMPLATES_H
#include <stddef.h>

static const char *const thinking_templates[] = {
    "{{ '<think>' }}",
    "{{ '<seed:think>' }}",
    "[THINK]",
    "{{ '<|channel>thought' }}",
    "{% set sign = ':opensource' %}{% set mark = '<think{}>'.format(sign) %}{{ mark }}",
    "<|START_THINKING|>",
};
enum { N_THINKING_TEMPLATES = sizeof thinking_templates / sizeof *thinking_templates };

static inline const char *thinking_template(size_t row) {
    return row < N_THINKING_TEMPLATES ? thinking_templates[row] : NULL;
}

#endif
