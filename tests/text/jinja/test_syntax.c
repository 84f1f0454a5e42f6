// test_syntax.c — text between tags, comments, raw, literals, against what Jinja2 is documented to give.
#include "rendered.h"

static void whitespace_is_taken_as_trim_and_lstrip_say(void **state) {
    static const rendering cases[] = {
        {"a\n  {% if true %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc"},
        {"{{ 1 }}\n{{ 2 }}\n", "1\n2"},
        {"x {%- if true -%} \n y \n{%- endif %} z", "xy z"},
        {"  {{- 1 -}}  ", "1"},
        {"{% if true +%}\nx{% endif %}", "\nx"},
        {"a\n  {%+ if true %}x{% endif %}", "a\n  x"},
        {"{# c #}\nx", "x"},
        {"  {# c #}\nx\n", "x"},
        {"a {#- c -#} b", "ab"},
        {"a\r\nb\rc\n", "a\nb\nc"},
        {"a\n\n", "a\n"},
        {"  {% set x = 1 %}  y", "  y"},
        {"{% if true %}   {% endif %}|", "   |"},
        {"\n  \t{% if true %}\n{% endif %}", "\n"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void raw_is_left_alone(void **state) {
    static const rendering cases[] = {
        {"{% raw %}{{ x }}{% endraw %}", "{{ x }}"},
        {"{%- raw -%} {% if %} {%- endraw %}!", "{% if %}!"},
        {"a {% raw %}\nb\n{% endraw %}\nc", "a \nb\nc"},
        {"x\n  {% raw %}y\n  {% endraw %}z", "x\ny\nz"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void literals_are_python_s(void **state) {
    static const rendering cases[] = {
        {"{{ 'a\\nb\\t\\x41\\u00e9\\U0001f600\\101\\q' }}", "a\nb\tAé😀A\\q"},
        {"{{ \"it's\" 'x' \"y\" }}", "it'sxy"},
        {"{{ 1_000 + 0x1f + 0b11 + 0o17 }}", "1049"},
        {"{{ 1.5e3 }} {{ 2e-7 }} {{ 1e22 }} {{ 0.1 }} {{ 1e16 }} {{ 123456789.0 }}",
         "1500.0 2e-07 1e+22 0.1 1e+16 123456789.0"},
        {"{{ true }} {{ False }} {{ none }} {{ None }}", "True False None None"},
        {"{{ [1, 'a', 2.0, none, true,] }} {{ (1,) }} {{ () }} {{ {'a': 1, \"b\": [2]} }}",
         "[1, 'a', 2.0, None, True] (1,) () {'a': 1, 'b': [2]}"},
        {"{{ '\\é' }}", "\\xe9"},
        {"{{ 'a\\\nb' }}", "ab"},
        {"{{ 12345678901234567890123 }}", "12345678901234567890123"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void operators_bind_as_in_jinja(void **state) {
    static const rendering cases[] = {
        {"{{ 2 + 3 * 4 ** 2 }}", "50"},
        {"{{ 2 ** 3 ** 2 }}", "64"},
        {"{{ -2 ** 2 }}", "4"},
        {"{{ 'a' + 'b' ~ 1 }}", "ab1"},
        {"{{ 1 ~ 2 * 3 }}", "16"},
        {"{{ not true or true }}", "True"},
        {"{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }}", "True False"},
        {"{{ 1 if false }}|{{ 1 if false else 2 if false else 3 }}", "|3"},
        {"{{ 'b' in 'abc' and 'd' not in 'abc' }}", "True"},
        {"{{ 1 is odd and 2 is even }}", "True"},
        {"{{ -1|abs }}", "1"},
        {"{{ 'x'|upper ~ 'y'|lower }}", "Xy"},
        {"{{ [1,2][0] + {'a':3}.a }}", "4"},
        {"{{ x is not defined }}", "True"},
        {"{{ 4 is divisibleby 2 }}", "True"},
        {"{{ (1,2)[1] }}", "2"},
        {"{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % -3 }} {{ 7 / 2 }} {{ 6 / 2 }}", "3 -4 -2 3.5 3.0"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whitespace_is_taken_as_trim_and_lstrip_say),
        cmocka_unit_test(raw_is_left_alone),
        cmocka_unit_test(literals_are_python_s),
        cmocka_unit_test(operators_bind_as_in_jinja),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
