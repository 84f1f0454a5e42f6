// test_refusals.c — what is wrong with a template or with what it does, in a sentence that names the
// line; and the bounds of what a template may cost.
#include "rendered.h"
#include "support/asked.h"
#include <stdio.h>

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

// What a template does again and again is wanted or not: it is asked every so many steps, however much
// one of them does, and ends there.
static void a_rendering_can_be_left(void **state) {
    static const char *const long_work[] = {
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% set s = 'ab ' * 1000000 %}{% for i in range(10000) %}{{ s.split('b') | length }}"
        "{% endfor %}",
        "{% set s = 'a' * 10000000 %}{% for i in range(10000) %}{{ s.find('b') }}{% endfor %}",
        "{% set l = [[1] * 1000] * 1000 %}{% for i in range(9999) %}{{ l | tojson }}{% endfor %}",
        "{% set s = 'a' * 10000000 %}{% set d = {1: 2} %}{% for i in range(10000) %}{{ s in d }}"
        "{{ d.get(s) }}{% endfor %}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof long_work / sizeof *long_work; i++) {
        fr_jinja *t;
        fr_jinja_values *v;
        fr_marked out = {0};
        fr_error err = {0};
        asked some = {.most = 5};
        const fr_watch watch = ASKED(&some);
        assert_int_equal(fr_jinja_open(&t, long_work[i], strlen(long_work[i]), &err), FR_OK);
        assert_int_equal(fr_jinja_values_open(&v, &err), FR_OK);
        const fr_jinja_options options = {.watch = &watch};
        assert_int_equal(fr_jinja_render(t, v, &options, &out, &err), FR_EINTR);
        assert_int_equal(some.n, 6);
        assert_int_equal(out.text.n, 0);
        fr_jinja_values_close(v);
        fr_jinja_close(t);
    }
}

// Building them is asked about too, and what was left is not rendered.
static void values_can_be_left(void **state) {
    (void)state;
    fr_jinja *t;
    fr_jinja_values *v;
    fr_marked out = {0};
    fr_error err = {0};
    asked some = {.most = 2};
    const fr_watch watch = ASKED(&some);
    json_t *list = json_array();
    for (int i = 0; i < 100000; i++)
        json_array_append_new(list, json_integer(i));
    assert_int_equal(fr_jinja_open(&t, "x", 1, &err), FR_OK);
    assert_int_equal(fr_jinja_values_open(&v, &err), FR_OK);
    fr_jinja_values_watch(v, &watch);
    fr_jinja_set(v, "list", fr_json_template_value(v, list));
    assert_int_equal(some.n, 3);
    assert_false(fr_jinja_values_go_on(v));
    assert_int_equal(fr_jinja_render(t, v, &(fr_jinja_options){0}, &out, &err), FR_EINTR);
    fr_jinja_values_close(v);
    fr_jinja_close(t);
    json_decref(list);
}

// Templates make lists and texts piece by piece, from as many messages as a request has: the work of
// each turn is that of its piece. Twice as many take about twice the steps.
static void what_grows_piece_by_piece_is_not_copied(void **state) {
    static const char *const growing[] = {
        "{% set ns = namespace(l=[]) %}{% for i in range(N) %}{% set ns.l = ns.l + [i] %}"
        "{% endfor %}{{ ns.l | length }}",
        "{% set ns = namespace(s='') %}{% for i in range(N) %}{% set ns.s = ns.s + 'ab' %}"
        "{% endfor %}{{ ns.s | length // 2 }}",
        "{% set ns = namespace(s='') %}{% for i in range(N) %}{% set ns.s = ns.s ~ i ~ 'x' %}"
        "{% endfor %}{{ ns.s.count('x') }}",
        "{% set l = range(N) | list %}{% set ns = namespace(n=0) %}{% for i in l %}"
        "{% set ns.n = ns.n + (l[loop.index0:] | first == i) | int %}{% endfor %}{{ ns.n }}",
        "{% for i in range(N) %}{% set x = [i] + [i] %}{% if loop.last %}{{ N }}{% endif %}"
        "{% endfor %}",
        "{{ ('a ' * N).rsplit() | length }}",
        "{{ ('a ' * N).rsplit(none, N // 2) | length * 2 - 2 }}",
        "{{ (('a,' * N).rsplit(',') | length) - 1 }}",
        "{{ ([[1]] * N) | sum(start=[]) | length }}",
    };
    enum { N = 50000, STEPS_EACH = 60 };
    (void)state;
    for (size_t i = 0; i < sizeof growing / sizeof *growing; i++) {
        char expected[16];
        fr_jinja *t;
        fr_jinja_values *v;
        fr_marked out = {0};
        fr_error err = {0};
        assert_int_equal(fr_jinja_open(&t, growing[i], strlen(growing[i]), &err), FR_OK);
        assert_int_equal(fr_jinja_values_open(&v, &err), FR_OK);
        fr_jinja_set(v, "N", fr_jinja_int(N));
        const fr_jinja_options options = {.max_steps = (uint64_t)N * STEPS_EACH};
        if (fr_jinja_render(t, v, &options, &out, &err)) fail_msg("%s: %s", growing[i], err.text);
        snprintf(expected, sizeof expected, "%d", N);
        assert_string_equal(out.text.data, expected);
        fr_marked_free(&out);
        fr_jinja_values_close(v);
        fr_jinja_close(t);
    }
}

// Lists that grow from one beginning in two ways are two lists.
static void lists_with_one_beginning_stay_apart(void **state) {
    static const rendering cases[] = {
        {"{% set a = range(40) | list %}{% set b = a + [1] %}{% set c = b + [2] %}"
         "{% set d = b + [3] %}{% set e = c + [4] %}{{ b[-1] }}{{ c[-1] }}{{ d[-1] }}{{ e[-2:] }}"
         "{{ c | length }}{{ d[39:] }}{{ (b[1:] + [5])[-2:] }}{{ c[40:] }}",
         "123[2, 4]42[39, 1, 3][1, 5][1, 2]"},
        {"{% set t = (1, 2) %}{{ t + (3,) }}{{ t }}{{ [] + [] }}{{ range(5)[1:3] }}{{ [1, 2][2:] "
         "}}",
         "(1, 2, 3)(1, 2)[]range(1, 3)[]"},
        {"{{ ' a b c '.rsplit(none, 0) }}{{ ' a b c '.rsplit(none, 2) }}{{ 'a  b'.rsplit() }}"
         "{{ '  '.rsplit() }}{{ 'a b'.rsplit(none, 9) }}",
         "[' a b c'][' a', 'b', 'c']['a', 'b'][]['a', 'b']"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
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
        cmocka_unit_test(a_rendering_can_be_left),
        cmocka_unit_test(values_can_be_left),
        cmocka_unit_test(what_grows_piece_by_piece_is_not_copied),
        cmocka_unit_test(lists_with_one_beginning_stay_apart),
        cmocka_unit_test(nesting_is_bounded_in_templates_too),
        cmocka_unit_test(length_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
