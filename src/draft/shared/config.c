// config.c — options of drafters by their tables: the row is found by its key, the value read by its
// kind and written to its place in the method's struct.
#include "draft/shared/config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fr_status refuse(const fr_drafter_option *o, const char *value, fr_error *err) {
    char expected[200];
    size_t n = 0;
    if (o->kind == FR_DRAFT_TEXT)
        snprintf(expected, sizeof expected, "%s", o->value);
    else if (o->kind != FR_DRAFT_WORD)
        snprintf(expected, sizeof expected, "%d to %d", o->least, o->most);
    else
        for (int i = 0; o->words[i] && n < sizeof expected; i++)
            n += (size_t)snprintf(expected + n, sizeof expected - n, "%s%s",
                                  !i                ? ""
                                  : o->words[i + 1] ? ", "
                                                    : " or ",
                                  o->words[i]);
    return fr_fail(err, FR_EARG, "draft option %s: expected %s, found '%.40s'", o->key, expected,
                   value);
}

static bool read_int(void *to, const fr_drafter_option *o, const char *value) {
    char *end;
    const long v = strtol(value, &end, 10);
    if (end == value || *end || v < o->least || v > o->most) return false;
    *(int *)to = (int)v;
    return true;
}

static bool read_real(void *to, const fr_drafter_option *o, const char *value) {
    char *end;
    const float v = strtof(value, &end);
    if (end == value || *end || !(v >= (float)o->least && v <= (float)o->most)) return false;
    *(float *)to = v;
    return true;
}

static bool read_word(void *to, const fr_drafter_option *o, const char *value) {
    for (int i = 0; o->words[i]; i++)
        if (!strcmp(value, o->words[i])) {
            *(int *)to = i;
            return true;
        }
    return false;
}

static bool read_text(void *to, const char *value) {
    *(const char **)to = value;
    return *value;
}

static fr_status read_value(void *to, const fr_drafter_option *o, const char *value,
                            fr_error *err) {
    const bool good = o->kind == FR_DRAFT_INT    ? read_int(to, o, value)
                      : o->kind == FR_DRAFT_REAL ? read_real(to, o, value)
                      : o->kind == FR_DRAFT_WORD ? read_word(to, o, value)
                                                 : read_text(to, value);
    return good ? FR_OK : refuse(o, value, err);
}

const char *fr_drafter_option_value(const fr_drafter_option *o, const char *option) {
    const size_t key = strlen(o->key);
    return !strncmp(option, o->key, key) && option[key] == '=' ? option + key + 1 : NULL;
}

fr_status fr_drafter_read(void *self, const char *name, const fr_drafter_option *table,
                          const char *option, fr_error *err) {
    char has[300] = "no options";
    size_t n = 0;
    for (const fr_drafter_option *o = table; o->key; o++) {
        const char *value = fr_drafter_option_value(o, option);
        if (value) return read_value((char *)self + o->offset, o, value, err);
        if (n < sizeof has)
            n += (size_t)snprintf(has + n, sizeof has - n, "%s%s=%s",
                                  !n         ? ""
                                  : o[1].key ? ", "
                                             : " and ",
                                  o->key, o->value);
    }
    return fr_fail(err, FR_EARG, "draft option '%.60s': %s has %s", option, name, has);
}
