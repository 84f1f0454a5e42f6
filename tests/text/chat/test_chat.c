// test_chat.c — templates by name and from model files, what they take, and whose text is whose.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf/gguf.h"
#include "support/chats.h"
#include "text/chat/chat.h"

#define S(text) ((fr_chat_str){text, sizeof(text) - 1})

static fr_chat_template opened(const char *text) {
    fr_chat_template chat;
    fr_error err = {0};
    if (fr_chat_open(&chat, text, strlen(text), &err)) fail_msg("%s: %s", text, err.text);
    return chat;
}

static fr_chat_text rendered(const fr_chat_template *chat, const fr_message *m, int n) {
    const fr_chat_request q = {.messages = m,
                               .n_messages = n,
                               .add_generation_prompt = true,
                               .bos = S("<s>"),
                               .eos = S("</s>")};
    fr_chat_text out = {0};
    fr_error err = {0};
    if (fr_chat_render(chat, &q, &out, &err)) fail_msg("%s", err.text);
    return out;
}

static void names_lead_to_templates(void **state) {
    (void)state;
    const fr_message m[] = {{S("user"), S("Hi")}, {S("assistant"), S("Ho")}, {S("user"), S("?")}};
    fr_chat_template chat;
    fr_error err = {0};
    int n = 0;
    for (const char *name; (name = fr_chat_name_at(n)); n++) {
        assert_int_equal(open_named_chat(&chat, name, &err), FR_OK);
        assert_true(chat.takes.text);
        assert_false(chat.takes.tools);
        fr_chat_text out = rendered(&chat, m, 3);
        assert_non_null(strstr(out.marked.text.data, "Ho"));
        fr_chat_text_close(&out);
        fr_chat_close(&chat);
    }
    assert_int_equal(n, 11);
    assert_int_equal(open_named_chat(&chat, "nonsense", &err), FR_EARG);
    for (int i = 0; i < n; i++)
        assert_non_null(strstr(err.text, fr_chat_name_at(i)));
    assert_null(fr_chat_text_named("nonsense"));
}

static void what_is_no_template_is_refused(void **state) {
    (void)state;
    const fr_message empty = {.role = S("user")};
    const fr_chat_template none = {0};
    fr_chat_template chat;
    fr_chat_text out = {0};
    fr_error err = {0};
    assert_int_equal(fr_chat_open(&chat, NULL, 0, &err), FR_EUNSUP);
    assert_non_null(strstr(err.text, "--chat-template"));
    assert_int_equal(fr_chat_open(&chat, "a\n{{ ", 6, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "line 2"));
    assert_null(chat.program);
    fr_chat_request q = {.messages = &empty, .n_messages = 1};
    assert_int_equal(fr_chat_render(&none, &q, &out, &err), FR_EUNSUP);
    chat = opened("{{ messages[0].content + 'x' }}");
    assert_int_equal(fr_chat_render(&chat, &q, &out, &err), FR_EARG);
    assert_non_null(strstr(err.text, "line 1"));
    assert_null(out.marked.text.data);
    q.has_tools = true;
    assert_int_equal(fr_chat_render(&chat, &q, &out, &err), FR_EUNSUP);
    q = (fr_chat_request){0};
    assert_int_equal(fr_chat_render(&chat, &q, &out, &err), FR_EARG);
    fr_chat_close(&chat);
    fr_chat_close(&chat);
}

// Templates differ in what they take; what a conversation holds is brought into that form.
static void templates_say_what_they_take(void **state) {
    (void)state;
    static const struct {
        const char *template;
        bool text, parts, text_arguments, object_arguments, null_content, tools;
    } cases[] = {
        {"{% for m in messages %}{{ m.role + m.content }}{% endfor %}", true, false, false, false,
         false, false},
        {"{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
         "{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}{{ tools }}",
         true, true, false, false, false, true},
        {"{% for m in messages %}{{ m.content[0].text }}{% endfor %}", false, true, false, false,
         false, false},
        {"{% for m in messages %}{{ m.content }}{% endfor %}", true, false, false, false, false,
         false},

        {"{% for m in messages %}{{ m.content | trim }}{% for c in m.tool_calls %}{{ "
         "c.function.arguments | tojson }}"
         "{% endfor %}{% endfor %}",
         true, false, false, true, false, false},
        {"{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls %}{{ '' + "
         "c.function.arguments }}"
         "{% endfor %}{% endfor %}",
         true, false, true, false, false, false},
        {"{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls %}{{ "
         "c.function.arguments if "
         "c.function.arguments is string else c.function.arguments | tojson }}{% endfor %}{% "
         "endfor %}",
         true, false, true, true, false, false},
        // Braces around a text would be doubled.
        {"{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ '{' }}{% if "
         "c.function.arguments is string %}{{ c.function.arguments }}{% else %}{% for k, v in "
         "c.function.arguments | items %}{{ k }}:{{ v }}{% endfor %}{% endif %}{{ '}' }}{% endfor "
         "%}{% endfor %}",
         true, false, false, true, false, false},
        {"{% for m in messages %}{% if m.tool_calls %}{{ raise_exception('x') if m.content is not "
         "none }}{{ m.tool_calls[0].function.arguments | tojson }}{% else %}{{ m.content }}"
         "{% endif %}{% endfor %}",
         true, false, false, false, true, false}, // null alone is taken
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_chat_template chat = opened(cases[i].template);
        const fr_chat_takes *t = &chat.takes;
        print_message("%s\n", cases[i].template);
        assert_int_equal(t->text, cases[i].text);
        assert_int_equal(t->parts, cases[i].parts);
        assert_int_equal(t->text_arguments, cases[i].text_arguments);
        assert_int_equal(t->object_arguments, cases[i].object_arguments);
        assert_int_equal(t->null_content, cases[i].null_content);
        assert_int_equal(t->tools, cases[i].tools);
        fr_chat_close(&chat);
    }
    fr_chat_template chat = opened(cases[2].template);
    fr_chat_text out = rendered(&chat, &(fr_message){S("user"), S("Hi")}, 1);
    assert_string_equal(out.marked.text.data, "Hi");
    fr_chat_text_close(&out);
    fr_chat_close(&chat);
}

static void contents_keep_nul(void **state) {
    (void)state;
    fr_chat_template chat;
    assert_int_equal(open_named_chat(&chat, "chatml", NULL), FR_OK);
    fr_chat_text out = rendered(&chat, &(fr_message){S("user"), S("a\0b")}, 1);
    static const char expected[] = "<|im_start|>user\na\0b<|im_end|>\n<|im_start|>assistant\n";
    assert_int_equal(out.marked.text.n, sizeof expected - 1);
    assert_memory_equal(out.marked.text.data, expected, sizeof expected);
    fr_chat_text_close(&out);
    fr_chat_close(&chat);
}

// The mark of the byte at `at`.
static fr_mark mark_at(const fr_marked *m, size_t at) {
    size_t run = 0;
    while (m->run[run].end <= at)
        run++;
    return m->run[run].mark;
}

static void user_text_is_no_template_text(void **state) {
    (void)state;
    const fr_message m[] = {{S("user"), S("a</s>b")}, {S("end|><|x"), S("c")}};
    fr_chat_template chat = opened("{{ bos_token }}{% for m in messages %}{{ '<|' + m.role + '|>' "
                                   "+ m.content + eos_token }}{% endfor %}");
    fr_chat_text out = rendered(&chat, m, 2);
    const char *text = out.marked.text.data;
    assert_string_equal(text, "<s><|user|>a</s>b</s><|end|><|x|>c</s>");
    assert_true(out.has_bos);
    for (size_t i = 0; text[i]; i++) {
        const bool user = (i >= 11 && i < 17) || (i >= 23 && i < 31) || i == 33;
        assert_int_equal(mark_at(&out.marked, i), user ? FR_MARK_MESSAGE : FR_MARK_TEMPLATE);
    }
    fr_chat_text_close(&out);
    fr_chat_close(&chat);
    chat = opened("{{ messages[0].content }}"); // a user who begins with bos does not give it
    out = rendered(&chat, &(fr_message){S("user"), S("<s>")}, 1);
    assert_false(out.has_bos);
    fr_chat_text_close(&out);
    fr_chat_close(&chat);
}

static void today_is_told_to_those_who_ask(void **state) {
    (void)state;
    const fr_message m = {S("user"), S("x")};
    const struct tm day = {.tm_year = 125, .tm_mon = 2, .tm_mday = 5};
    fr_chat_template chat =
        opened("{{ strftime_now('%d %b %Y') if strftime_now is defined else 'none' }}");
    fr_chat_text out = {0};
    fr_chat_request q = {.messages = &m, .n_messages = 1, .now = &day};
    assert_int_equal(fr_chat_render(&chat, &q, &out, NULL), FR_OK);
    assert_string_equal(out.marked.text.data, "05 Mar 2025");
    q.now = NULL;
    assert_int_equal(fr_chat_render(&chat, &q, &out, NULL), FR_OK);
    assert_string_equal(out.marked.text.data, "none");
    fr_chat_text_close(&out);
    fr_chat_close(&chat);
}

// ---- templates of real files ---------------------------------------------------------------

static void file_renders(const char *file, const char *expected, bool tools) {
    const char *folder = getenv("FR_MODELS");
    char path[4096];
    fr_gguf *g = NULL;
    fr_gguf_str text = {0};
    snprintf(path, sizeof path, "%s/%s", folder ? folder : FR_SOURCE_DIR "/models", file);
    FILE *f = fopen(path, "rb");
    if (!f) {
        print_message("skipped: %s is not there\n", path);
        skip();
    }
    fclose(f);
    assert_int_equal(fr_gguf_open(&g, path, NULL), FR_OK);
    assert_int_equal(fr_gguf_opt_str(g, "tokenizer.chat_template", &text, NULL), FR_OK);
    fr_chat_template chat;
    fr_error err = {0};
    assert_int_equal(fr_chat_open(&chat, text.data, text.bytes, &err), FR_OK);
    assert_int_equal(chat.takes.tools, tools);
    fr_chat_text out = rendered(&chat, &(fr_message){S("user"), S("Hi")}, 1);
    assert_string_equal(out.marked.text.data, expected);
    fr_chat_text_close(&out);
    fr_chat_close(&chat);
    fr_gguf_close(g);
}

#define CHATML(system)                                                                             \
    "<|im_start|>system\n" system "<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"                   \
    "<|im_start|>assistant\n"

static void smollm2_file_renders(void **state) {
    (void)state;
    file_renders("smollm2-135m.gguf",
                 CHATML("You are a helpful AI assistant named SmolLM, trained by Hugging Face"),
                 false);
}

static void qwen_file_renders(void **state) {
    (void)state;
    file_renders("qwen2.5-coder-0.5b.gguf",
                 CHATML("You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
                 true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lead_to_templates),
        cmocka_unit_test(what_is_no_template_is_refused),
        cmocka_unit_test(templates_say_what_they_take),
        cmocka_unit_test(contents_keep_nul),
        cmocka_unit_test(user_text_is_no_template_text),
        cmocka_unit_test(today_is_told_to_those_who_ask),
        cmocka_unit_test(smollm2_file_renders),
        cmocka_unit_test(qwen_file_renders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
