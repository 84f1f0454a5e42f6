// fit_turns.c — the order of roles. A message that the template does not accept at its place
// joins a neighbour: a system's text joins the user's turn, a turn joins the turn of its role
// before it.
#include "api/fields.h"
#include "api/fit.h"
#include "api/translate.h"
#include "api/value.h"
#include <string.h>

typedef enum speaker { SYSTEM, USER, ASSISTANT, RESULT, OTHER } speaker;

typedef struct turn { // the last one, which is not in the list yet
    json_t *message;  // owned; NULL: none
    speaker speaker;
    bool system;             // all of it was a system's message
    bool joined;             // it is made of several messages
    fr_buffer text, thought; // ... and these are its content and its thinking
} turn;

typedef struct fitter {
    json_t *list;
    turn at;
    unsigned lacks;
    bool begun; // there was a message of another role than the system's
    fr_error *err;
} fitter;

static speaker speaker_of(const json_t *message) {
    static const char *const names[] = {"system", "user", "assistant", "tool"};
    const json_t *role = fr_api_member(message, "role");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fr_api_is(role, names[i])) return (speaker)i;
    return OTHER;
}

static bool has_calls(const json_t *message) {
    return json_array_size(fr_api_member(message, "tool_calls"));
}

// ---------------------------------------------------------------- the last turn

static json_t *text_of(const fr_buffer *text) {
    return json_stringn(text->data ? text->data : "", text->n);
}

static fr_status finish(fitter *f) {
    turn *at = &f->at;
    fr_status st = FR_OK;
    if (!at->message) return FR_OK;
    if (at->joined)
        st = fr_api_set(at->message, "content",
                        at->text.n || !has_calls(at->message) ? text_of(&at->text) : json_null(),
                        f->err);
    if (!st && at->joined && at->thought.n)
        st = fr_api_set(at->message, "reasoning_content", text_of(&at->thought), f->err);
    if (!st) st = fr_api_append(f->list, json_incref(at->message), f->err);
    json_decref(at->message);
    at->message = NULL;
    return st;
}

static fr_status begin(fitter *f, json_t *message, speaker by, bool system) {
    fr_status st = finish(f);
    turn *at = &f->at;
    if (st) return st;
    at->speaker = by;
    at->system = system;
    at->joined = false;
    at->text.n = at->thought.n = 0;
    at->message = system ? fr_json_copy(message) : json_incref(message);
    return system ? fr_api_set(at->message, "role", json_string("user"), f->err) : FR_OK;
}

// Appends a text, after a blank line if it is not the first.
static fr_status add_paragraph(fr_buffer *to, const char *text, size_t n, fr_error *err) {
    if (!n) return FR_OK;
    const fr_status st = to->n ? fr_buffer_add(to, "\n\n", 2, err) : FR_OK;
    return st ? st : fr_buffer_add(to, text, n, err);
}

static fr_status add_texts(fitter *f, const json_t *message) {
    const json_t *thought = fr_api_member(message, "reasoning_content");
    turn *at = &f->at;
    fr_buffer said = {0};
    fr_status st = fr_api_add_content(&said, message, "\n", f->err);
    if (!st) st = add_paragraph(&at->text, said.data, said.n, f->err);
    if (!st)
        st = add_paragraph(&at->thought, json_string_value(thought), json_string_length(thought),
                           f->err);
    fr_buffer_free(&said);
    return st;
}

static fr_status begin_joining(fitter *f) {
    turn *at = &f->at;
    json_t *own = fr_json_copy(at->message), *calls = json_object_get(at->message, "tool_calls");
    if (!own) return fr_fail(f->err, FR_ENOMEM, "messages: no memory");
    json_incref(calls);
    json_decref(at->message);
    at->message = own;
    at->joined = true;
    fr_status st = add_texts(f, own);
    if (!st && json_is_array(calls))
        st = fr_api_set(own, "tool_calls", fr_json_copy(calls), f->err);
    json_decref(calls);
    return st;
}

static fr_status join(fitter *f, const json_t *message, bool system) {
    turn *at = &f->at;
    json_t *calls = json_object_get(message, "tool_calls");
    fr_status st = at->joined ? FR_OK : begin_joining(f);
    at->system &= system;
    if (!st) st = add_texts(f, message);
    if (st || !json_array_size(calls)) return st;
    json_t *own = json_object_get(at->message, "tool_calls");
    if (!json_is_array(own))
        return fr_api_set(at->message, "tool_calls", fr_json_copy(calls), f->err);
    return json_array_extend(own, calls) ? fr_fail(f->err, FR_ENOMEM, "messages: no memory")
                                         : FR_OK;
}

// ---------------------------------------------------------------- joining

static bool joins_assistant(const fitter *f, const json_t *message) {
    const bool mine = has_calls(message), before = has_calls(f->at.message);
    if (!(f->lacks & FR_LACKS_ASSISTANTS) || f->at.speaker != ASSISTANT) return false;
    if (mine && before) return !(f->lacks & FR_LACKS_SEVERAL_CALLS);
    return !((mine || before) && f->lacks & FR_LACKS_TEXT_BESIDE_CALLS);
}

static bool joins(const fitter *f, const json_t *message, speaker by, bool system) {
    const turn *at = &f->at;
    if (!at->message) return false;
    if (by == SYSTEM) return at->speaker == SYSTEM && f->lacks & FR_LACKS_SYSTEMS;
    if (by == ASSISTANT) return joins_assistant(f, message);
    if (by != USER) return false;
    if (at->speaker == RESULT) return f->lacks & FR_LACKS_USER_AFTER_RESULT;
    return at->speaker == USER && (system || at->system || f->lacks & FR_LACKS_USERS);
}

// A message without text, thinking and calls.
static bool is_empty(const json_t *message) {
    const json_t *content = fr_api_member(message, "content");
    const size_t said =
        json_is_array(content) ? json_array_size(content) : json_string_length(content);
    return !said && !has_calls(message) &&
           !json_string_length(fr_api_member(message, "reasoning_content"));
}

// Adds a message as one of `by`; `system`: it is a system's, and by is USER.
static fr_status push(fitter *f, json_t *message, speaker by, bool system) {
    fr_status st = FR_OK;
    if (by == ASSISTANT && f->lacks & FR_LACKS_EMPTY_ASSISTANT && is_empty(message)) return FR_OK;
    if (by == ASSISTANT && !f->begun && f->lacks & FR_LACKS_ASSISTANT_FIRST) {
        json_t *nothing = json_pack("{s:s, s:s}", "role", "user", "content", "");
        st = nothing ? begin(f, nothing, USER, false)
                     : fr_fail(f->err, FR_ENOMEM, "messages: no memory");
        json_decref(nothing);
    }
    f->begun |= by != SYSTEM;
    if (st) return st;
    return joins(f, message, by, system) ? join(f, message, system) : begin(f, message, by, system);
}

// ---------------------------------------------------------------- systems

typedef struct order {
    size_t n;         // messages
    size_t front;     // systems in front of all others
    size_t last_user; // where the last turn of the user's begins; n: there is none
    bool ends_with_user;
} order;

// The speaker of the turn that a message becomes part of, after a message of `before`.
static speaker turn_of(const json_t *message, speaker before, unsigned lacks) {
    const speaker by = speaker_of(message);
    const bool user = by == USER || (by == SYSTEM && lacks & FR_LACKS_LATER_SYSTEM);
    if (user && before == RESULT && lacks & FR_LACKS_USER_AFTER_RESULT) return RESULT;
    return user ? USER : by;
}

static order order_of(const json_t *messages, unsigned lacks) {
    order o = {.n = json_array_size(messages)};
    speaker before = OTHER;
    o.last_user = o.n;
    while (o.front < o.n && speaker_of(json_array_get(messages, o.front)) == SYSTEM)
        o.front++;
    for (size_t i = o.front; i < o.n; i++) {
        const json_t *message = json_array_get(messages, i);
        const speaker by = turn_of(message, before, lacks);
        const bool begins = before != USER || !(lacks & FR_LACKS_USERS);
        if (by == USER && begins) o.last_user = i;
        before = by;
    }
    o.ends_with_user = before == USER;
    return o;
}

// Where the text of the systems in front goes. 0: it stays. n: it stays, as the user's. Else into
// the turn of the user's that begins at that message.
static size_t place_of_front(const order *o, unsigned lacks) {
    const bool alone = o->last_user == o->n;
    if (lacks & FR_LACKS_SYSTEM || (alone && lacks & FR_LACKS_SYSTEM_ALONE)) return o->n;
    if (alone || o->ends_with_user || !(lacks & FR_LACKS_SYSTEM_AND_END)) return 0;
    return o->last_user;
}

static fr_status push_system(fitter *f, const order *o, size_t front, json_t *message, size_t i) {
    const bool later = i >= o->front;
    const bool as_user =
        later ? f->lacks & (FR_LACKS_SYSTEM | FR_LACKS_LATER_SYSTEM) : front == o->n;
    if (!later && front && !as_user) return FR_OK; // it comes with the user's turn
    return push(f, message, as_user ? USER : SYSTEM, as_user);
}

static fr_status push_all(fitter *f, const json_t *messages) {
    const order o = order_of(messages, f->lacks);
    const size_t front = o.front ? place_of_front(&o, f->lacks) : 0;
    fr_status st = FR_OK;
    for (size_t i = 0; i < o.n && !st; i++) {
        json_t *message = json_array_get(messages, i);
        const speaker by = speaker_of(message);
        if (front && i == front) st = finish(f);
        for (size_t k = 0; front && i == front && k < o.front && !st; k++)
            st = push(f, json_array_get(messages, k), USER, true);
        if (!st)
            st = by == SYSTEM ? push_system(f, &o, front, message, i) : push(f, message, by, false);
    }
    return st ? st : finish(f);
}

fr_status fr_api_fit_turns(json_t *root, const fr_chat_takes *takes, fr_error *err) {
    const unsigned turns = FR_LACKS_SYSTEM | FR_LACKS_SYSTEM_ALONE | FR_LACKS_SYSTEM_AND_END |
                           FR_LACKS_SYSTEMS | FR_LACKS_LATER_SYSTEM | FR_LACKS_USERS |
                           FR_LACKS_ASSISTANTS | FR_LACKS_ASSISTANT_FIRST |
                           FR_LACKS_USER_AFTER_RESULT | FR_LACKS_EMPTY_ASSISTANT;
    if (!(takes->lacks & turns)) return FR_OK;
    fitter f = {.list = json_array(), .lacks = takes->lacks, .err = err};
    fr_status st = f.list ? push_all(&f, fr_api_member(root, "messages"))
                          : fr_fail(err, FR_ENOMEM, "messages: no memory");
    if (!st) st = fr_api_set(root, "messages", json_incref(f.list), err);
    json_decref(f.at.message);
    json_decref(f.list);
    fr_buffer_free(&f.at.text);
    fr_buffer_free(&f.at.thought);
    return st;
}
