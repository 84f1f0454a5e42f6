// scan_names.c — names in front of arguments that are JSON: Mistral's, and those in a head.
#include "api/marks.h"
#include "api/scan_parts.h"
#include <ctype.h>
#include <string.h>

// ---------------------------------------------------------------- Mistral

static fr_call_verdict before_arguments(fr_call_scan *s, char c) {
    if (fr_is_blank(c)) return fr_scan_go(s, FR_AT_NAMED);
    if (c == '{') return fr_scan_arguments(s, c);
    s->from = s->at - 1;
    if (c == 'n' && s->after_args) return fr_scan_go(s, FR_AT_NULL);
    return c == '[' && !s->after_args ? fr_scan_go(s, FR_AT_NAME_MARK) : FR_CALL_NOT;
}

static fr_call_verdict at_name(fr_call_scan *s, char c) {
    if (fr_is_blank(c) || c == '[' || c == '{') return before_arguments(s, c);
    return fr_is_call_name(&c, 1) && s->at - s->from <= FR_MOST_NAME ? FR_CALL_MAYBE : FR_CALL_NOT;
}

static fr_call_verdict at_name_mark(fr_call_scan *s, const char *text) {
    const char *from = text + s->from;
    const size_t n = s->at - s->from;
    const fr_begins id = fr_begins_with(from, n, MARK_CALL_ID),
                    args = fr_begins_with(from, n, MARK_ARGS);
    if (args == FR_BEGINS) s->after_args = true;
    if (args == FR_BEGINS) return fr_scan_go(s, FR_AT_NAMED);
    if (id == FR_BEGINS) {
        s->from = s->at;
        return fr_scan_go(s, FR_AT_CALL_ID);
    }
    return id == FR_BEGINS_MAYBE || args == FR_BEGINS_MAYBE ? FR_CALL_MAYBE : FR_CALL_NOT;
}

static fr_call_verdict at_call_id(fr_call_scan *s, char c) {
    if (c == '[' || c == '{') return before_arguments(s, c);
    const bool good = fr_is_blank(c) || fr_is_call_name(&c, 1);
    return good && s->at - s->from <= FR_MOST_NAME ? FR_CALL_MAYBE : FR_CALL_NOT;
}

// ---------------------------------------------------------------- heads

// Whether nothing but a block of code begins here.
static bool is_fence(const char *text, size_t n) {
    const size_t space = fr_blank(text, n);
    const char *from = text + space;
    n = fr_trimmed(from, n - space);
    return !n || (n == 3 && !memcmp(from, "```", n)) || (n == 7 && !memcmp(from, "```json", n));
}

// The name at the beginning: [functions.]NAME[:0].
static size_t name_of(const fr_call_form *form, const char *text, size_t n, const char **name) {
    const size_t space = fr_blank(text, n), prefix = form->prefix ? strlen(form->prefix) : 0;
    *name = text + space;
    n = fr_trimmed(*name, n - space);
    if (!prefix) return n;
    if (n > prefix && !memcmp(*name, form->prefix, prefix)) {
        *name += prefix;
        n -= prefix;
    }
    size_t digits = n;
    while (digits && isdigit((unsigned char)(*name)[digits - 1]))
        digits--;
    return digits > 1 && digits < n && (*name)[digits - 1] == ':' ? digits - 1 : n;
}

// NAME SEPARATOR, or TYPE SEPARATOR NAME and a line break; a block of code may follow.
size_t fr_call_head(const fr_call_form *form, const char *text, size_t n, const char **name) {
    const size_t at = fr_find_mark(text, n, form->separator), length = strlen(form->separator);
    if (at == n) return 0;
    const char *rest = text + at + length;
    size_t left = n - at - length, end = fr_blank(rest, left), bytes;
    if (is_fence(rest, left)) {
        bytes = name_of(form, text, at, name);
    } else {
        while (end < left && !fr_is_blank(rest[end]) && rest[end] != '`' && rest[end] != '<')
            end++;
        bytes = name_of(form, rest, end, name);
        const size_t again = left - end;
        const bool second = fr_begins_with(rest + end, again, form->separator) == FR_BEGINS;
        if (!is_fence(rest + end + (second ? length : 0), again - (second ? length : 0))) return 0;
    }
    return fr_is_call_name(*name, bytes) ? bytes : 0;
}

static fr_call_verdict at_head(fr_call_scan *s, const char *text, char c) {
    const char *name;
    if (c == '{')
        return fr_call_head(s->form, text + s->body, s->at - 1 - s->body, &name)
                   ? fr_scan_arguments(s, c)
                   : FR_CALL_NOT;
    const bool word = !fr_is_blank(c) && !(c && strchr("<`", c)), begun = s->from > s->body;
    if (word && begun && fr_is_blank(text[s->at - 2])) return FR_CALL_NOT; // a second word
    if (!fr_is_blank(c)) s->from = s->at;
    return s->at - s->body <= FR_MOST_CALL_HEAD ? FR_CALL_MAYBE : FR_CALL_NOT;
}

fr_call_verdict fr_scan_name(fr_call_scan *s, const char *text, char c) {
    return s->place == FR_AT_NAME        ? at_name(s, c)
           : s->place == FR_AT_NAMED     ? before_arguments(s, c)
           : s->place == FR_AT_NAME_MARK ? at_name_mark(s, text)
           : s->place == FR_AT_CALL_ID   ? at_call_id(s, c)
                                         : at_head(s, text, c);
}
