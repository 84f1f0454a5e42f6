// test_values.c — values: str() and repr(), slices, comparisons, undefined, against what Jinja2 is documented to give.
#include "rendered.h"

static void values_print_as_python_s(void **state) {
    static const rendering cases[] = {
        {"{{ ['it\\'s', \"q\\\"\", 'a\\n\\x00é\\u200b'] }}",
         "[\"it's\", 'q\"', 'a\\n\\x00é\\u200b']"},
        {"{{ {'k': none, 1: 1.0} }}", "{'k': None, 1: 1.0}"},
        {"{{ range(3) }} {{ range(1, 9, 2) }} {{ range(3)|list }}",
         "range(0, 3) range(1, 9, 2) [0, 1, 2]"},
        {"{{ {'a': 1}.items() }} {{ {'a': 1}.keys() }}", "dict_items([('a', 1)]) dict_keys(['a'])"},
        {"{{ namespace(a=1) }}", "<Namespace {'a': 1}>"},
        {"{{ 1e300 * 1e10 }} {{ -0.0 }}", "inf -0.0"},
        {"{{ true + 1 }}", "2"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void slices_are_python_s(void **state) {
    static const rendering cases[] = {
        {"{{ 'héllo'[1:3] }} {{ 'héllo'[::-1] }} {{ 'abc'[-2:] }} {{ 'abc'[5:] }}|",
         "él olléh bc |"},
        {"{{ [1,2,3,4][1:-1] }} {{ [1,2,3,4][::2] }} {{ [1,2,3][::-1] }}",
         "[2, 3] [1, 3] [3, 2, 1]"},
        {"{{ 'abc'[1] }}{{ 'abc'[-1] }}{{ 'abc'[9] }}", "bc"},
        {"{{ [1,2,3][-1] }} {{ (1,2,3)[:2] }} {{ range(10)[2:5]|list }}", "3 (1, 2) [2, 3, 4]"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void equality_and_order_are_python_s(void **state) {
    static const rendering cases[] = {
        {"{{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' == 'a' }} {{ [1] == (1,) }} {{ {'a':1,'b':2} == "
         "{'b':2,'a':1} }}",
         "True True True False True"},
        {"{{ 'Z' < 'a' }} {{ [1,2] < [1,3] }} {{ (1,) < (1,0) }}", "True True True"},
        {"{{ x == y }} {{ x == none }}", "True False"},
        {"{{ 1 in [1.0] }} {{ 'a' in {'a':1} }} {{ 2 in (1,2) }} {{ 3 in x }}",
         "True True True False"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void undefined_is_empty_until_it_is_used(void **state) {
    static const rendering cases[] = {
        {"[{{ x }}] {{ x is defined }} {{ x|default('d') }} {{ x|length }} {{ x|list }}",
         "[] False d 0 []"},
        {"{% for i in x %}a{% else %}none{% endfor %}", "none"},
        {"{{ {'a':1}.b is undefined }} {{ {}['q'] }}|", "True |"},
        {"{{ 'a' if x else 'b' }}", "b"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void attributes_come_before_items_of_dots(void **state) {
    static const rendering cases[] = {
        {"{{ {'items': 1}['items'] }} {{ {'items': 1}.items is callable }} {{ {'keyz': 2}.keyz }}",
         "1 True 2"},
        {"{{ 'abc'['upper']() }} {{ 'x'.upper() }}", "ABC X"},
        {"{{ {'pop': 1}.pop is defined }}", "False"},
        {"{{ [1].append is defined }}", "False"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void numbers_calculate_as_python_s(void **state) {
    static const rendering cases[] = {
        {"{{ 9007199254740993 + 0 }} {{ 2**62 }} {{ 2**-1 }} {{ 2**0.5 }}",
         "9007199254740993 4611686018427387904 0.5 1.4142135623730951"},
        {"{{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 5.0 }} {{ 1/3 }}", "3.0 0.5 5.0 0.3333333333333333"},
        {"{{ 'ab' * 3 }} {{ [0] * 2 }} {{ 2 * (1,) }} {{ 'x' * -1 }}|", "ababab [0, 0] (1, 1) |"},
        {"{{ [1] + [2] }} {{ (1,) + (2,) }}", "[1, 2] (1, 2)"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_print_as_python_s),
        cmocka_unit_test(slices_are_python_s),
        cmocka_unit_test(equality_and_order_are_python_s),
        cmocka_unit_test(undefined_is_empty_until_it_is_used),
        cmocka_unit_test(attributes_come_before_items_of_dots),
        cmocka_unit_test(numbers_calculate_as_python_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
