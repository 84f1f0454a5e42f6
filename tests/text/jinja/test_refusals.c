// test_refusals.c — what is wrong with a template or with what it does, in a sentence that names the
// line; and the bounds of what a template may cost.
#include "rendered.h"

static void broken_templates_do_not_compile(void **state) {
    static const char *const broken[] = {"{{ 1",
                                         "{% if x %}",
                                         "{% endif %}",
                                         "{% nonsense %}",
                                         "{{ x | nonsense }}",
                                         "{{ x is nonsense }}",
                                         "{{ 'a }}",
                                         "{# a",
                                         "{% raw %} ",
                                         "{{ (1 }}",
                                         "{{ 1) }}",
                                         "{{ }}",
                                         "{{ a b }}",
                                         "{% for x in y %}",
                                         "{% set 1 = 2 %}",
                                         "{% break %}",
                                         "{% macro f(a=1, b) %}{% endmacro %}",
                                         "{{ f(a=1, 2) }}",
                                         "{{ 'a' is string is string }}",
                                         "{{ $ }}",
                                         "{% set %}",
                                         "{{ x. }}",
                                         "{% macro 1() %}{% endmacro %}",
                                         "{{ '\\x1' }}",
                                         "{% call 1 %}{% endcall %}"};
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        fr_jinja *t = NULL;
        fr_error err = {0};
        if (fr_jinja_open(&t, broken[i], strlen(broken[i]), &err) != FR_EDATA)
            fail_msg("%s: expected to be refused", broken[i]);
        assert_null(t);
        assert_non_null(strstr(err.text, "line 1"));
    }
}

static void what_cannot_be_done_is_refused(void **state) {
    static const char *const refused[] = {
        "{% macro m(x) %}{{ kwargs }}{% endmacro %}{{ m(**{1: 2}) }}",
        "{% macro m() %}{{ kwargs }}{% endmacro %}{{ m(**{none: 2}) }}",
        "{{ range(1, 10)[::9223372036854775807] }}",
        "{{ range(0, 10, 2)[::9223372036854775807] }}",
        "{{ 9223372036854775807 | round(-1) }}",
        "{{ 1 + 'a' }}",
        "{{ x.y }}",
        "{{ x() }}",
        "{% set n = none %}{{ n[0:1] }}",
        "{{ 1 < 'a' }}",
        "{% for i in 1 %}{% endfor %}",
        "{{ raise_exception('no') }}",
        "{{ [1].append(2) }}",
        "{{ {}.update({}) }}",
        "{{ 1 // 0 }}",
        "{{ range(1000000) }}",
        "{{ 'a'|tojson(x=1) }}",
        "{{ x|tojson }}",
        "{% set x.y = 1 %}",
        "{% include 'a' %}",
        "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}",
        "{% macro f(a) %}{% endmacro %}{{ f(b=2) }}",
        "{% set a, b = [1] %}",
        "{{ '%d' % 'a' }}",
        "{{ '%s %s' % 'a' }}",
        "{{ '{}'.format() }}",
        "{{ none|length }}",
        "{{ [none, 1]|sort }}",
        "{{ {'a': none, 'b': none}|dictsort(by='value') }}",
        "{{ {[]: 1} }}",
        "{{ 'abc'.index('z') }}",
        "{{ ''.split('') }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ 'x' in none }}",
        "{{ 'a'.nope() }}",
        "{{ loop }}{{ loop.index }}",
        "{{ 1|indent }}",
        "{{ x|int }}",
        "{{ x|attr('a') }}",
        "{{ 0 ** -1 }}",
        "{{ 10.0 ** 400 }}",
        "{{ [1 < (1|select|list), 2] if none|list else 3 }}"};
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        fr_marked out = {0};
        fr_error err = {0};
        if (render_text(refused[i], NULL, &out, &err) != FR_EARG)
            fail_msg("%s: expected to be refused, found %s", refused[i], err.text);
        assert_null(out.text.data);
        assert_null(out.run);
        assert_non_null(strstr(err.text, "line 1"));
    }
}

static void sentences_name_the_line(void **state) {
    (void)state;
    fr_marked out = {0};
    fr_error err = {0};
    assert_int_equal(
        render_text("a\n{% if true %}\n\n{{ 1 +\n 'a' }}{% endif %}", NULL, &out, &err), FR_EARG);
    assert_string_equal(err.text,
                        "chat template, line 4: '+' does not work between an integer and a string");
    assert_int_equal(render_text("{{ raise_exception('why') }}", NULL, &out, &err), FR_EARG);
    assert_string_equal(err.text, "chat template, line 1: why");
}

// Each of them would take all the time or memory there is.
static void costs_are_bounded(void **state) {
    static const struct {
        const char *template, *says;
    } hostile[] = {
        {"{% set l = range(100000) %}{% for a in l %}{% for b in l %}{% endfor %}{% endfor %}",
         "steps"},
        {"{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}"
         "{% endfor %}",
         "MiB of memory"},
        {"{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}"
         "{% endfor %}",
         "MiB of memory"},
        {"{% set s = 'x' * 1000000 %}{% for i in range(1000) %}{{ s }}{% endfor %}", "writes more"},
        {"{% set ns = namespace(l=[]) %}{% for i in range(9999) %}{% set ns.l = [ns.l] %}"
         "{% endfor %}{{ ns.l }}",
         "nested deeper"},
        {"{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", "nested deeper"},
        {"{{ 'x' * 10 ** 17 }}", ""},
        {"{{ 'x'.center(10 ** 17) }}", ""},
        {"{{ '%99999999999999s' % 'x' }}", ""},
        {"{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}", "MiB of memory"},
        {"{{ 2 ** 100000 }}", "64 bits"},
        {"{% set ns = namespace(a=1, b=1) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}"
         "{% set ns.b = [ns.b, ns.b] %}{% endfor %}{{ ns.a == ns.b }}",
         "steps"},
        {"{% set ns = namespace(a=(1,)) %}{% for i in range(60) %}{% set ns.a = (ns.a, ns.a) %}"
         "{% endfor %}{{ {ns.a: 1} }}",
         "cannot be a key"},
        {"{% set ns = namespace(a=(1,)) %}{% for i in range(18) %}{% set ns.a = (ns.a, ns.a) %}"
         "{% endfor %}{% set d = {1: 2} %}{{ ns.a in d }}{{ {ns.a: 1} }}",
         "cannot be a key"},
        {"{% set s = 'a' * 10000000 %}{% for i in range(100000) %}{{ 'b' in s }}{{ s.count('ab') }}"
         "{{ s == s + '' }}{{ s | length }}{{ s[5] }}{{ s.isdigit() }}{{ s.rfind('aab') }}{% "
         "endfor %}",
         "steps"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        fr_marked out = {0};
        fr_error err = {0};
        if (render_text(hostile[i].template, NULL, &out, &err) != FR_EARG ||
            !strstr(err.text, hostile[i].says))
            fail_msg("%s: expected '%s', found '%s'", hostile[i].template, hostile[i].says,
                     err.text);
    }
}

static void nesting_is_bounded_in_templates_too(void **state) {
    static char text[100000];
    static const char *const open[] = {"(", "[",  "{% if 1 %}",      "not (",
                                       "-", "f(", "{% for i in x %}"};
    (void)state;
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        size_t n = 0;
        fr_jinja *t = NULL;
        fr_error err = {0};
        if (open[i][0] != '{') n = strlen(strcpy(text, "{{ "));
        while (n + strlen(open[i]) < sizeof text - 1)
            n += strlen(strcpy(text + n, open[i]));
        assert_int_equal(fr_jinja_open(&t, text, n, &err), FR_EDATA);
        if (!strstr(err.text, "nested too deeply")) fail_msg("%s: '%s'", open[i], err.text);
    }
}

static void length_is_bounded(void **state) {
    fr_error err = {0};
    fr_jinja *t;
    char *blank = malloc(FR_JINJA_MAX_TEMPLATE + 1);
    (void)state;
    assert_non_null(blank);
    memset(blank, ' ', FR_JINJA_MAX_TEMPLATE + 1);
    assert_int_equal(fr_jinja_open(&t, blank, FR_JINJA_MAX_TEMPLATE, &err), FR_OK);
    fr_jinja_close(t);
    assert_int_equal(fr_jinja_open(&t, blank, FR_JINJA_MAX_TEMPLATE + 1, &err), FR_EDATA);
    if (!strstr(err.text, "1048576 bytes")) fail_msg("%s", err.text);
    free(blank);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_templates_do_not_compile),
        cmocka_unit_test(what_cannot_be_done_is_refused),
        cmocka_unit_test(sentences_name_the_line),
        cmocka_unit_test(costs_are_bounded),
        cmocka_unit_test(nesting_is_bounded_in_templates_too),
        cmocka_unit_test(length_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
