// test_marks.c — who wrote a byte is known however the template got it there.
#include "rendered.h"

#define VARS "{\"m\": \"User x\", \"l\": [\"p\", \"q\"], \"d\": {\"k\": \"v\"}, \"n\": 7}"

typedef struct marked {
    const char *template, *text, *marks; // t: the template's, m: a message's
} marked;

static const marked cases[] = {
    {"a{{ m }}b", "aUser xb", "tmmmmmmt"},
    {"{{ 'a' + m ~ 'b' }}", "aUser xb", "tmmmmmmt"},
    {"{{ ('<' + m + '>')[1:3] }}", "Us", "mm"},
    {"{{ ('<' + m + '>')[::-1] }}", ">x resU<", "tmmmmmmt"},
    {"{{ ('<' + m + '>') | upper }}", "<USER X>", "tmmmmmmt"},
    {"{{ (' <' + m + '> ') | trim }}", "<User x>", "tmmmmmmt"},
    {"{{ m | replace('ser', '--') }}", "U-- x", "mttmm"},
    {"{{ '-'.join(l) }}|{{ l | join('+') }}", "p-q|p+q", "mtmtmtm"},
    {"{{ ('a ' + m).split(' ')[1] }}", "User", "mmmm"},
    {"{{ '{}:{}'.format('r', m) }}", "r:User x", "ttmmmmmm"},
    {"{{ '%s:%s' % (m, 'r') }}", "User x:r", "mmmmmmtt"},
    {"{% set s %}<{{ m }}>{% endset %}{{ s }}", "<User x>", "tmmmmmmt"},
    {"{% macro f(x) %}[{{ x }}]{% endmacro %}{{ f(l[0]) }}", "[p]", "tmt"},
    {"{{ d | tojson }}", "{\"k\": \"v\"}", "mmmmmmmmmm"},
    {"{{ d }}{{ l }}", "{'k': 'v'}['p', 'q']", "mmmmmmmmmmmmmmmmmmmm"},
    {"{% for c in l[0] ~ 'z' %}{{ c }}{% endfor %}", "pz", "mt"},
    {"{{ ('x' + l[0]) | indent(1, true) }}", " xp", "ttm"},
    {"{{ ('x' + l[0]) * 2 }}", "xpxp", "tmtm"},
    {"{{ '<|im_end|>' }}{{ d.k }}", "<|im_end|>v", "ttttttttttm"},
    {"{{ d.nope or 'z' }}{{ d.k if true }}", "zv", "tm"},
    {"{% filter lower %}A{{ m }}{% endfilter %}", "auser x", "tmmmmmm"},
    {"{{ ['a', l[1]] | map('upper') | join }}", "AQ", "tm"},
    {"{{ strftime_now('%Y') }}{{ strftime_now(l[0]) }}", "1970p", "ttttm"},
    {"{{ strftime_now('<' ~ l[0] ~ '%d') }}", "<p01", "mmmm"},
    {"{{ ('<' ~ m) | e }}", "&lt;User x", "ttttmmmmmm"},
};

static void marks_follow_their_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_marked out = {0};
        fr_error err = {0};
        char found[100] = "";
        if (render_text(cases[i].template, VARS, &out, &err))
            fail_msg("%s: %s", cases[i].template, err.text);
        assert_string_equal(out.text.data, cases[i].text);
        for (size_t run = 0, at = 0; run < out.n_runs; run++) {
            assert_true(out.run[run].end > at);
            if (run) assert_int_not_equal(out.run[run].mark, out.run[run - 1].mark);
            for (; at < out.run[run].end; at++)
                found[at] = out.run[run].mark == FR_MARK_TEMPLATE ? 't' : 'm';
        }
        if (strcmp(found, cases[i].marks))
            fail_msg("%s: expected %s, found %s", cases[i].template, cases[i].marks, found);
        fr_marked_free(&out);
    }
}

// A string that grows by pieces keeps its parts apart, and what was taken of it before stays.
static void marks_of_a_growing_string_stay(void **state) {
    (void)state;
    static const char template[] = "{% set ns = namespace(s='', old='') %}{% for i in range(400) %}"
                                   "{% set ns.s = ns.s + ('t' if i is even else l[0]) %}"
                                   "{% if i == 300 %}{% set ns.old = ns.s %}{% set x = ns.s + "
                                   "'other' %}{% endif %}{% endfor %}"
                                   "{{ ns.s }}{{ ns.old }}";
    fr_marked out = {0};
    assert_int_equal(render_text(template, VARS, &out, NULL), FR_OK);
    assert_int_equal(out.text.n, 701);
    for (size_t run = 0, at = 0; run < out.n_runs; at = out.run[run++].end)
        for (size_t i = at; i < out.run[run].end; i++)
            assert_int_equal(out.text.data[i], out.run[run].mark == FR_MARK_TEMPLATE ? 't' : 'p');
    fr_marked_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_follow_their_bytes),
        cmocka_unit_test(marks_of_a_growing_string_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
