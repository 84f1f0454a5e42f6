// probe.c — finds out what a template accepts by rendering small conversations, each written as a
// word with one letter for each message. A conversation is accepted if the prompt has all its
// texts.
#define _GNU_SOURCE // memmem
#include "text/chat/probe.h"
#include <stdio.h>
#include <string.h>

enum { MAX_STEPS = 50000 }; // of one conversation: a template that needs more refuses it
#define LONG_ID "call_0123456789abcdef_0_0"

// ---- messages --------------------------------------------------------------------------------

typedef enum tools_form { NO_TOOLS, FULL_TOOL, BARE_TOOL, EMPTY_TOOL, UNSEEN_TOOL } tools_form;

typedef struct asked {
    fr_jinja_values *v;
    const fr_chat_takes *takes; // the results so far
    const char *role;           // of the letter 'x'
    size_t role_bytes;
    bool text_arguments;
    int n_texts;
} asked;

static fr_jinja_value text(asked *q, const char *s) {
    return fr_jinja_string(q->v, s, strlen(s), FR_MARK_TEMPLATE);
}

static void put(asked *q, fr_jinja_value to, const char *key, fr_jinja_value item) {
    fr_jinja_put(q->v, to, key, strlen(key), item);
}

typedef struct needle { // a text that no template writes of itself, nor cuts
    char text[16];
} needle;

static needle needle_at(int i) {
    needle n;
    snprintf(n.text, sizeof n.text, "n33dle%02dx", i);
    return n;
}

static needle next(asked *q) {
    return needle_at(q->n_texts++);
}

static fr_jinja_value part(asked *q, const char *s) {
    const fr_jinja_value one = fr_jinja_dict(q->v);
    put(q, one, "type", text(q, "text"));
    put(q, one, "text", text(q, s));
    return one;
}

static unsigned list_bit(char role) {
    return role == 's' ? FR_LIST_SYSTEM : role == 'a' ? FR_LIST_ASSISTANT : FR_LIST_TOOL;
}

static bool wants_list(const asked *q, char role) {
    if (role == 'u') return q->takes->parts && !q->takes->text;
    return q->takes->lists & list_bit(role);
}

static fr_jinja_value content(asked *q, const char *s, bool list) {
    if (!list) return text(q, s);
    const fr_jinja_value parts = fr_jinja_list(q->v);
    fr_jinja_append(q->v, parts, part(q, s));
    return parts;
}

static fr_jinja_value listed(asked *q, int n) {
    const fr_jinja_value parts = content(q, next(q).text, true);
    for (int i = 1; i < n; i++)
        fr_jinja_append(q->v, parts, part(q, next(q).text));
    return parts;
}

static fr_jinja_value message(asked *q, char role, fr_jinja_value said) {
    const char *name = role == 's'   ? "system"
                       : role == 'u' ? "user"
                       : role == 'a' ? "assistant"
                                     : "tool";
    const fr_jinja_value m = fr_jinja_dict(q->v);
    put(q, m, "role",
        role == 'x' ? fr_jinja_string(q->v, q->role, q->role_bytes, FR_MARK_MESSAGE)
                    : text(q, name));
    put(q, m, "content", said);
    return m;
}

// {TEXT: 1}, as an object or as the API writes it.
static fr_jinja_value arguments(asked *q) {
    const needle n = next(q);
    char json[40];
    const fr_jinja_value object = fr_jinja_dict(q->v);
    snprintf(json, sizeof json, "{\"%s\": 1}", n.text);
    put(q, object, n.text, fr_jinja_int(1));
    return q->text_arguments ? text(q, json) : object;
}

static void add_call(asked *q, fr_jinja_value calls, const char *id) {
    const fr_jinja_value one = fr_jinja_dict(q->v), function = fr_jinja_dict(q->v);
    put(q, function, "name", text(q, "f"));
    put(q, function, "arguments", arguments(q));
    if (id) put(q, one, "id", text(q, id));
    put(q, one, "type", text(q, "function"));
    put(q, one, "function", function);
    fr_jinja_append(q->v, calls, one);
}

// c: one call, and its content is empty; n: is null; b: has a text beside it; d: two calls; C: one
// with a long id; i: with none.
static fr_jinja_value caller(asked *q, char letter) {
    const bool list = wants_list(q, 'a');
    const fr_jinja_value said = letter == 'n'   ? fr_jinja_none()
                                : letter == 'b' ? content(q, next(q).text, list)
                                                : content(q, "", list);
    const fr_jinja_value m = message(q, 'a', said), calls = fr_jinja_list(q->v);
    add_call(q, calls, letter == 'C' ? LONG_ID : letter == 'i' ? NULL : "123456789");
    if (letter == 'd') add_call(q, calls, "abcdefghi");
    put(q, m, "tool_calls", calls);
    return m;
}

// t: of the first call, r: of the second; R: of the one with a long id; o: of one with none.
static fr_jinja_value result(asked *q, char letter) {
    const fr_jinja_value m = message(q, 't', content(q, next(q).text, wants_list(q, 't')));
    if (letter != 'o')
        put(q, m, "tool_call_id",
            text(q, letter == 'R'   ? LONG_ID
                    : letter == 'r' ? "abcdefghi"
                                    : "123456789"));
    return m;
}

// s, u, a, x: a text of the system, the user, the assistant, another role; S, U, A, T: as a list;
// V: the user's, in two parts; e: an empty one of the assistant's.
static fr_jinja_value turn(asked *q, char letter) {
    fr_jinja_value m;
    if (strchr("cnbdCi", letter)) return caller(q, letter);
    if (strchr("trRo", letter)) return result(q, letter);
    if (letter == 'e') return message(q, 'a', content(q, "", wants_list(q, 'a')));
    if (letter == 'V') return message(q, 'u', listed(q, 2));
    if (!strchr("SUAT", letter))
        return message(q, letter, content(q, next(q).text, wants_list(q, letter)));
    m = message(q, (char)(letter + ('a' - 'A')), listed(q, 1));
    if (letter == 'T') put(q, m, "tool_call_id", text(q, "123456789"));
    return m;
}

static fr_jinja_value tools(asked *q, tools_form form) {
    const fr_jinja_value list = fr_jinja_list(q->v), tool = fr_jinja_dict(q->v),
                         function = fr_jinja_dict(q->v), parameters = fr_jinja_dict(q->v);
    if (form == NO_TOOLS) return q->takes->no_tools_as_list ? list : fr_jinja_none();
    put(q, function, "name", text(q, form == UNSEEN_TOOL ? "f" : next(q).text));
    if (form == FULL_TOOL || form == UNSEEN_TOOL) {
        put(q, function, "description", text(q, "d"));
        put(q, parameters, "type", text(q, "object"));
        put(q, parameters, "properties", fr_jinja_dict(q->v));
    }
    if (form != BARE_TOOL) put(q, function, "parameters", parameters);
    put(q, tool, "type", text(q, "function"));
    put(q, tool, "function", function);
    fr_jinja_append(q->v, list, tool);
    return list;
}

// ---- questions -------------------------------------------------------------------------------

typedef struct question {
    const char *turns;
    tools_form tools;
    bool text_arguments; // calls have them, and they have to come out as they are
    const char *role;    // of 'x'
    size_t role_bytes;
} question;

static bool has(const fr_marked *out, const char *what) {
    return out->text.n && memmem(out->text.data, out->text.n, what, strlen(what));
}

// Whether all texts are in the prompt, and no list or null is written as Python does.
static bool shows(const fr_marked *out, const asked *q, const question *of) {
    char quoted[40];
    for (int i = 0; i < q->n_texts; i++)
        if (!has(out, needle_at(i).text)) return false;
    if (has(out, "'text': ") || (strpbrk(of->turns, "SUATV") && has(out, "\"text\":")))
        return false;
    if (strchr(of->turns, 'n') && has(out, "None")) return false;
    if (!strpbrk(of->turns, "cn")) return true;
    // In these the arguments are in the second message. Some templates write their braces
    // themselves, so that a text has two pairs.
    if (of->text_arguments) {
        snprintf(quoted, sizeof quoted, "{{\"%s\": 1}}", needle_at(1).text);
        if (has(out, quoted)) return false;
        snprintf(quoted, sizeof quoted, "{\"%s\": 1}", needle_at(1).text);
    } else {
        snprintf(quoted, sizeof quoted, "'%s'", needle_at(1).text);
    }
    return has(out, quoted) == of->text_arguments;
}

static void set_variables(asked *q, const question *of) {
    const fr_jinja_value messages = fr_jinja_list(q->v);
    for (const char *at = of->turns; *at; at++)
        fr_jinja_append(q->v, messages, turn(q, *at));
    fr_jinja_set(q->v, "messages", messages);
    fr_jinja_set(q->v, "tools", tools(q, of->tools));
    fr_jinja_set(q->v, "documents", fr_jinja_none());
    fr_jinja_set(q->v, "bos_token", text(q, ""));
    fr_jinja_set(q->v, "eos_token", text(q, ""));
    fr_jinja_set(q->v, "add_generation_prompt", fr_jinja_bool(false));
    // As all conversations of the server find them.
    fr_jinja_set(q->v, "enable_thinking", fr_jinja_bool(true));
    fr_jinja_set(q->v, "date_string", text(q, "01 Jan 2026"));
    fr_jinja_set(q->v, "datetime", text(q, "Jan 01 2026"));
    fr_jinja_set(q->v, "functions", text(q, ""));
}

// Whether the template accepts it. After *st is FR_ENOMEM nothing is rendered any more.
static bool ask(const fr_chat_template *chat, const fr_chat_takes *takes, const question *of,
                fr_status *st, fr_error *err) {
    asked q = {.takes = takes,
               .role = of->role,
               .role_bytes = of->role_bytes,
               .text_arguments =
                   of->text_arguments || (takes->text_arguments && !takes->object_arguments)};
    fr_error refused; // a refusal is an answer
    fr_marked out = {0};
    if (*st || (*st = fr_jinja_values_open(&q.v, err))) return false;
    set_variables(&q, of);
    const struct tm day = {.tm_year = 126, .tm_mday = 1}; // some templates need a date
    const fr_jinja_options options = {.now = &day, .max_steps = MAX_STEPS};
    const fr_status rendered = fr_jinja_render(chat->program, q.v, &options, &out, &refused);
    const bool yes = !rendered && shows(&out, &q, of);
    if (rendered == FR_ENOMEM) *st = fr_fail(err, FR_ENOMEM, "%s", refused.text);
    fr_marked_free(&out);
    fr_jinja_values_close(q.v);
    return yes;
}

typedef struct probe {
    const fr_chat_template *chat;
    fr_chat_takes *takes;
    fr_status st;
    fr_error *err;
} probe;

static bool takes(probe *p, const char *turns) {
    return ask(p->chat, p->takes, &(question){.turns = turns}, &p->st, p->err);
}

static bool takes_tool(probe *p, const char *turns, tools_form form) {
    return ask(p->chat, p->takes, &(question){.turns = turns, .tools = form}, &p->st, p->err);
}

// ---- the probes ------------------------------------------------------------------------------

// Content as a string where that is taken.
static void ask_content(probe *p, const char *string, const char *list, unsigned bit) {
    if (!takes(p, string) && takes(p, list)) p->takes->lists |= bit;
}

static void ask_user(probe *p) {
    for (int list = 0; list < 2 && !p->takes->text && !p->takes->parts; list++) {
        p->takes->no_tools_as_list = list;
        p->takes->text = takes(p, "u");
        p->takes->parts = takes(p, "U");
    }
    if (p->takes->parts) p->takes->several_parts = takes(p, "V");
    if (!p->takes->text && !p->takes->parts) p->takes->no_tools_as_list = false;
}

static void ask_arguments(probe *p) {
    const question as_text = {.turns = "uc", .text_arguments = true};
    const bool object = takes(p, "uc"), string = ask(p->chat, p->takes, &as_text, &p->st, p->err);
    p->takes->object_arguments = object;
    p->takes->text_arguments = string;
}

// Most take empty content, in front of a result and in the middle of a conversation too.
static void ask_null(probe *p) {
    const bool empty = takes(p, "uc") && (takes(p, "uctu") || !takes(p, "untu"));
    p->takes->null_content = !empty && takes(p, "un");
}

// The template has a lack if it does not take all conversations of it. None is tried if the
// template has one of the lacks `unless`.
static const struct {
    unsigned lack, unless;
    const char *turns;
} lacks[] = {
    {FR_LACKS_SYSTEM, 0, "su"},
    {FR_LACKS_SYSTEM_ALONE, FR_LACKS_SYSTEM, "s"},
    {FR_LACKS_SYSTEMS, FR_LACKS_SYSTEM, "ssu"},
    {FR_LACKS_LATER_SYSTEM, FR_LACKS_SYSTEM, "us"},
    {FR_LACKS_LATER_SYSTEM, FR_LACKS_SYSTEM, "uasu"},
    {FR_LACKS_LATER_SYSTEM, FR_LACKS_SYSTEM, "suasu"},
    {FR_LACKS_USERS, 0, "uu"},
    {FR_LACKS_USERS, 0, "uauu"},
    {FR_LACKS_ASSISTANTS, 0, "uaau"},
    {FR_LACKS_ASSISTANT_FIRST, 0, "au"},
    {FR_LACKS_EMPTY_ASSISTANT, 0, "ueu"},
    {FR_LACKS_CALLS, 0, "uc"},
    {FR_LACKS_RESULTS, FR_LACKS_CALLS, "uct"},
    {FR_LACKS_SYSTEM_AND_END, FR_LACKS_SYSTEM | FR_LACKS_CALLS | FR_LACKS_RESULTS, "suct"},
    {FR_LACKS_USER_AFTER_RESULT, FR_LACKS_CALLS | FR_LACKS_RESULTS, "uctu"},
    {FR_LACKS_SEVERAL_CALLS, FR_LACKS_CALLS | FR_LACKS_RESULTS, "udtr"},
    {FR_LACKS_FOREIGN_IDS, FR_LACKS_CALLS | FR_LACKS_RESULTS, "uCR"},
    {FR_LACKS_MISSING_IDS, FR_LACKS_CALLS | FR_LACKS_RESULTS, "uio"},
    {FR_LACKS_MISSING_IDS, FR_LACKS_CALLS | FR_LACKS_RESULTS, "uco"},
    {FR_LACKS_TEXT_BESIDE_CALLS, FR_LACKS_CALLS | FR_LACKS_RESULTS, "ubt"},
};

static void ask_lacks(probe *p) {
    unsigned *found = &p->takes->lacks;
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
        if (!(*found & (lacks[i].lack | lacks[i].unless)) && !takes(p, lacks[i].turns))
            *found |= lacks[i].lack;
    // Calls become text, so a result has to be taken after text.
    if (*found & FR_LACKS_CALLS && !takes(p, "uat")) *found |= FR_LACKS_RESULTS;
    // The text becomes a message in front of the calls, which has to be taken too.
    if (*found & FR_LACKS_TEXT_BESIDE_CALLS && !takes(p, "uactau"))
        *found &= ~(unsigned)FR_LACKS_TEXT_BESIDE_CALLS;
}

static void ask_tools(probe *p) {
    unsigned *found = &p->takes->lacks;
    const bool shows = takes_tool(p, "u", FULL_TOOL);
    p->takes->tools =
        fr_jinja_mentions(p->chat->program, "tools") && (shows || takes_tool(p, "u", UNSEEN_TOOL));
    if (!p->takes->tools) return;
    if (!shows) *found |= FR_LACKS_TOOLS;
    if (!shows) return;
    if (!takes_tool(p, "u", BARE_TOOL)) *found |= FR_LACKS_BARE_TOOLS;
    if (!takes_tool(p, "u", EMPTY_TOOL)) *found |= FR_LACKS_NO_PROPERTIES;
    if (!takes_tool(p, "su", FULL_TOOL)) p->takes->lacks_beside_tools |= FR_LACKS_SYSTEM;
    if (!takes_tool(p, "s", FULL_TOOL)) p->takes->lacks_beside_tools |= FR_LACKS_SYSTEM_ALONE;
}

fr_status fr_chat_probe(fr_chat_template *chat, fr_error *err) {
    probe p = {.chat = chat, .takes = &chat->takes, .err = err};
    chat->takes = (fr_chat_takes){0};
    ask_user(&p);
    const bool plain = chat->takes.text || chat->takes.parts;
    if (!plain) { // it accepts no known form; rendering reports the error
        chat->takes.tools = fr_jinja_mentions(chat->program, "tools");
        return p.st;
    }
    ask_content(&p, "su", "Su", FR_LIST_SYSTEM);
    ask_content(&p, "uau", "uAu", FR_LIST_ASSISTANT);
    ask_arguments(&p);
    ask_content(&p, "uct", "ucT", FR_LIST_TOOL);
    ask_null(&p);
    ask_lacks(&p);
    ask_tools(&p);
    return p.st;
}

fr_status fr_chat_takes_role(const fr_chat_template *chat, const char *role, size_t bytes,
                             bool *yes, fr_error *err) {
    static const char *const places[] = {"ux", "uax", "xu"};
    fr_status st = FR_OK;
    *yes = !chat->takes.text && !chat->takes.parts;
    for (size_t i = 0; i < sizeof places / sizeof *places && !*yes; i++) {
        const question q = {.turns = places[i], .role = role, .role_bytes = bytes};
        *yes = ask(chat, &chat->takes, &q, &st, err);
    }
    return st;
}
