#define _GNU_SOURCE // memmem
#include "text/chat/probe.h"
#include <string.h>

// Something that no template writes of itself.
#define NEEDLE "n33dle"
enum { MAX_STEPS = 1000000 };
#define ARGUMENTS "{\"" NEEDLE "\": 1}"

static fr_jinja_value text(fr_jinja_values *v, const char *s) {
    return fr_jinja_string(v, s, strlen(s), FR_MARK_TEMPLATE);
}

static void put(fr_jinja_values *v, fr_jinja_value to, const char *key, fr_jinja_value item) {
    fr_jinja_put(v, to, key, strlen(key), item);
}

static fr_jinja_value message(fr_jinja_values *v, const char *role, fr_jinja_value content) {
    const fr_jinja_value m = fr_jinja_dict(v);
    put(v, m, "role", text(v, role));
    put(v, m, "content", content);
    return m;
}

static fr_jinja_value content(fr_jinja_values *v, const char *s, bool parts) {
    if (!parts) return text(v, s);
    const fr_jinja_value part = fr_jinja_dict(v), list = fr_jinja_list(v);
    put(v, part, "type", text(v, "text"));
    put(v, part, "text", text(v, s));
    fr_jinja_append(v, list, part);
    return list;
}

// An assistant's message with one call; content as given.
static fr_jinja_value call(fr_jinja_values *v, fr_jinja_value said, fr_jinja_value arguments) {
    const fr_jinja_value m = message(v, "assistant", said), calls = fr_jinja_list(v);
    const fr_jinja_value one = fr_jinja_dict(v), function = fr_jinja_dict(v);
    put(v, function, "name", text(v, "f"));
    put(v, function, "arguments", arguments);
    put(v, one, "id", text(v, "123456789"));
    put(v, one, "type", text(v, "function"));
    put(v, one, "function", function);
    fr_jinja_append(v, calls, one);
    put(v, m, "tool_calls", calls);
    return m;
}

static fr_jinja_value object(fr_jinja_values *v) {
    const fr_jinja_value o = fr_jinja_dict(v);
    put(v, o, NEEDLE, fr_jinja_int(1));
    return o;
}

typedef enum question {
    TEXT,
    PARTS,
    TEXT_ARGUMENTS,
    OBJECT_ARGUMENTS,
    EMPTY_CONTENT,
    NULL_CONTENT,
    QUESTIONS
} question;

static fr_jinja_value last_message(fr_jinja_values *v, question q, bool parts) {
    switch (q) {
    case TEXT_ARGUMENTS:
        return call(v, content(v, "", parts), text(v, ARGUMENTS));
    case OBJECT_ARGUMENTS:
        return call(v, content(v, "", parts), object(v));
    case EMPTY_CONTENT:
        return call(v, text(v, ""), object(v));
    default:
        return call(v, fr_jinja_none(), object(v));
    }
}

static bool has(const fr_marked *out, const char *what) {
    return out->text.n && memmem(out->text.data, out->text.n, what, strlen(what));
}

// Whether the answer is in the text as it should be: not a list or a string inside another.
static bool shows(const fr_marked *out, question q) {
    if (q == TEXT_ARGUMENTS) return has(out, ARGUMENTS);
    if (q == OBJECT_ARGUMENTS) return has(out, NEEDLE) && !has(out, "'" NEEDLE "'");
    if (q >= EMPTY_CONTENT) return has(out, NEEDLE) && !has(out, "None");
    return has(out, NEEDLE) && !has(out, "'" NEEDLE "'") && !has(out, "\"" NEEDLE "\"");
}

static fr_status ask(const fr_chat_template *chat, question q, bool parts, bool *yes,
                     fr_error *err) {
    fr_jinja_values *v;
    fr_marked out = {0};
    fr_status st = fr_jinja_values_open(&v, err);
    if (st) return st;
    const fr_jinja_value messages = fr_jinja_list(v);
    const bool plain = q <= PARTS;
    fr_jinja_append(
        v, messages,
        message(v, "user", content(v, plain ? NEEDLE : "x", plain ? q == PARTS : parts)));
    if (!plain) fr_jinja_append(v, messages, last_message(v, q, parts));
    fr_jinja_set(v, "messages", messages);
    fr_jinja_set(v, "tools", fr_jinja_none());
    fr_jinja_set(v, "documents", fr_jinja_none());
    fr_jinja_set(v, "bos_token", text(v, ""));
    fr_jinja_set(v, "eos_token", text(v, ""));
    fr_jinja_set(v, "add_generation_prompt", fr_jinja_bool(false));
    st = fr_jinja_render(chat->program, v, &(fr_jinja_options){.max_steps = MAX_STEPS}, &out, err);
    *yes = !st && shows(&out, q);
    fr_marked_free(&out);
    fr_jinja_values_close(v);
    return st == FR_ENOMEM ? st : FR_OK;
}

fr_status fr_chat_probe(fr_chat_template *chat, fr_error *err) {
    bool yes[QUESTIONS] = {false};
    fr_error refused; // a refusal is an answer
    fr_status st = FR_OK;
    for (question q = TEXT; q < QUESTIONS && !st; q++)
        st = ask(chat, q, yes[PARTS] && !yes[TEXT], &yes[q], &refused);
    if (st) return fr_fail(err, st, "%s", refused.text);
    chat->takes = (fr_chat_takes){
        .text = yes[TEXT],
        .parts = yes[PARTS],
        .text_arguments = yes[TEXT_ARGUMENTS],
        .object_arguments = yes[OBJECT_ARGUMENTS],
        .null_content = yes[NULL_CONTENT] || !yes[EMPTY_CONTENT],
        .tools = fr_jinja_mentions(chat->program, "tools"),
    };
    return FR_OK;
}
