// Text from pipes and files: the model gets the same text whatever program wrote it, and nothing of it
// is lost.
#include "cmd/program.h"
#include "support/tiny_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static char folder[] = "/tmp/fr-chat-XXXXXX", model[64];
static said a, b;

static int set_up(void **state) {
    (void)state;
    fr_error err;
    if (!mkdtemp(folder)) return -1;
    snprintf(model, sizeof model, "%s/tiny.gguf", folder);
    setenv("XDG_STATE_HOME", folder, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    return fr_tiny_write(&(fr_tiny_options){.n_ctx = 1 << 13, .seed = 1}, model, &err);
}

static int tear_down(void **state) {
    char drop[64];
    (void)state;
    snprintf(drop, sizeof drop, "rm -rf %s", folder);
    return system(drop);
}

// What `chat` answers to these lines.
static void chat(said *s, const char *more, const char *input, size_t n) {
    char line[512];
    snprintf(line, sizeof line,
             "chat -m %s -t 1 -n 8 --temp 0 --drafter none --chat-template chatml %s", model, more);
    run_with(s, line, input, n, 0, NULL);
    assert_int_equal(s->code, 0);
}

static void expect_alike(const char *input, const char *as) {
    chat(&a, "", input, strlen(input));
    chat(&b, "", as, strlen(as));
    assert_string_equal(a.out, b.out);
    assert_string_equal(a.err, b.err);
}

static void expect_differ(const char *input, const char *as) {
    chat(&a, "", input, strlen(input));
    chat(&b, "", as, strlen(as));
    assert_string_not_equal(a.out, b.out);
}

static void lines_of_windows_are_lines(void **state) {
    (void)state;
    expect_alike("Hi\r\n/exit\r\nmore\r\n", "Hi\n/exit\nmore\n");
    expect_alike("\xef\xbb\xbfHi\r\n", "Hi\n");
    assert_int_equal(lines_in(a.out), 1);
}

static void a_slash_alone_makes_no_command(void **state) {
    (void)state;
    static const char *const messages[] = {"/etc/passwd has which fields?\n",
                                           "/exit now\n",
                                           "//\n",
                                           "/unheard\n",
                                           "/resetting\n",
                                           "/systematic\n"};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        chat(&a, "", messages[i], strlen(messages[i]));
        assert_int_equal(lines_in(a.out), 1);
        assert_string_equal(a.err, "");
    }
    expect_differ("/exit now\n", "/exit then\n");
    chat(&a, "", "/exit\nHi\n", 9);
    assert_string_equal(a.out, "");
}

static void quotes_hold_a_message_of_several_lines(void **state) {
    (void)state;
    expect_alike("\"\"\"one\ntwo\"\"\"\n/exit\n", "\"\"\"one\r\ntwo\"\"\"\r\n");
    expect_differ("\"\"\"one\ntwo\"\"\"\n", "one two\n");
    chat(&a, "", "\"\"\"one\n/exit\ntwo\n\"\"\"\n", 21);
    assert_int_equal(lines_in(a.out), 1);
    expect_alike("\"\"\"one\"\"\"\n", "one\n");
    chat(&a, "", "\"\"\"one\ntwo", 10); // the input's end cuts it
    assert_int_equal(lines_in(a.out), 1);
}

static void a_system_message_comes_before_the_conversation(void **state) {
    (void)state;
    chat(&a, "--system be^brief", "Hi\n", 3);
    expect_alike("/system be brief\nHi\n", "/system x\n/system be brief\nHi\n");
    assert_string_equal(a.out, b.out);
    chat(&b, "", "Hi\n", 3);
    assert_string_not_equal(a.out, b.out);
    expect_alike("/system be brief\n/system\nHi\n", "Hi\n");
    // It stays when the conversation starts anew.
    chat(&a, "--system be^brief", "one\n/reset\nHi\n", 14);
    chat(&b, "--system be^brief", "Hi\n", 3);
    assert_string_equal(strchr(a.out, '\n') + 1, b.out);
}

// ---------------------------------------------------------------- files

// The file's path, in place until the next call.
static const char *write_file(const char *name, const void *bytes, size_t n) {
    static char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    return path;
}

static void run_file(said *s, const char *option, const void *bytes, size_t n) {
    char line[512];
    snprintf(line, sizeof line,
             "run -m %s -t 1 -n 4 --temp 0 --drafter none --chat-template chatml --json %s %s",
             model, option, write_file("prompt", bytes, n));
    assert_int_equal(run_line(s, line), 0);
}

static json_t *member(const said *s, const char *name) {
    json_t *root = json_loads(s->out, 0, NULL), *value = json_object_get(root, name);
    assert_non_null(value);
    json_incref(value);
    json_decref(root);
    return value;
}

static void expect_same_prompt(const said *x, const said *y) {
    static const char *const names[] = {"prompt_tokens", "text"};
    for (int i = 0; i < 2; i++) {
        json_t *one = member(x, names[i]), *other = member(y, names[i]);
        assert_true(json_equal(one, other));
        json_decref(one);
        json_decref(other);
    }
}

#define FILE_OF(s, option, text) run_file(s, option, text, sizeof text - 1)

static void marks_and_the_last_newline_are_no_part_of_a_file(void **state) {
    (void)state;
    FILE_OF(&b, "-f", "Hi \xc3\xa9");
    FILE_OF(&a, "-f", "\xef\xbb\xbfHi \xc3\xa9");
    expect_same_prompt(&a, &b);
    FILE_OF(&a, "-f", "Hi \xc3\xa9\n");
    expect_same_prompt(&a, &b);
    FILE_OF(&a, "-f", "Hi \xc3\xa9\r\n");
    expect_same_prompt(&a, &b);
    FILE_OF(&a, "-f", "\xff\xfeH\0i\0 \0\xe9\0\r\0\n\0");
    expect_same_prompt(&a, &b);
    FILE_OF(&a, "-f", "\xfe\xff\0H\0i\0 \0\xe9");
    expect_same_prompt(&a, &b);
    FILE_OF(&a, "-f", "Hi \xc3\xa9\n\n"); // one alone is the editor's
    json_t *one = member(&a, "prompt_tokens"), *other = member(&b, "prompt_tokens");
    assert_int_equal(json_integer_value(one), json_integer_value(other) + 1);
    json_decref(one);
    json_decref(other);
}

static void messages_may_begin_with_a_mark(void **state) {
    (void)state;
    FILE_OF(&b, "--messages", "[{\"role\":\"user\",\"content\":\"Hi\"}]");
    FILE_OF(&a, "--messages", "\xef\xbb\xbf[{\"role\":\"user\",\"content\":\"Hi\"}]\r\n");
    expect_same_prompt(&a, &b);
}

static void half_a_character_of_utf16_is_an_error(void **state) {
    (void)state;
    char line[512];
    snprintf(line, sizeof line, "run -m %s -n 4 -f %s", model,
             write_file("half", "\xff\xfeH\0i", 5));
    assert_int_equal(run_line(&a, line), 1);
    assert_non_null(strstr(a.err, "UTF-16"));
}

// With options for the template a wrong file gives the same sentence.
static void a_wrong_conversation_is_named_with_options_too(void **state) {
    (void)state;
    static const struct {
        const char *file, *says;
    } wrong[] = {
        {"3", "messages: expected a list"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"chat_template_kwargs\":5}",
         "chat_template_kwargs: expected an object"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int with = 0; with < 2; with++) {
            char line[512];
            snprintf(line, sizeof line, "run -m %s -n 1 --chat-template chatml %s --messages %s",
                     model, with ? "--reasoning off" : "",
                     write_file("wrong", wrong[i].file, strlen(wrong[i].file)));
            assert_int_equal(run_line(&a, line), 1);
            if (!strstr(a.err, wrong[i].says)) fail_msg("%s", a.err);
        }
}

// ---------------------------------------------------------------- variables of the template

static const char *template_file(void) {
    static const char text[] = "{{ messages[0]['content'] }}{% if enable_thinking is defined %} "
                               "{{ enable_thinking }}{% endif %}{{ word }}";
    return write_file("template", text, sizeof text - 1);
}

static int prompt_tokens(const char *options) {
    char line[512];
    snprintf(line, sizeof line,
             "run -m %s -t 1 -n 1 --temp 0 --drafter none --json -p Hi --chat-template-file %s %s",
             model, template_file(), options);
    assert_int_equal(run_line(&a, line), 0);
    json_t *n = member(&a, "prompt_tokens");
    const int tokens = (int)json_integer_value(n);
    json_decref(n);
    return tokens;
}

static void a_template_finds_its_variables(void **state) {
    (void)state;
    const int plain = prompt_tokens("");
    assert_int_equal(prompt_tokens("--chat-template-kwargs {\"word\":\"abc\"}"), plain + 3);
    assert_int_equal(prompt_tokens("--reasoning on"), plain + 5); // " True"
    assert_int_equal(prompt_tokens("--reasoning off"), plain + 6);
    assert_int_equal(prompt_tokens("--chat-template-kwargs {\"enable_thinking\":true}"), plain + 5);
    char line[512];
    snprintf(line, sizeof line, "run -m %s -p Hi --chat-template-kwargs [1]", model);
    assert_int_equal(run_line(&a, line), 2);
    assert_non_null(strstr(a.err, "expected a JSON object"));
}

static void options_that_contradict_are_refused(void **state) {
    (void)state;
    static const char *const lines[] = {"run -m %s -p Hi --raw --system x",
                                        "run -m %s --request - --reasoning on",
                                        "run -m %s --messages x.json --system y"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[512];
        snprintf(line, sizeof line, lines[i], model);
        assert_int_equal(run_line(&a, line), 2);
        assert_non_null(strstr(a.err, "--system"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_windows_are_lines),
        cmocka_unit_test(a_slash_alone_makes_no_command),
        cmocka_unit_test(quotes_hold_a_message_of_several_lines),
        cmocka_unit_test(a_system_message_comes_before_the_conversation),
        cmocka_unit_test(marks_and_the_last_newline_are_no_part_of_a_file),
        cmocka_unit_test(messages_may_begin_with_a_mark),
        cmocka_unit_test(half_a_character_of_utf16_is_an_error),
        cmocka_unit_test(a_wrong_conversation_is_named_with_options_too),
        cmocka_unit_test(a_template_finds_its_variables),
        cmocka_unit_test(options_that_contradict_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
