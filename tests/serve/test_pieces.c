// What a chat's answer gains token by token, with the tokens' places in drafts and their drafters:
// thinking and calls are taken out, markers come in halves, and the parts are those of an answer
// read at once.
#include "serve/ask.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct token {
    const char *text;
    int depth, drafter;
} token;

typedef struct said { // the job of a choice, told step by step
    fr_ask ask;
    fr_choice choice;
    fr_buffer text, pieces;
    int32_t ids[64];
    fr_result result;
    fr_stats stats;
} said;

static void open_said(said *s, bool thinks, bool open, bool tools) {
    static fr_request none;
    *s = (said){.ask = {.request = {.kind = FR_API_CHAT, .return_drafted = true}}};
    s->choice.job = (fr_job){.request = &none, .keep_pieces = true, .started = 1};
    s->stats = (fr_stats){.used = "eagle@ppd+rest"};
    s->result = (fr_result){.tokens = s->ids, .stats = &s->stats, .stopped_by = -1};
    fr_job_open(&s->choice.job);
    fr_api_answer_open(&s->choice.answer, thinks, open, tools, NULL);
}

static void close_said(said *s) {
    fr_job_close(&s->choice.job);
    fr_job_copy_close(&s->choice.copy);
    fr_api_answer_close(&s->choice.answer);
    json_decref(s->choice.pieces);
    fr_buffer_free(&s->text);
    fr_buffer_free(&s->pieces);
}

static fr_status parse(said *s, fr_error *err) {
    assert_int_equal(fr_job_copy_update(&s->choice.copy, &s->choice.job, err), FR_OK);
    return fr_ask_parse(&s->ask, &s->choice, err);
}

// A pass gave these tokens, of which those without text have no piece.
static void step(said *s, const token *t, int n) {
    fr_error err;
    for (int i = 0; i < n; i++) {
        s->result.n_tokens++;
        if (!*t[i].text) continue;
        assert_int_equal(fr_buffer_add(&s->text, t[i].text, strlen(t[i].text), &err), FR_OK);
        const fr_job_piece p = {s->text.n, t[i].depth, t[i].drafter};
        assert_int_equal(fr_buffer_add(&s->pieces, &p, sizeof p, &err), FR_OK);
    }
    assert_int_equal(fr_job_tell(&s->choice.job, &s->result, &s->text, &s->pieces, false, &err),
                     FR_OK);
    assert_int_equal(parse(s, &err), FR_OK);
}

static void end(said *s) {
    fr_error err;
    fr_job_finish(&s->choice.job, FR_JOB_STOP, NULL, NULL);
    assert_int_equal(parse(s, &err), FR_OK);
}

static void expect(const said *s, const char *pieces) {
    char *found = json_dumps(s->choice.pieces ? s->choice.pieces : json_null(), JSON_COMPACT);
    assert_string_equal(found, pieces);
    free(found);
}

// A prompt that was not read whole is no answer, whatever ended it; one that ends as asked is. What
// came in time is an answer, what was cut off is none.
static void what_is_an_answer_by_its_end(void **state) {
    (void)state;
    static const struct {
        fr_job_end end;
        int n;
        fr_status right;
    } cases[] = {{FR_JOB_TIMED_OUT, 0, FR_EINTR}, {FR_JOB_CANCELLED, 0, FR_EINTR},
                 {FR_JOB_LENGTH, 0, FR_OK},       {FR_JOB_STOP, 0, FR_OK},
                 {FR_JOB_TIMED_OUT, 1, FR_OK},    {FR_JOB_CANCELLED, 1, FR_EINTR}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        said s;
        fr_error err;
        fr_server server = {.timeout = 2};
        open_said(&s, true, false, false);
        s.ask.server = &server;
        if (cases[i].n) step(&s, &(token){"a", 0, 0}, 1);
        fr_job_finish(&s.choice.job, cases[i].end, NULL, NULL);
        assert_int_equal(parse(&s, &err), cases[i].right);
        close_said(&s);
    }
}

static void tokens_are_pieces_with_their_places(void **state) {
    (void)state;
    said s;
    open_said(&s, true, false, false);
    step(&s, (token[]){{"One", 0, 0}}, 1);
    expect(&s, "[{\"content\":\"One\",\"drafted\":0}]");
    step(&s, (token[]){{" two", 1, 0}, {" three", 2, 1}, {" four", 0, 0}}, 3);
    end(&s);
    expect(&s, "[{\"content\":\"One\",\"drafted\":0},{\"content\":\" "
               "two\",\"drafted\":1,\"drafter\":\"eagle@ppd\"},"
               "{\"content\":\" three\",\"drafted\":2,\"drafter\":\"rest\"},{\"content\":\" "
               "four\",\"drafted\":0}]");
    close_said(&s);
}

static void thinking_has_pieces_of_its_own(void **state) {
    (void)state;
    said s;
    open_said(&s, true, false, false);
    step(&s, (token[]){{"<th", 1, 0}, {"ink>", 2, 0}, {"so", 3, 0}, {" it", 0, 0}}, 4);
    step(&s, (token[]){{" is", 1, 0}, {"</", 2, 0}, {"think>", 3, 0}, {"\n\n", 0, 0}}, 4);
    step(&s, (token[]){{"Yes", 1, 0}, {"", 2, 0}, {"!", 0, 0}}, 3);
    end(&s);
    expect(&s, "[{\"reasoning_content\":\"so\",\"drafted\":3,\"drafter\":\"eagle@ppd\"},"
               "{\"reasoning_content\":\" it\",\"drafted\":0},"
               "{\"reasoning_content\":\" is\",\"drafted\":1,\"drafter\":\"eagle@ppd\"},"
               "{\"content\":\"Yes\",\"drafted\":1,\"drafter\":\"eagle@ppd\"},{\"content\":\"!\","
               "\"drafted\":0}]");
    close_said(&s);
}

static void what_was_held_back_goes_with_the_next(void **state) {
    (void)state;
    said s;
    open_said(&s, false, false, true);
    step(&s, (token[]){{"a ", 0, 0}}, 1);
    step(&s, (token[]){{"<tool", 1, 0}, {"box>", 0, 0}}, 2);
    step(&s, (token[]){{"b<", 2, 0}}, 1);
    expect(&s, "[{\"content\":\"a \",\"drafted\":0},{\"content\":\"<toolbox>\",\"drafted\":0},"
               "{\"content\":\"b\",\"drafted\":2,\"drafter\":\"eagle@ppd\"}]");
    end(&s); // its last byte was no marker after all
    expect(&s, "[{\"content\":\"a \",\"drafted\":0},{\"content\":\"<toolbox>\",\"drafted\":0},"
               "{\"content\":\"b\",\"drafted\":2,\"drafter\":\"eagle@ppd\"},{\"content\":\"<\","
               "\"drafted\":2,\"drafter\":\"eagle@ppd\"}]");
    close_said(&s);
}

static void calls_have_none(void **state) {
    (void)state;
    said s;
    open_said(&s, false, false, true);
    step(&s, (token[]){{"<tool_call>", 0, 0}}, 1);
    step(&s,
         (token[]){{"{\"name\":\"f\",", 1, 0}, {"\"arguments\":{}}", 2, 0}, {"</tool_call>", 0, 0}},
         3);
    end(&s);
    assert_int_equal(s.choice.answer.n_calls, 1);
    assert_null(s.choice.pieces);
    close_said(&s);
}

// However the text is cut, its parts are those of the text at once.
static void cuts_change_nothing(void **state) {
    (void)state;
    static const char text[] =
        "<think>\nwhy < not\n</think>\n\nAs <tool_call>no</tool_call> f\xc3\xbcr "
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call> end<";
    fr_api_answer right;
    fr_error err;
    fr_api_answer_open(&right, true, false, true, NULL);
    assert_int_equal(fr_api_answer_push(&right, text, sizeof text - 1, &err), FR_OK);
    assert_int_equal(fr_api_answer_finish(&right, &err), FR_OK);
    unsigned random = 7;
    for (int round = 0; round < 200; round++) {
        said s;
        char parts[2][256] = {{0}};
        open_said(&s, true, false, true);
        for (size_t at = 0; at + 1 < sizeof text;) {
            random = random * 1664525 + 1013904223;
            size_t n = 1 + (random >> 16) % 9;
            if (at + n > sizeof text - 1) n = sizeof text - 1 - at;
            while ((text[at + n] & 0xc0) == 0x80)
                n++; // pieces are whole sequences
            char cut[32];
            snprintf(cut, sizeof cut, "%.*s", (int)n, text + at);
            step(&s, (token[]){{cut, (int)(random >> 30), 0}}, 1);
            at += n;
        }
        end(&s);
        size_t i;
        json_t *piece;
        json_array_foreach(s.choice.pieces, i, piece) {
            const char *thought = json_string_value(json_object_get(piece, "reasoning_content"));
            const char *content = json_string_value(json_object_get(piece, "content"));
            assert_true(!thought != !content);
            strcat(parts[!thought], thought ? thought : content);
        }
        assert_string_equal(parts[0], right.thinking.data);
        assert_string_equal(parts[1], right.content.data);
        assert_int_equal(s.choice.answer.n_calls, right.n_calls);
        close_said(&s);
    }
    fr_api_answer_close(&right);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_an_answer_by_its_end),
        cmocka_unit_test(tokens_are_pieces_with_their_places),
        cmocka_unit_test(thinking_has_pieces_of_its_own),
        cmocka_unit_test(what_was_held_back_goes_with_the_next),
        cmocka_unit_test(calls_have_none),
        cmocka_unit_test(cuts_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
