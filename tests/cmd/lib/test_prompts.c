// Prompt files: what is the same prompt, and that it stays once.
#include "cmd/lib/prompts.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *path(void) {
    static char name[64];
    snprintf(name, sizeof name, "prompts-test-%ld.jsonl", (long)getpid());
    return name;
}

static void write_lines(const char *lines) {
    FILE *f = fopen(path(), "w");
    assert_non_null(f);
    fputs(lines, f);
    fclose(f);
}

static void read_lines(fr_prompts *p, const char *lines) {
    fr_error err;
    write_lines(lines);
    const fr_status st = fr_prompts_read(p, path(), 0, &err);
    unlink(path());
    if (st) fail_msg("%s", err.text);
}

#define USER(text)         "{\"role\":\"user\",\"content\":\"" text "\"}"
#define SYSTEM(text)       "{\"role\":\"system\",\"content\":\"" text "\"}"
#define LINE(id, messages) "{\"id\":\"" id "\",\"messages\":[" messages "]}\n"

static void what_says_the_same_stays_once(void **state) {
    (void)state;
    fr_prompts a, b;
    // c differs from a by its id alone; d by a system text, e by a turn, f by where turns end.
    read_lines(&a, LINE("a", USER("one")) LINE("b", USER("two")) LINE("c", USER("one"))
                       LINE("d", SYSTEM("s") "," USER("one")) LINE("e", USER("one") "," USER("two"))
                           LINE("f", USER("onetwo")) LINE("g", SYSTEM("s") "," USER("one")));
    assert_int_equal(a.n, 7);
    assert_int_equal(fr_prompts_drop_known(&a, &a), 2);
    assert_int_equal(a.n, 5);
    static const char *const kept[] = {"a", "b", "d", "e", "f"};
    for (int i = 0; i < 5; i++)
        assert_string_equal(a.item[i].id, kept[i]);
    assert_int_equal(a.item[3].n_turns, 2);
    read_lines(&b, LINE("x", USER("new")) LINE("y", USER("two")));
    assert_int_equal(fr_prompts_drop_known(&b, &a), 1);
    assert_int_equal(b.n, 1);
    assert_string_equal(b.item[0].id, "x");
    assert_int_equal(fr_prompts_drop_known(&b, &b), 0);
    fr_prompts_free(&a);
    fr_prompts_free(&b);
}

static void ids_are_texts_or_whole_numbers(void **state) {
    (void)state;
    static const char *const read[] = {"a", "-7", "123456789012345678901", "", ""};
    fr_prompts p;
    fr_error err;
    read_lines(&p, "{\"id\":\"a\",\"messages\":[" USER(
                       "1") "]}\n"
                            "{\"id\":-7,\"messages\":[" USER(
                                "2") "]}\n"
                                     "{\"id\":123456789012345678901,\"messages\":[" USER(
                                         "3") "]}\n"
                                              "{\"id\":null,\"messages\":[" USER(
                                                  "4") "]}\n"
                                                       "{\"messages\":[" USER("5") "]}\n");
    assert_int_equal(p.n, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(p.item[i].id, read[i]);
    fr_prompts_free(&p);
    write_lines("{\"id\":[1],\"messages\":[" USER("1") "]}\n");
    assert_int_equal(fr_prompts_read(&p, path(), 0, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "line 1: id: expected a text or a whole number"));
    unlink(path());
    fr_prompts_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_says_the_same_stays_once),
                                       cmocka_unit_test(ids_are_texts_or_whole_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
