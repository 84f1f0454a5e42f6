// test_filters.c — filters, tests, methods, formats, globals, against what Jinja2 is documented to give.
#include "rendered.h"

static void filters_of_text(void **state) {
    static const rendering cases[] = {
        {"{{ ' a b '|trim }}|{{ 'xxaxx'|trim('x') }}", "a b|a"},
        {"{{ 'hello wORLD-it'|title }} {{ 'hELLO'|capitalize }} {{ 'straße ΟΔΟΣ'|upper }} {{ 'ΟΔΟΣ "
         "İ'|lower }}",
         "Hello World-It Hello STRASSE ΟΔΟΣ οδος i̇"},
        {"{{ 'aXbXc'|replace('X', '-') }} {{ 'aXbXc'|replace('X', '-', 1) }} {{ 'ab'|replace('', "
         "'-') }}",
         "a-b-c a-bXc -a-b-"},
        {"{{ 'a\nb\n\nc'|indent }}|{{ 'a\nb'|indent(2, true) }}|{{ 'a\n\nb'|indent(1, false, true) "
         "}}|{{ 'a\nb'|indent('> ') }}",
         "a\n    b\n\n    c|  a\n  b|a\n \n b|a\n> b"},
        {"{{ 'x'|center(5) }}|", "  x  |"},
        {"{{ 'a b, c'|wordcount }}", "3"},
        {"{{ 'foo bar baz qux'|truncate(9) }} {{ 'foo bar baz qux'|truncate(9, true) }} {{ 'foo "
         "bar'|truncate(9) }}",
         "foo... foo ba... foo bar"},
        {"{{ '<a href=\"x\">&\\'</a>'|e }}", "&lt;a href=&#34;x&#34;&gt;&amp;&#39;&lt;/a&gt;"},
        {"{{ 'a b/c?ü'|urlencode }}", "a%20b/c%3F%C3%BC"},
        {"{{ '%s is %d'|format('x', 3) }}", "x is 3"},
        {"{{ 5|string + 'a' }}", "5a"},
        {"{{ '<b>'|safe + '<i>' }}", "<b>&lt;i&gt;"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void filters_of_lists(void **state) {
    static const rendering cases[] = {
        {"{{ [3,1,2]|sort }} {{ ['b','A','c']|sort }} {{ ['b','A']|sort(case_sensitive=true) }} {{ "
         "[1,2,3]|sort(reverse=true) }}",
         "[1, 2, 3] ['A', 'b', 'c'] ['A', 'b'] [3, 2, 1]"},
        {"{{ [{'a':2},{'a':1}]|sort(attribute='a') }}", "[{'a': 1}, {'a': 2}]"},
        {"{{ [{'x':none,'n':1},{'x':none,'n':2}]|sort(attribute='x') }} {{ [none,none]|sort }}",
         "[{'x': None, 'n': 1}, {'x': None, 'n': 2}] [None, None]"},
        {"{{ [{'a':1},{'a':1}]|sort }} {{ [{'n':2},{'n':1}]|sort(attribute='z') }}",
         "[{'a': 1}, {'a': 1}] [{'n': 2}, {'n': 1}]"},
        {"{{ {'b':1,'A':2}|dictsort }} {{ {'b':1,'a':2}|dictsort(by='value') }}",
         "[('A', 2), ('b', 1)] [('b', 1), ('a', 2)]"},
        {"{{ [1,2,3]|join(',') }} {{ [{'n':1},{'n':2}]|join('-', attribute='n') }} {{ "
         "'abc'|join('.') }}",
         "1,2,3 1-2 a.b.c"},
        {"{{ [1,2,3]|first }} {{ [1,2,3]|last }} {{ []|first }}|{{ [1,2,2,1]|unique|list }} {{ "
         "[1,2]|reverse|list }} {{ 'abc'|reverse }}",
         "1 3 |[1, 2] [2, 1] cba"},
        {"{{ [1,2,3]|sum }} {{ [{'v':1},{'v':2}]|sum(attribute='v') }} {{ [3,1]|min }} {{ "
         "[3,1]|max }} {{ []|max }}|",
         "6 3 1 3 |"},
        {"{{ [{'a':1},{'a':none},{}]|selectattr('a')|list }} {{ [1,2,3]|select('odd')|list }} {{ "
         "[1,2,3]|reject('equalto', 2)|list }} {{ [{'r':'x'},{'r':'y'}]|rejectattr('r', 'equalto', "
         "'x')|list }}",
         "[{'a': 1}] [1, 3] [1, 3] [{'r': 'y'}]"},
        {"{{ ['a','b']|map('upper')|join }} {{ [{'x':{'y':1}},{}]|map(attribute='x.y', "
         "default='d')|list }}",
         "AB [1, 'd']"},
        {"{{ [1,2,3,4,5]|batch(2)|list }} {{ [1,2,3,4,5]|slice(2)|list }} {{ [1,2,3]|batch(2, "
         "0)|list }}",
         "[[1, 2], [3, 4], [5]] [[1, 2, 3], [4, 5]] [[1, 2], [3, 0]]"},
        {"{{ [{'k':'b','v':1},{'k':'a','v':2},{'k':'b','v':3}]|groupby('k') }}",
         "[('a', [{'k': 'a', 'v': 2}]), ('b', [{'k': 'b', 'v': 1}, {'k': 'b', 'v': 3}])]"},
        {"{% for g in [{'k':'b','v':1},{'k':'a'},{'k':'b','v':3}]|groupby('k') %}{{ g.grouper }}"
         "{{ g.list|length }}{{ g['grouper'] }} {% endfor %}{{ (1, 2).grouper }}",
         "a1a b2b "},
        {"{{ [1,2]|select|reverse }} {{ ('<'|e)|list }} {{ []|select|list }}",
         "[2, 1] ['&', 'l', 't', ';'] []"},
        {"{{ {'a':1}|items|list }} {{ [1,[2]]|length }} {{ {'a':1}|count }}", "[('a', 1)] 2 1"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void filters_of_values(void **state) {
    static const rendering cases[] = {
        {"{{ '42'|int + 1 }} {{ '4.7'|int }} {{ 'x'|int(9) }} {{ 'ff'|int(0, 16) }} {{ "
         "'0x1f'|int(base=16) }} {{ 3.9|int }} {{ none|int }}",
         "43 4 9 255 31 3 0"},
        {"{{ '1.5'|float }} {{ 'x'|float }} {{ 2|float }}", "1.5 0.0 2.0"},
        {"{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 42.55|round(1, 'floor') }} {{ "
         "42.51|round(1, 'ceil') }} {{ 7|round }}",
         "2.0 4.0 2.67 42.5 42.6 7"},
        {"{{ x|default('a') }} {{ ''|default('b') }}|{{ ''|default('b', true) }} {{ none|d('c') }}",
         "a |b None"},
        {"{{ -3|abs }} {{ {'a':1}|attr('a') is defined }}", "3 False"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void tojson_is_json_dumps(void **state) {
    static const rendering cases[] = {
        {"{{ {'b': [1, 2.0, none, true], 'a': 'é\"\\\\\\n\\x01'} | tojson }}",
         "{\"b\": [1, 2.0, null, true], \"a\": \"é\\\"\\\\\\n\\u0001\"}"},
        {"{{ [] | tojson(indent=2) }} {{ {'a': [1, {}]} | tojson(indent=2) }}",
         "[] {\n  \"a\": [\n    1,\n    {}\n  ]\n}"},
        {"{{ 'é😀' | tojson(ensure_ascii=true) }}", "\"\\u00e9\\ud83d\\ude00\""},
        {"{{ {'b':1,'a':2} | tojson(sort_keys=true) }}", "{\"a\": 2, \"b\": 1}"},
        {"{{ [1,2] | tojson(separators=(',', ':')) }}", "[1,2]"},
        {"{{ {1: 2, true: 3, none: 4} | tojson }}", "{\"1\": 3, \"null\": 4}"},
        {"{{ (1, 'a') | tojson }} {{ 1e16 | tojson }} {{ '<&>' | tojson }}",
         "[1, \"a\"] 1e+16 \"<&>\""},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void tests_are_jinja_s(void **state) {
    static const rendering cases[] = {
        {"{{ 1 is number }}{{ true is number }}{{ true is integer }}{{ 1 is integer }}{{ 1.0 is "
         "float }}{{ 'a' is string }}{{ {} is mapping }}{{ [] is sequence }}{{ {} is sequence }}{{ "
         "'a' is iterable }}{{ 1 is iterable }}{{ none is none }}{{ true is boolean }}{{ false is "
         "false }}{{ 1 is true }}",
         "TrueTrueFalseTrueTrueTrueTrueTrueTrueTrueFalseTrueTrueTrueFalse"},
        {"{{ 2 is eq 2 }}{{ 2 is ne 3 }}{{ 2 is lt 3 }}{{ 2 is ge 3 }}{{ 1 is in [1] }}{{ 'a' is "
         "lower }}{{ 'A' is upper }}{{ 'upper' is filter }}{{ 'odd' is test }}{{ none is sameas "
         "none }}{{ x is undefined }}{{ range is callable }}",
         "TrueTrueTrueFalseTrueTrueTrueTrueTrueTrueTrueTrue"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void methods_of_strings(void **state) {
    static const rendering cases[] = {
        {"{{ ' a '.strip() }}|{{ 'xax'.lstrip('x') }} {{ 'xax'.rstrip('x') }} {{ "
         "'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a b c'.split(' ', 1) }} {{ 'a b "
         "c'.rsplit(' ', 1) }} {{ 'a b  c '.split(none, 1) }} {{ ' a b c '.rsplit(none, 1) }}",
         "a|ax xa ['a', 'b', '', 'c'] ['a', 'b'] ['a', 'b c'] ['a b', 'c'] ['a', 'b  c '] [' a b', "
         "'c']"},
        {"{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'bc')) }} {{ 'abcb'.find('b') }} {{ "
         "'abcb'.rfind('b') }} {{ 'abc'.find('z') }} {{ 'banana'.count('an') }} {{ 'éa'.index('a') "
         "}}",
         "True True 1 3 -1 2 1"},
        {"{{ 'a-b'.partition('-') }} {{ 'a-b-c'.rpartition('-') }} {{ ','.join(['a','b']) }} {{ "
         "'abc'.replace('b','') }}",
         "('a', '-', 'b') ('a-b', '-', 'c') a,b ac"},
        {"{{ 'ΟΔΟΣ οσ'.title() }} {{ 'q' % x }}", "Οδος Οσ q"},
        {"{{ 'Straße ΟΣ'.swapcase() }} {{ 'ΣΑΣ σας'.swapcase() }}", "sTRASSE ος σας ΣΑΣ"},
        {"{{ 'hello world'.title() }} {{ 'hELLO'.capitalize() }} {{ 'aB'.swapcase() }} {{ "
         "'a'.ljust(3) }}|{{ 'a'.rjust(3, '.') }} {{ '7'.zfill(3) }} {{ '-7'.zfill(4) }}",
         "Hello World Hello Ab a  |..a 007 -007"},
        {"{{ '12'.isdigit() }} {{ 'ab'.isalpha() }} {{ 'a1'.isalnum() }} {{ ' '.isspace() }} {{ "
         "'ab'.islower() }} {{ 'AB'.isupper() }} {{ ''.isdigit() }}",
         "True True True True True True False"},
        {"{{ 'a\\nb\\r\\nc'.splitlines() }} {{ 'abc'.removeprefix('a') }} {{ "
         "'abc'.removesuffix('c') }}",
         "['a', 'b', 'c'] bc ab"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void methods_of_mappings_and_lists(void **state) {
    static const rendering cases[] = {
        {"{{ {'a':1}.get('a') }} {{ {'a':1}.get('b') }} {{ {'a':1}.get('b', 2) }} {{ "
         "{'a':1}.values()|list }} {{ [1,2,1].count(1) }} {{ [1,2].index(2) }}",
         "1 None 2 [1] 2 1"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void formats_fill_their_places(void **state) {
    static const rendering cases[] = {
        {"{{ '{}-{}'.format(1, 'a') }} {{ '{1}{0}'.format('a','b') }} {{ '{x}'.format(x=1) }} {{ "
         "'{{}}'.format() }} {{ "
         "'{:>5}|{:<5}|{:^5}|{:05d}|{:.2f}|{:,}|{:x}|{:%}'.format('a','b','c',42,3.14159,1234567,"
         "255,0.5) }}",
         "1-a ba 1 {}     a|b    |  c  |00042|3.14|1,234,567|ff|50.000000%"},
        {"{{ '{!r}'.format('a') }} {{ '{0[a]}'.format({'a':1}) }} {{ '{:{}}'.format('a', 4) }}|",
         "'a' 1 a   |"},
        {"{{ '%s %r %d %5.2f %x %05d %-4d| %%' % ('a', 'b', 3, 2.5, 255, 42, 7) }} {{ '%(k)s' % "
         "{'k': 1} }} {{ '%s' % 'x' }} {{ '%+d' % 3 }} {{ '%e' % 12345.678 }} {{ '%g' % 0.0001 }}",
         "a 'b' 3  2.50 ff 00042 7   | % 1 x +3 1.234568e+04 0.0001"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

static void globals_are_there(void **state) {
    static const rendering cases[] = {
        {"{{ range(5, 2, -1)|list }} {{ range(9, -1, -1)|list }} {{ range(2, -1, -1)|list }} {{ "
         "range(2, 4)|list }} {{ range(0, -2, -1)|list }} {{ range(-2, 1)|list }} {{ range(3, "
         "3)|list }}",
         "[5, 4, 3] [9, 8, 7, 6, 5, 4, 3, 2, 1, 0] [2, 1, 0] [2, 3] [0, -1] [-2, -1, 0] []"},
        {"{{ range(3)|list }} {{ range(5, 0, -2)|list }} {{ dict(a=1) }} {{ dict({'b':2}, a=1) }}",
         "[0, 1, 2] [5, 3, 1] {'a': 1} {'b': 2, 'a': 1}"},
        {"{% set c = cycler('a','b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{% set j = "
         "joiner(',') %}{{ j() }}1{{ j() }}2",
         "aba1,2"},
        {"{% set c = cycler('a','b') %}{{ c.current }}{{ c.next() }}{{ c.current }}{{ c.current }}",
         "aabb"},
        {"{{ 'ABC'.casefold() }}", "abc"},
        {"{{ strftime_now('%d %b %Y %H:%M') }}", "01 Jan 1970 00:00"},
    };
    (void)state;
    expect_all(cases, sizeof cases / sizeof *cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_of_text),
        cmocka_unit_test(filters_of_lists),
        cmocka_unit_test(filters_of_values),
        cmocka_unit_test(tojson_is_json_dumps),
        cmocka_unit_test(tests_are_jinja_s),
        cmocka_unit_test(methods_of_strings),
        cmocka_unit_test(methods_of_mappings_and_lists),
        cmocka_unit_test(formats_fill_their_places),
        cmocka_unit_test(globals_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
