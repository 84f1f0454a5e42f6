// test_chat.c — recognising chat templates, and what rendering does at its edges. Prompts of every
// family are in tests/json/test_chat_golden.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf/gguf.h"
#include "text/chat/chat.h"

#define S(text) ((fr_chat_str){text, sizeof(text) - 1})

static fr_chat_template detected(const char *text) {
    fr_chat_template chat;
    fr_error err = {0};
    if (fr_chat_detect(&chat, text, strlen(text), &err)) fail_msg("%s: %s", text, err.text);
    return chat;
}

static fr_chat_template named(const char *name) {
    fr_chat_template chat;
    assert_int_equal(fr_chat_by_name(&chat, name, NULL), FR_OK);
    return chat;
}

// One meaning, spelled in different ways.
static const char *const chatml[] = {
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ "
    "'<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|im_start|>assistant\\n' }}{% endif %}",
    "{%- for message in messages -%}\n  {{- \"<|im_start|>\" + message.role + \"\n\" }}\n"
    "  {{- message[\"content\"] }}{# the content #}{{ '<|im_end|>\\n' -}}\n{%- endfor -%}\n"
    "{%- if (add_generation_prompt) -%}\n{{ '<|im_start|>' + 'assistant\\n' }}{%- endif -%}\n",
    "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif "
    "%}"
    "{% for message in messages %}\n    {% if false %}{% endif %}", // another one
};

static void detect_ignores_spelling(void **state) {
    (void)state;
    assert_string_equal(fr_chat_name(&(fr_chat_template){0}), "none");
    const fr_chat_template a = detected(chatml[0]), b = detected(chatml[1]);
    assert_string_equal(fr_chat_name(&a), "chatml");
    assert_memory_equal(&a, &b, sizeof a);
}

static void detect_takes_the_default_system_message(void **state) {
    (void)state;
    const fr_chat_template chat = detected(
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' "
        "%}{{ '<|im_start|>system\nSpeak kindly.<|im_end|>\n' }}{% endif %}"
        "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + "
        "'\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
        "{% endif %}");
    assert_string_equal(chat.system, "Speak kindly.");
}

static void detect_refuses_what_it_does_not_know(void **state) {
    (void)state;
    static const char *const unknown[] = {
        "",
        "plain text",
        "{{ messages }}",
        "{% for message in messages",
        "{{ '",
        "{#",
        "{",
        "{{'<|im_start|>' + message['role']}}",
    };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        fr_chat_template chat;
        fr_error err = {0};
        assert_int_equal(fr_chat_detect(&chat, unknown[i], strlen(unknown[i]), &err), FR_EUNSUP);
        assert_int_equal(chat.kind, FR_CHAT_NONE);
        assert_non_null(strstr(err.text, "--chat-template"));
        for (int k = 0; fr_chat_name_at(k); k++)
            assert_non_null(strstr(err.text, fr_chat_name_at(k)));
    }
    fr_chat_template chat;
    fr_error err = {0};
    assert_int_equal(fr_chat_detect(&chat, chatml[2], strlen(chatml[2]), &err), FR_EUNSUP);
    assert_int_equal(fr_chat_detect(&chat, NULL, 0, &err), FR_EUNSUP);
    assert_non_null(strstr(err.text, "--raw"));
}

static void names_lead_to_their_family(void **state) {
    (void)state;
    int n = 0;
    for (const char *name; (name = fr_chat_name_at(n)); n++) {
        const fr_chat_template chat = named(name);
        assert_string_equal(fr_chat_name(&chat), name);
    }
    assert_int_equal(n, 15);
    fr_chat_template chat;
    fr_error err = {0};
    assert_int_equal(fr_chat_by_name(&chat, "nonsense", &err), FR_EARG);
    assert_non_null(strstr(err.text, "nonsense"));
    assert_non_null(strstr(err.text, "zephyr"));
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

static void render_keeps_nul_and_strips_like_python(void **state) {
    (void)state;
    // U+00A0, U+2028, U+3000 and 0x1c are whitespace to Python; U+200B and U+FEFF are not.
    const fr_message m = {.role = S("user"),
                          .content = S("\xC2\xA0\x1c\xE2\x80\xA8\xE2\x80\x8B"
                                       "a\0b\xEF\xBB\xBF\xE3\x80\x80\n")};
    const fr_chat_template gemma = named("gemma");
    fr_chat_text out = rendered(&gemma, &m, 1);
    static const char expected[] = "<s><start_of_turn>user\n\xE2\x80\x8B"
                                   "a\0b\xEF\xBB\xBF<end_of_turn>\n<start_of_turn>model\n";
    assert_int_equal(out.text.n, sizeof expected - 1);
    assert_memory_equal(out.text.data, expected, sizeof expected);
    assert_true(out.has_bos);
    fr_chat_text_close(&out);
    const fr_chat_template ml = named("chatml");
    out = rendered(&ml, &m, 1);
    assert_false(out.has_bos);
    fr_chat_text_close(&out);
}

static void render_says_what_it_refuses(void **state) {
    (void)state;
    const fr_message two[] = {{.role = S("user"), .content = S("a")},
                              {.role = S("user"), .content = S("b")}};
    const fr_message empty = {.role = S("assistant")};
    const fr_tool tool = {.json = S("{}")};
    const fr_chat_template gemma = named("gemma"), ml = named("chatml"), none = {0};
    fr_chat_text out = {0};
    fr_error err = {0};
    fr_chat_request q = {.messages = two, .n_messages = 2};
    assert_int_equal(fr_chat_render(&gemma, &q, &out, &err), FR_EARG);
    assert_non_null(strstr(err.text, "message 2 (user)"));
    assert_null(out.text.data);
    assert_int_equal(fr_chat_render(&none, &q, &out, &err), FR_EUNSUP);
    q.tools = &tool, q.n_tools = 1;
    assert_int_equal(fr_chat_render(&ml, &q, &out, &err), FR_EUNSUP);
    assert_non_null(strstr(err.text, "chatml"));
    q = (fr_chat_request){.messages = &empty, .n_messages = 1};
    assert_int_equal(fr_chat_render(&ml, &q, &out, &err), FR_EARG);
    assert_non_null(strstr(err.text, "message 1 (assistant)"));
    q = (fr_chat_request){0};
    assert_int_equal(fr_chat_render(&ml, &q, &out, &err), FR_EARG);
}

// Its template fails on null where the API sends null, so here null is empty.
static void qwen3_takes_calls_without_content(void **state) {
    (void)state;
    const fr_tool_call call = {.name = S("f"), .arguments = S("{}")};
    fr_message m[] = {{.role = S("user"), .content = S("x")},
                      {.role = S("assistant"), .tool_calls = &call, .n_tool_calls = 1}};
    const fr_chat_template chat = named("qwen3");
    fr_chat_text absent = rendered(&chat, m, 2);
    m[1].content = S("");
    fr_chat_text empty = rendered(&chat, m, 2);
    assert_string_equal(absent.text.data, empty.text.data);
    fr_chat_text_close(&absent);
    fr_chat_text_close(&empty);
}

static void llama31_writes_the_date_it_is_given(void **state) {
    (void)state;
    const fr_message m = {.role = S("user"), .content = S("x")};
    fr_chat_template chat = named("llama3.1");
    fr_chat_request q = {.messages = &m, .n_messages = 1, .date = S("05 Mar 2025")};
    for (uint32_t variant = 0; variant < 2; variant++) { // 1: the template asks for today
        fr_chat_text out = {0};
        chat.variant = variant;
        assert_int_equal(fr_chat_render(&chat, &q, &out, NULL), FR_OK);
        assert_non_null(strstr(out.text.data, variant ? "05 Mar 2025" : "26 Jul 2024"));
        fr_chat_text_close(&out);
    }
}

// ---- templates of real files ---------------------------------------------------------------

static void file_has_family(const char *file, const char *name, const char *system,
                            const char *call) {
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
    const fr_status st = fr_chat_detect(&chat, text.data, text.bytes, &err);
    if (name) {
        const fr_message m = {.role = S("user"), .content = S("Hi")};
        const fr_tool tool = {.json = S("{}")};
        const fr_chat_request q = {
            .messages = &m, .n_messages = 1, .tools = &tool, .n_tools = call != NULL};
        fr_chat_text out = {0};
        assert_int_equal(st, FR_OK);
        assert_string_equal(fr_chat_name(&chat), name);
        assert_string_equal(chat.system, system);
        assert_int_equal(fr_chat_render(&chat, &q, &out, NULL), FR_OK);
        if (call) assert_non_null(strstr(out.text.data, call));
        fr_chat_text_close(&out);
    } else {
        assert_int_equal(st, FR_EUNSUP);
    }
    fr_gguf_close(g);
}

#define QWEN "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

static void smollm2_file_is_chatml(void **state) {
    (void)state;
    file_has_family("smollm2-135m.gguf", "chatml",
                    "You are a helpful AI assistant named SmolLM, trained by Hugging Face", NULL);
}

static void qwen_small_file_has_single_braces(void **state) {
    (void)state;
    file_has_family("qwen2.5-coder-0.5b.gguf", "qwen2", QWEN, "<tool_call>\n{\"name\"");
}

static void qwen_large_file_has_double_braces(void **state) {
    (void)state;
    file_has_family("qwen2.5-coder-1.5b.gguf", "qwen2", QWEN, "<tool_call>\n{{\"name\"");
}

static void gemma_base_file_has_none(void **state) {
    (void)state;
    file_has_family("gemma-3-270m.gguf", NULL, NULL, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detect_ignores_spelling),
        cmocka_unit_test(detect_takes_the_default_system_message),
        cmocka_unit_test(detect_refuses_what_it_does_not_know),
        cmocka_unit_test(names_lead_to_their_family),
        cmocka_unit_test(render_keeps_nul_and_strips_like_python),
        cmocka_unit_test(render_says_what_it_refuses),
        cmocka_unit_test(qwen3_takes_calls_without_content),
        cmocka_unit_test(llama31_writes_the_date_it_is_given),
        cmocka_unit_test(smollm2_file_is_chatml),
        cmocka_unit_test(qwen_small_file_has_single_braces),
        cmocka_unit_test(qwen_large_file_has_double_braces),
        cmocka_unit_test(gemma_base_file_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
