// Thinking in every form: apart from the content, whole and in pieces, begun by the model or the prompt.
#include "api/answer.h"
#include "text/chat/thinking.h"
#include "thinking_templates.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 256 };

static void expect(const fr_buffer *found, const char *wanted, const char *text) {
    if (found->n != strlen(wanted) || (found->n && memcmp(found->data, wanted, found->n) != 0))
        fail_msg("%s: %.*s", text, (int)found->n, found->data ? found->data : "");
}

// The same for every first piece, and for single bytes after it.
static void take(const char *text, bool open, const char *chat_template, const char *thinking,
                 const char *content) {
    const size_t n = strlen(text);
    for (size_t first = 0; first <= n; first++) {
        fr_api_answer a;
        fr_error err;
        fr_api_answer_open(&a, true, open, true, chat_template);
        assert_int_equal(fr_api_answer_push(&a, text, first, &err), FR_OK);
        for (size_t at = first; at < n; at++)
            assert_int_equal(fr_api_answer_push(&a, text + at, 1, &err), FR_OK);
        assert_int_equal(fr_api_answer_finish(&a, &err), FR_OK);
        expect(&a.thinking, thinking, text);
        expect(&a.content, content, text);
        assert_int_equal(a.n_calls, 0);
        fr_api_answer_close(&a);
    }
}

static void thinking_of_every_form_is_apart(void **state) {
    (void)state;
    const fr_thinking_form *form;
    for (size_t i = 0; (form = fr_thinking_form_at(i)); i++) {
        char text[ROOM], inner[ROOM];
        snprintf(text, sizeof text, "%shm %s\n%s\n\nTwo.", form->open, form->open, form->close);
        snprintf(inner, sizeof inner, "hm %s\n", form->open);
        take(text, false, NULL, inner, "Two.");
        take(text, false, "<think>", inner, "Two."); // whatever the template has
        snprintf(text, sizeof text, "\n %shm", form->open);
        take(text, false, NULL, "hm", "");
        snprintf(text, sizeof text, "%shm%.*s", form->open, (int)strlen(form->close) - 1,
                 form->close);
        take(text, false, NULL, text + strlen(form->open), "");
        snprintf(text, sizeof text, "Two %shm%s", form->open, form->close);
        take(text, false, NULL, "", text);
    }
}

// Half of a mark is text.
static void a_begun_mark_is_text(void **state) {
    (void)state;
    const fr_thinking_form *form;
    for (size_t i = 0; (form = fr_thinking_form_at(i)); i++)
        for (int n = 1; n < (int)strlen(form->open); n++) {
            char text[ROOM];
            snprintf(text, sizeof text, "%.*s", n, form->open);
            take(text, false, NULL, "", text);
            snprintf(text, sizeof text, "%.*s!", n, form->open);
            take(text, false, NULL, "", text);
        }
}

// The template's form tells where it ends; other ends are part of it.
static void thinking_that_the_prompt_began_ends_as_the_template_says(void **state) {
    (void)state;
    const fr_thinking_form *form;
    for (size_t i = 0; (form = fr_thinking_form_at(i)); i++) {
        char text[ROOM], chat_template[ROOM], inner[ROOM];
        const char *other = fr_thinking_form_at(!i)->close;
        assert_non_null(thinking_template(i)); // each row has one
        snprintf(chat_template, sizeof chat_template, "{{ x }}%s", thinking_template(i));
        snprintf(inner, sizeof inner, "hm %s ", other);
        snprintf(text, sizeof text, "%s%s Two.", inner, form->close);
        take(text, true, chat_template, inner, "Two.");
    }
    take("hm</think>Two.", true, "no mark", "hm", "Two.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thinking_of_every_form_is_apart), cmocka_unit_test(a_begun_mark_is_text),
        cmocka_unit_test(thinking_that_the_prompt_began_ends_as_the_template_says)};
    return cmocka_run_group_tests_name("api/thinking", tests, NULL, NULL);
}
