// Conversations in the form that a template takes: what it would refuse or leave out is written in
// another way, what it takes stays as it is.
#include "api/call_ids.h"
#include "api/fit.h"
#include "json/messages.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N(list) (sizeof(list) / sizeof *(list))

// The prompt; NULL: refused, and *err says why. For free().
static char *rendered(const char *template, const char *json, fr_error *err) {
    fr_chat_template chat;
    fr_json_chat in = {0};
    fr_chat_text out = {0};
    char *text = NULL;
    json_t *root = json_loads(json, 0, NULL);
    if (!root) fail_msg("%s", json);
    if (fr_chat_open(&chat, template, strlen(template), err)) fail_msg("%s", err->text);
    fr_status st = fr_api_fit_names(root, &chat, err);
    if (!st) st = fr_api_fit(root, &chat, err);
    if (!st) st = fr_json_chat_from(&in, root, &chat.takes, NULL, err);
    if (!st) st = fr_chat_render(&chat, &in.request, &out, err);
    if (!st) text = strdup(out.marked.text.data ? out.marked.text.data : "");
    fr_chat_text_close(&out);
    fr_json_chat_close(&in);
    fr_chat_close(&chat);
    json_decref(root);
    return text;
}

typedef struct pair {
    const char *conversation, *prompt;
} pair;

static void expect_all(const char *template, const pair *pairs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fr_error err = {0};
        char *text = rendered(template, pairs[i].conversation, &err);
        if (!text) fail_msg("%s: %s", pairs[i].conversation, err.text);
        if (strcmp(text, pairs[i].prompt))
            fail_msg("%s: expected %s, found %s", pairs[i].conversation, pairs[i].prompt, text);
        free(text);
    }
}

#define CHAT(messages) "{\"messages\":[" messages "]}"
#define SAYS(role, s)  "{\"role\":\"" role "\",\"content\":\"" s "\"}"
#define S(s)           SAYS("system", s)
#define U(s)           SAYS("user", s)
#define A(s)           SAYS("assistant", s)
#define T(id, s)       "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" s "\"}"
#define PART(s)        "{\"type\":\"text\",\"text\":\"" s "\"}"
#define CALL(id, value)                                                                            \
    "{\"id\":\"" id                                                                                \
    "\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":" value      \
    "}\"}}"
#define C(said, calls) "{\"role\":\"assistant\",\"content\":" said ",\"tool_calls\":[" calls "]}"
#define TEXT_OF                                                                                    \
    "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }}"    \
    "{% endfor %}{% endif %}"

// ---------------------------------------------------------------- turns

// Turns alternate; of the system's message, which has to be the first, a list gives its first part.
static const char turns[] =
    "{% if messages[0].role == 'system' %}{% if messages[0].content is string %}"
    "{% set first = messages[0].content + '|' %}{% else %}"
    "{% set first = messages[0].content[0].text + '|' %}{% endif %}{% set rest = messages[1:] %}"
    "{% else %}{% set first = '' %}{% set rest = messages %}{% endif %}"
    "{% for m in rest %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('turns') }}{% endif %}<{{ m.role }}>{{ first if loop.first }}" TEXT_OF
    "{% endfor %}";

static void turns_alternate_where_they_have_to(void **state) {
    (void)state;
    static const pair pairs[] = {
        {CHAT(S("a") "," U("b") "," A("c") "," U("d")), "<user>a|b<assistant>c<user>d"},
        {CHAT(U("a") "," U("b")), "<user>a\n\nb"},
        {CHAT(U("a") "," U("") "," U("b") "," A("c") "," A("d") "," U("e")),
         "<user>a\n\nb<assistant>c\n\nd<user>e"},
        {CHAT(A("a") "," U("b")), "<user><assistant>a<user>b"},
        // Systems: all of their parts, several of them, and where none is taken.
        {CHAT("{\"role\":\"system\",\"content\":[" PART("a") "," PART("b") "]}," U("c")),
         "<user>a\nb|c"},
        {CHAT(S("a") "," SAYS("developer", "b") "," U("c")), "<user>a\n\nb|c"},
        {CHAT(S("a")), "<user>a"},
        {CHAT(U("a") "," S("b")), "<user>a\n\nb"},
        {CHAT(S("z") "," U("a") "," A("b") "," S("c") "," U("d") "," A("e")),
         "<user>z|a<assistant>b<user>c\n\nd<assistant>e"},
        {CHAT(U("a") "," S("b") "," A("c") "," S("d")), "<user>a\n\nb<assistant>c<user>d"},
        // Several parts of the user's are written as they came.
        {CHAT("{\"role\":\"user\",\"content\":[" PART("a") "," PART("b") "]}"), "<user>ab"},
        {CHAT("{\"role\":\"user\",\"content\":[" PART("a") "," PART("b") "]}," U("c")),
         "<user>a\nb\n\nc"},
    };
    expect_all(turns, pairs, N(pairs));
}

// No system at all.
static const char no_system[] =
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('turns') }}{% endif %}{% if m.role == 'user' %}[{{ m.content }}]"
    "{% elif m.role == 'assistant' %}{{ m.content + '.' }}{% else %}{{ raise_exception('roles') }}"
    "{% endif %}{% endfor %}";

static void a_system_joins_the_user_where_there_is_none(void **state) {
    (void)state;
    static const pair pairs[] = {
        {CHAT(S("a") "," U("b") "," A("c") "," U("d")), "[a\n\nb]c.[d]"},
        {CHAT(S("a") "," S("b") "," U("c")), "[a\n\nb\n\nc]"},
        {CHAT(S("a") "," A("b")), "[a]b."},
        {CHAT(S("a")), "[a]"},
    };
    expect_all(no_system, pairs, N(pairs));
    // Tools are described there, and what they gave comes back there.
    fr_error err = {0};
    char *text = rendered(
        no_system,
        "{\"messages\":[" U("hi") "," C("null", CALL("t1", "1")) "," T(
            "t1", "42") "],"
                        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"g\"}}]}",
        &err);
    if (!text) fail_msg("%s", err.text);
    assert_non_null(strstr(text, "\n{\"name\": \"g\"}\n"));
    assert_non_null(strstr(text, "just answer.\n\nhi]<tool_call>\n{\"name\": \"f\""));
    assert_non_null(strstr(text, ".[<tool_response>\n42\n</tool_response>]"));
    free(text);
}

// A template that takes it all gets it all as it came.
static void what_is_taken_comes_as_it_is(void **state) {
    (void)state;
    static const char any[] =
        "{% for m in messages %}<{{ m.role }}{{ m.tool_call_id }}>{{ m.content }}"
        "{% for c in m.tool_calls %}{{ c.id }}{{ c.function.arguments | tojson }}{% endfor %}"
        "{% endfor %}{{ tools }}";
    static const pair pairs[] = {
        {CHAT(S("a") "," S("b") "," U("c") "," U("d") "," S("e") "," A("f") "," A("g")),
         "<system>a<system>b<user>c<user>d<system>e<assistant>f<assistant>gNone"},
        {CHAT(A("a") "," C("\"b\"", CALL("call_1", "1") "," CALL("call_2", "2")) "," T(
             "call_2", "c") "," T("call_1", "d") "," U("e")),
         "<assistant>a<assistant>bcall_1{\"a\": 1}call_2{\"a\": 2}<toolcall_2>c<toolcall_1>d<user>e"
         "None"},
    };
    expect_all(any, pairs, N(pairs));
}

// The system's text stands with the last user's turn, but only where that is the last message.
static void a_system_is_written_beside_results_too(void **state) {
    (void)state;
    static const char last[] =
        "{% if messages[0].role == 'system' %}{% set s = messages[0].content + '|' %}"
        "{% set rest = messages[1:] %}{% else %}{% set s = '' %}{% set rest = messages %}{% endif "
        "%}"
        "{% for m in rest %}{% if m.role == 'user' and loop.last %}[{{ s + m.content }}]"
        "{% elif m.tool_calls %}{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}{% "
        "endfor %}"
        "{% else %}[{{ m.content }}]{% endif %}{% endfor %}{{ tools }}";
    static const pair pairs[] = {
        {CHAT(S("s") "," U("a") "," A("b") "," U("c")), "[a][b][s|c]None"},
        {CHAT(
             S("s") "," U("a") "," A("b") "," U("c") "," C("null", CALL("t", "1")) "," T("t", "d")),
         "[a][b][s\n\nc]{\"a\": 1}[d]None"},
        {CHAT(S("s") "," U("a") "," A("b")), "[s\n\na][b]None"},
    };
    expect_all(last, pairs, N(pairs));
}

// ---------------------------------------------------------------- calls

// One call a message, and nothing beside it.
static const char one_call[] =
    "{% for m in messages %}{% if m.tool_calls %}{% if m.tool_calls | length > 1 %}"
    "{{ raise_exception('one') }}{% endif %}({{ m.tool_calls[0].id }}"
    "{{ m.tool_calls[0].function.arguments | tojson }}){% else %}<{{ m.role }}>{{ m.content }}"
    "{% endif %}{% endfor %}{{ tools }}";

static void several_calls_are_several_messages(void **state) {
    (void)state;
    static const pair pairs[] = {
        {CHAT(U("a") "," C("null", CALL("x", "1") "," CALL("y", "2")) "," T("y", "c") "," T(
             "x", "b") "," U("d")),
         "<user>a(x{\"a\": 1})<tool>b(y{\"a\": 2})<tool>c<user>dNone"},
        {CHAT(U("a") "," C("\"so\"", CALL("x", "1")) "," T("x", "b")),
         "<user>a<assistant>so(x{\"a\": 1})<tool>bNone"},
        {CHAT(U("a") "," C("\"so\"", CALL("x", "1") "," CALL("y", "2")) "," T("z", "b")),
         "<user>a<assistant>so(x{\"a\": 1})(y{\"a\": 2})<tool>bNone"},
        {CHAT(U("a") "," C("\"\"", CALL("x", "1") "," CALL("x", "2")) "," T("x", "b") "," T("x",
                                                                                            "c")),
         "<user>a(x{\"a\": 1})<tool>b(x{\"a\": 2})<tool>cNone"},
    };
    expect_all(one_call, pairs, N(pairs));
}

// The template writes neither calls nor results.
static void calls_that_are_left_out_become_text(void **state) {
    (void)state;
    static const char users[] = "{% for m in messages %}{% if m.role in ['user', 'assistant'] %}"
                                "[{{ m.content }}]{% endif %}{% endfor %}{{ tools }}";
    static const pair pairs[] = {
        {CHAT(U("a") "," C("null", CALL("x", "1")) "," T("x", "b") "," U("c")),
         "[a][<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":1}}\n</tool_call>]"
         "[<tool_response>\nb\n</tool_response>\nc]None"},
        {CHAT(U("a") "," C("null", "{\"name\":\"g\",\"arguments\":{\"a\":1}}")), // no function
         "[a][<tool_call>\n{\"name\": \"g\", \"arguments\": {\"a\": 1}}\n</tool_call>]None"},
    };
    expect_all(users, pairs, N(pairs));
}

// Tools that a template only counts are described.
static void tools_that_are_not_written_are_described(void **state) {
    (void)state;
    fr_error err = {0};
    char *text =
        rendered("{{ tools | length if tools else '-' }}{% for m in messages %}[{{ m.content }}]"
                 "{% endfor %}",
                 "{\"messages\":[" U("a") "],\"tools\":[{\"type\":\"function\",\"function\":"
                                          "{\"name\":\"g\"}}]}",
                 &err);
    if (!text) fail_msg("%s", err.text);
    assert_memory_equal(text, "-[You can call", 14);
    assert_non_null(strstr(text, "\n{\"name\": \"g\"}\n"));
    free(text);
}

// What a user says after a result stands with it where turns alternate but for calls.
static void a_user_is_written_after_a_result(void **state) {
    (void)state;
    static const char template[] =
        "{% set ns = namespace(i=0) %}{% if messages[0].role == 'system' %}"
        "{% set s = messages[0].content + '|' %}{% set rest = messages[1:] %}{% else %}"
        "{% set s = '' %}{% set rest = messages %}{% endif %}{% for m in rest %}"
        "{% if m.role != 'tool' and not m.tool_calls %}"
        "{% if (m.role == 'user') != (ns.i % 2 == 0) %}{{ raise_exception('turns') }}{% endif %}"
        "{% set ns.i = ns.i + 1 %}{% endif %}<{{ m.role }}>"
        "{{ s if m.role == 'user' and loop.last }}{{ m.content }}{% for c in m.tool_calls %}"
        "{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}{{ tools }}";
#define CALLED C("null", CALL("x", "1")) "," T("x", "b")
    static const pair pairs[] = {
        {CHAT(U("a") "," CALLED "," U("c") "," A("d") "," U("e")),
         "<user>a<assistant>{\"a\": 1}<tool>b\n\nc<assistant>d<user>eNone"},
        // The system's text is written with a user's turn at the end, of which there is none here.
        {CHAT(S("s") "," U("a") "," CALLED "," U("c")),
         "<user>s\n\na<assistant>{\"a\": 1}<tool>b\n\ncNone"},
        {CHAT(S("s") "," U("a") "," U("b") "," CALLED "," S("c")),
         "<user>s\n\na\n\nb<assistant>{\"a\": 1}<tool>b\n\ncNone"},
        {CHAT(S("s") "," U("a") "," CALLED "," A("d") "," U("e")),
         "<user>a<assistant>{\"a\": 1}<tool>b<assistant>d<user>s|eNone"}};
#undef CALLED
    expect_all(template, pairs, N(pairs));
}

// ---------------------------------------------------------------- ids

static const char ids[] =
    "{% for m in messages %}{% if m.tool_calls %}{% for c in m.tool_calls %}"
    "{% if not c.id is defined or c.id | length != 9 %}{{ raise_exception('nine') }}{% endif %}"
    "({{ c.id }}{{ c.function.arguments | tojson }}){% endfor %}{% elif m.role == 'tool' %}"
    "{% if not m.tool_call_id is defined or m.tool_call_id | length != 9 %}"
    "{{ raise_exception('nine') }}{% endif %}[{{ m.tool_call_id }}{{ m.content }}]"
    "{% else %}{{ m.content }}{% endif %}{% endfor %}{{ tools }}";

#define LONG "call_0123456789abcdef_0_"

// The id at the n-th '(' or '['.
static const char *id_at(const char *prompt, char mark, int n) {
    for (const char *at = prompt; (at = strchr(at, mark)); at++)
        if (!n--) return at + 1;
    fail_msg("%s", prompt);
    return NULL;
}

static void ids_become_nine_letters(void **state) {
    (void)state;
    fr_error err = {0};
    static const char begin[] = U("a") "," C(
        "null", CALL(LONG "0", "1") "," CALL(LONG "1", "2") "," CALL("abc123XYZ", "3"));
    static const char end[] = T(LONG "1", "c") "," T(LONG "0", "b") "," T("abc123XYZ", "d");
    char json[2000];
    snprintf(json, sizeof json, "{\"messages\":[%s,%s]}", begin, end);
    char *text = rendered(ids, json, &err);
    if (!text) fail_msg("%s", err.text);
    // Equal ones stay equal, different ones different, and a fine one stays.
    assert_memory_equal(id_at(text, '(', 0), id_at(text, '[', 1), 9);
    assert_memory_equal(id_at(text, '(', 1), id_at(text, '[', 0), 9);
    assert_memory_equal(id_at(text, '(', 2), "abc123XYZ", 9);
    assert_memory_equal(id_at(text, '[', 2), "abc123XYZ", 9);
    assert_memory_not_equal(id_at(text, '(', 0), id_at(text, '(', 1), 9);
    for (int i = 0; i < 9; i++)
        assert_non_null(strchr("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                               id_at(text, '(', 0)[i]));
    // The same beginning has the same ids, whatever follows.
    snprintf(json, sizeof json, "{\"messages\":[%s,%s,%s]}", begin, end,
             C("null", CALL(LONG "7", "4")) "," T(LONG "7", "e"));
    char *longer = rendered(ids, json, &err);
    if (!longer) fail_msg("%s", err.text);
    assert_memory_equal(longer, text, strlen(text) - strlen("None"));
    // One that another would become is in use already: they stay different.
    const char *taken = id_at(text, '(', 0);
    snprintf(json, sizeof json,
             "{\"messages\":[" U("a") "," C("null", CALL(LONG "0", "1") "," CALL("%.9s", "2")) "]}",
             taken);
    char *both = rendered(ids, json, &err);
    if (!both) fail_msg("%s", err.text);
    assert_memory_equal(id_at(both, '(', 1), taken, 9);
    assert_memory_not_equal(id_at(both, '(', 0), taken, 9);
    free(text), free(longer), free(both);
}

static void missing_ids_are_made(void **state) {
    (void)state;
    fr_error err = {0};
    char *text = rendered(
        ids,
        CHAT(U("a") ",{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
                    "\"arguments\":"
                    "\"{\\\"a\\\":1}\"}},{\"function\":{\"name\":\"f\",\"arguments\":{}}}]},"
                    "{\"role\":\"tool\",\"content\":\"b\"},{\"role\":\"tool\",\"content\":\"c\"}"),
        &err);
    if (!text) fail_msg("%s", err.text);
    assert_memory_equal(id_at(text, '(', 0), id_at(text, '[', 0), 9);
    assert_memory_equal(id_at(text, '(', 1), id_at(text, '[', 1), 9);
    assert_memory_not_equal(id_at(text, '(', 0), id_at(text, '(', 1), 9);
    free(text);
}

static void new_ids_are_of_this_kind(void **state) {
    (void)state;
    const fr_api_call_id first = fr_api_new_call_id("0123456789abcdef", 0, 0);
    assert_int_equal(strlen(first.text), FR_API_ID_LETTERS);
    for (int i = 1; i < 32; i++)
        assert_string_not_equal(first.text, fr_api_new_call_id("0123456789abcdef", 0, i).text);
    assert_string_not_equal(first.text, fr_api_new_call_id("0123456789abcdef", 1, 0).text);
    assert_string_not_equal(first.text, fr_api_new_call_id("0123456789abcdee", 0, 0).text);
    assert_string_equal(first.text, fr_api_new_call_id("0123456789abcdef", 0, 0).text);
}

// ---------------------------------------------------------------- names

static const char plain[] =
    "{% for m in messages %}{% if m.role in ['system', 'user', 'assistant', "
    "'tool', 'critic'] %}<{{ m.role }}>{{ m.content }}{% for c in "
    "m.tool_calls %}{{ c.function.name }}{{ c.function.arguments | tojson }}"
    "{% endfor %}{% endif %}{% endfor %}{{ tools }}";

static void older_names_are_newer_ones(void **state) {
    (void)state;
    static const pair pairs[] = {
        {CHAT(U("a") ",{\"role\":\"assistant\",\"content\":null,\"function_call\":{\"name\":\"f\","
                     "\"arguments\":\"{\\\"a\\\":1}\"}},{\"role\":\"function\",\"name\":\"f\","
                     "\"content\":"
                     "\"FORTYTWO\"}"),
         "<user>a<assistant>f{\"a\": 1}<tool>FORTYTWONone"},
        {CHAT(SAYS("developer", "a") "," U("b")), "<system>a<user>bNone"},
        {CHAT(SAYS("critic", "a")), "<critic>aNone"}};
    expect_all(plain, pairs, N(pairs));
    fr_error err = {0};
    char *text = rendered(ids,
                          CHAT(U("a") ",{\"role\":\"assistant\",\"function_call\":{\"name\":\"f\","
                                      "\"arguments\":\"{}\"}},"
                                      "{\"role\":\"function\",\"name\":\"f\",\"content\":\"b\"}"),
                          &err);
    if (!text) fail_msg("%s", err.text);
    assert_memory_equal(id_at(text, '(', 0), id_at(text, '[', 0), 9);
    free(text);
}

// Its number is another in every request.
static void a_gateways_line_is_left_out(void **state) {
    (void)state;
#define HEADER "x-anthropic-billing-header: cc_version=2.1; cch=fa690;"
    static const pair pairs[] = {
        {CHAT("{\"role\":\"system\",\"content\":[" PART(HEADER) "," PART("a") "]}," U("b")),
         "<system>a<user>bNone"},
        {CHAT(S(HEADER "\\na") "," U("b")), "<system>a<user>bNone"},
        {CHAT(S(HEADER) "," U("b")), "<user>bNone"},
        {CHAT("{\"role\":\"system\",\"content\":[" PART(HEADER) "]}," U("b")), "<user>bNone"},
        {CHAT(S("") "," U(HEADER)), "<system><user>" HEADER "None"},
        {CHAT(S("a\\n" HEADER)), "<system>a\n" HEADER "None"}};
    expect_all(plain, pairs, N(pairs));
}

static void pictures_are_refused_or_named(void **state) {
    (void)state;
    static const pair pairs[] = {
        {CHAT(U("a") ",{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":[" PART(
             "b") ",{\"type\":\"image_url\",\"image_url\":{}}]}," A("c")),
         "<user>a<tool>b\n[image_url: left out, since only text is read here]<assistant>cNone"}};
    expect_all(plain, pairs, N(pairs));
}

static void expect_refusals(const char *template, const pair *pairs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fr_error err = {0};
        char *text = rendered(template, pairs[i].conversation, &err);
        if (text) fail_msg("%s: %s", pairs[i].conversation, text);
        if (strncmp(err.text, pairs[i].prompt, strlen(pairs[i].prompt)))
            fail_msg("expected %s, found %s", pairs[i].prompt, err.text);
    }
}

#define PICTURE(role) "{\"role\":\"" role "\",\"content\":[" PART("a") ",{\"type\":\"image_url\"}]}"

static void wrong_messages_are_named(void **state) {
    (void)state;
    static const pair pairs[] = {
        {CHAT(U("a") "," SAYS("witness", "b")), "messages[1].role: expected one that the chat "
                                                "template takes, found \"witness\""},
        {CHAT(U("a") "," U("b") ",{\"role\":\"user\",\"content\":[" PART(
             "c") ",{\"type\":\"image_url\"}]}"),
         "messages[2].content[1]: expected"},
        {CHAT(U("a") ",{\"role\":\"tool\",\"content\":[{\"type\":\"image_url\"}]}"),
         "messages[1].content[0]: expected"},
        {CHAT(U("a") ",{\"role\":\"assistant\",\"function_call\":{}}"),
         "messages[1].function_call.name: expected a string"},
        {CHAT("3"), "messages[0]: expected an object"},
        {CHAT("{\"content\":\"a\"}"), "messages[0].role: expected a string"},
        {CHAT(U("a") "," PICTURE("tool")), "messages[1].content[1]: expected "},
        {CHAT(U("a") "," PICTURE("function") "," PICTURE("function")),
         "messages[1].content[1]: expected "},
        {CHAT(U("a") ",{\"role\":\"tool\",\"content\":{\"a\":1}}"),
         "messages[1].content: expected "},
        {CHAT(U("a") ",{\"role\":\"assistant\",\"content\":[{\"type\":\"text\"}],\"tool_calls\":["
                     "{\"name\":\"f\"}]}"),
         "messages[1].content[0].text: expected "},
        // The number is the request's, though the first message is left out.
        {CHAT(S(HEADER) "," U("a") "," C("null", "{}")),
         "messages[2].tool_calls[0].name: expected a string"},
        {"{\"messages\":[],\"tools\":[3]}", "tools[0]: expected an object"}};
    expect_refusals(plain, pairs, N(pairs));
    static const pair joined[] = {
        // with the message in front
        {CHAT(U("a") "," A("b") ",{\"role\":\"assistant\",\"reasoning_content\":4}"),
         "messages[2].reasoning_content: expected a string"},
        {CHAT(U("a") "," A("b") ",{\"role\":\"assistant\",\"tool_calls\":4}"),
         "messages[2].tool_calls: expected a list"}};
    expect_refusals(turns, joined, N(joined));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_alternate_where_they_have_to),
        cmocka_unit_test(a_system_joins_the_user_where_there_is_none),
        cmocka_unit_test(what_is_taken_comes_as_it_is),
        cmocka_unit_test(a_system_is_written_beside_results_too),
        cmocka_unit_test(several_calls_are_several_messages),
        cmocka_unit_test(calls_that_are_left_out_become_text),
        cmocka_unit_test(tools_that_are_not_written_are_described),
        cmocka_unit_test(a_user_is_written_after_a_result),
        cmocka_unit_test(ids_become_nine_letters),
        cmocka_unit_test(missing_ids_are_made),
        cmocka_unit_test(new_ids_are_of_this_kind),
        cmocka_unit_test(older_names_are_newer_ones),
        cmocka_unit_test(a_gateways_line_is_left_out),
        cmocka_unit_test(pictures_are_refused_or_named),
        cmocka_unit_test(wrong_messages_are_named),
    };
    return cmocka_run_group_tests_name("api/fit", tests, NULL, NULL);
}
