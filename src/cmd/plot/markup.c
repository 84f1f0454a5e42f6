// markup.c — escapes and appends.
#include "cmd/plot/markup.h"
#include "base/utf8.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

fr_status fr_markup_escape(fr_buffer *out, const char *text, fr_error *err) {
    const uint8_t *p = (const uint8_t *)text;
    fr_status st = FR_OK;
    for (size_t n = strlen(text); n && !st;) {
        const fr_utf8_step step = fr_utf8_next(p, n);
        const bool known = step.kind == FR_UTF8_WHOLE && step.code >= 0x20 && step.code != 0x7f &&
                           step.code != 0xfffe && step.code != 0xffff;
        const char *put = !known             ? "\uFFFD"
                          : step.code == '&' ? "&amp;"
                          : step.code == '<' ? "&lt;"
                          : step.code == '>' ? "&gt;"
                          : step.code == '"' ? "&quot;"
                                             : NULL;
        st = put ? fr_buffer_add(out, put, strlen(put), err)
                 : fr_buffer_add(out, p, (size_t)step.bytes, err);
        p += step.bytes;
        n -= (size_t)step.bytes;
    }
    return st;
}

void fr_markup_raw(fr_markup *m, const char *markup) {
    if (!m->st) m->st = fr_buffer_add(m->out, markup, strlen(markup), m->err);
}

void fr_markup_put(fr_markup *m, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert(n >= 0 && n < (int)sizeof text);
    (void)n;
    fr_markup_raw(m, text);
}

void fr_markup_text(fr_markup *m, const char *text) {
    if (!m->st) m->st = fr_markup_escape(m->out, text, m->err);
}
