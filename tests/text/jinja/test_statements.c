// test_statements.c — tags: loops, macros, scopes, blocks, against what Jinja2 is documented to give.
#include "rendered.h"

static void loops_tell_where_they_are(void **state) {
    static const rendering cases[] = {
        {"{% for x in 'abc' %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ "
         "loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}",
         "1032TrueFalse3 2121FalseFalse3 3210FalseTrue3 "},
        {"{% for x in [1,2,3] %}{{ loop.previtem }}-{{ loop.nextitem }};{% endfor %}",
         "-2;1-3;2-;"},
        {"{% for a, b in [(1,2),(3,4)] %}{{ a }}{{ b }}{% endfor %}", "1234"},
        {"{% for x in [1,2,3,4] if x is even %}{{ loop.index }}:{{ x }} {% endfor %}", "1:2 2:4 "},
        {"{% for x in [] %}a{% else %}b{% endfor %}", "b"},
        {"{% for x in [1,1,2] %}{{ loop.changed(x) }} {{ loop.cycle('o','e') }} {% endfor %}",
         "True o False e True o "},
        {"{% for k in {'a':1,'b':2} %}{{ k }}{% endfor %}{% for k, v in {'a':1}.items() %}{{ k "
         "}}{{ v }}{% endfor %}",
         "aba1"},
        {"{% for x in [1,2,3,4] %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 4 %}{% break "
         "%}{% endif %}{{ x }}{% endfor %}",
         "13"},
        {"{% for i in [1,[2,[3]]] recursive %}{% if i is iterable %}({{ loop(i) }}){% else %}{{ i "
         "}}@{{ loop.depth }}{% endif %}{% endfor %}",
         "1@1(2@2(3@3))"},
        {"{% for x in [1,2] %}{% for y in [3,4] %}{{ loop.index }}{% endfor %}{{ loop.index }}{% "
         "endfor %}",
         "121122"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

// It follows where no turn came to its end, not only where there was none.
static void the_else_of_a_loop_follows_turns_cut_short(void **state) {
    static const rendering cases[] = {
        {"{% for x in [1,2] %}{% if x == 1 %}a{% break %}{% endif %}{% else %}E{% endfor %}", "aE"},
        {"{% for x in [1,2] %}{{ x }}{% continue %}{% else %}E{{ x is defined }}{% endfor %}",
         "12EFalse"},
        {"{% for x in [1,2,3] if x > 1 %}{{ x }}{% break %}{% else %}E{% endfor %}", "2E"},
        {"{% for x in [1,2] %}{{ x }}{% if x == 2 %}{% break %}{% endif %}{% else %}E{% endfor %}",
         "12"},
        {"{% for x in [1,2] %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% else %}E{% endfor "
         "%}",
         "2"},
        {"{% for x in [1,2] %}{{ x }}{% for y in 'ab' %}{% break %}{% else %}{% break %}{% endfor "
         "%}{% endfor %}",
         "1"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void sets_stay_in_their_scope(void **state) {
    static const rendering cases[] = {
        {"{% set x = 1 %}{% for i in [1,2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", "231"},
        {"{% set ns = namespace(n=0) %}{% for i in [1,2] %}{% set ns.n = ns.n + i %}{% endfor %}{{ "
         "ns.n }}",
         "3"},
        {"{% if true %}{% set y = 2 %}{% endif %}{{ y }}", "2"},
        {"{% set a, b = 1, 2 %}{{ a }}{{ b }}", "12"},
        {"{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}", "3False"},
        {"{% set t %}x{{ 1 }}{% endset %}{{ t }}", "x1"},
        {"{% set t | upper %}abc{% endset %}{{ t }}", "ABC"},
        {"{% filter upper | replace('A', 'z') %}abc{% endfilter %}", "zBC"},
        {"{% block b %}in{% endblock %}", "in"},
        {"{% print 1, 2 %}", "12"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void macros_bind_like_functions(void **state) {
    static const rendering cases[] = {
        {"{% macro f(a, b=2) %}[{{ a }}{{ b }}]{% endmacro %}{{ f(1) }}{{ f(1, 3) }}{{ f(b=4, a=5) "
         "}}{{ f() }}",
         "[12][13][54][2]"},
        {"{% macro f(x, y=x) %}{{ y }}{% endmacro %}{{ f(7) }}", "7"},
        {"{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, k=3) }}",
         "(1, 2){'k': 3}"},
        {"{% macro wrap() %}<{{ caller() }}>{% endmacro %}{% call wrap() %}in{% endcall %}",
         "<in>"},
        {"{% macro each(l) %}{% for i in l %}{{ caller(i) }},{% endfor %}{% endmacro %}{% call(x) "
         "each([1,2]) %}{{ x * 2 }}{% endcall %}",
         "2,4,"},
        {"{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
         "3210"},
        {"{% set g = 1 %}{% macro f() %}{{ g }}{% endmacro %}{% set g = 2 %}{{ f() }}", "2"},
        {"{% for i in [1] %}{% macro f() %}{{ i }}{% endmacro %}{{ f() }}{% endfor %}", "1"},
        {"{{ f is defined }}{% macro f() %}{% endmacro %}{{ f.name }}", "Falsef"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void generation_is_a_block_of_its_own(void **state) {
    static const rendering cases[] = {
        {"a{% generation %}b{{ x }}{% endgeneration %}c", "abc"},
        {"{% set y = 1 %}{% generation %}{% set y = 2 %}{{ y }}{% endgeneration %}{{ y }}", "21"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void what_is_not_reached_is_not_refused(void **state) {
    static const rendering cases[] = {
        {"{% if false %}{{ x | nonsense }}{% endif %}ok", "ok"},
        {"{% if false %}{% include 'a' %}{% endif %}ok", "ok"},
        {"{{ 1 if true else (2 is nonsense) }}", "1"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_tell_where_they_are),
        cmocka_unit_test(the_else_of_a_loop_follows_turns_cut_short),
        cmocka_unit_test(sets_stay_in_their_scope),
        cmocka_unit_test(macros_bind_like_functions),
        cmocka_unit_test(generation_is_a_block_of_its_own),
        cmocka_unit_test(what_is_not_reached_is_not_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
