// rendered.h — templates and what they give, in tables.
#ifndef FR_TESTS_TEXT_JINJA_RENDERED_H
#define FR_TESTS_TEXT_JINJA_RENDERED_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "json/template_values.h"

typedef struct rendering {
    const char *template, *expected;
} rendering;

// Renders with variables from JSON (NULL: none). The time is 1 January 1970, midnight.
static inline fr_status render_text(const char *template, const char *vars, fr_marked *out,
                                    fr_error *err) {
    const struct tm epoch = {.tm_mday = 1, .tm_year = 70, .tm_wday = 4};
    fr_jinja_values *v = NULL;
    fr_jinja *t = NULL;
    fr_status st = fr_jinja_open(&t, template, strlen(template), err);
    if (st) return st;
    assert_int_equal(fr_jinja_values_open(&v, err), FR_OK);
    json_t *given = vars ? fr_json_load(vars, strlen(vars), err) : NULL;
    for (void *it = json_object_iter(given); it; it = json_object_iter_next(given, it))
        fr_jinja_set(v, json_object_iter_key(it),
                     fr_json_template_value(v, json_object_iter_value(it)));
    json_decref(given);
    st = fr_jinja_render(t, v, &(fr_jinja_options){.now = &epoch}, out, err);
    fr_jinja_values_close(v);
    fr_jinja_close(t);
    return st;
}

static inline void expect_all(const rendering *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fr_marked out = {0};
        fr_error err = {0};
        if (render_text(cases[i].template, NULL, &out, &err))
            fail_msg("%s: %s", cases[i].template, err.text);
        if (strlen(cases[i].expected) != out.text.n || strcmp(cases[i].expected, out.text.data))
            fail_msg("%s: expected %s, found %s", cases[i].template, cases[i].expected,
                     out.text.data);
        fr_marked_free(&out);
    }
}

#endif
