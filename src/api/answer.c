// answer.c — the held text is read from its beginning, up to the next mark that its stage knows; it
// belongs where the stage says, and behind the mark another stage begins.
#include "api/answer.h"
#include "api/answer_parts.h"
#include "api/marks.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char THINK[] = "<think>", END_THINK[] = "</think>", CALL[] = "<tool_call>",
                  END_CALL[] = "</tool_call>", FENCE[] = "```json", END_FENCE[] = "```",
                  MISTRAL[] = "[TOOL_CALLS]", TAG[] = "<|python_tag|>", CHANNEL[] = "<|channel|>";

const char *const fr_api_marks[] = {THINK,       END_THINK, CHANNEL,         "<|message|>",
                                    "<|start|>", "<|end|>", "<|constrain|>", NULL};
const char *const fr_api_call_marks[] = {CALL, END_CALL, MISTRAL, "[CALL_ID]", "[ARGS]", TAG, NULL};

// Calls whose marks may stand anywhere in the content.
static const struct {
    fr_api_form form;
    const char *mark;
} CALLS[] = {{FR_API_MARKED, CALL}, {FR_API_MISTRAL, MISTRAL}, {FR_API_TAGGED, TAG}};
enum { N_CALLS = sizeof CALLS / sizeof *CALLS };

static bool says(const char *chat_template, const char *text) {
    return chat_template && strstr(chat_template, text);
}

void fr_api_answer_open(fr_api_answer *a, bool thinks, bool open, bool tools,
                        const char *chat_template) {
    const bool marked = !chat_template || strstr(chat_template, CALL);
    *a = (fr_api_answer){.thinks = thinks,
                         .tools = tools,
                         .json_calls = tools && !marked && says(chat_template, "parameters"),
                         .stage = says(chat_template, CHANNEL) ? FR_API_HEAD
                                  : thinks && open             ? FR_API_THINKS
                                                               : FR_API_BEGINS};
    if (a->stage == FR_API_THINKS) fr_answer_think(a);
}

void fr_api_answer_close(fr_api_answer *a) {
    for (int i = 0; i < a->n_calls; i++) {
        free(a->call[i].name);
        free(a->call[i].arguments);
    }
    fr_buffer_free(&a->thinking);
    fr_buffer_free(&a->content);
    fr_buffer_free(&a->held);
    *a = (fr_api_answer){0};
}

// ---------------------------------------------------------------- parts

void fr_answer_drop(fr_api_answer *a, size_t n) {
    if (n) memmove(a->held.data, a->held.data + n, a->held.n - n);
    a->held.n -= n;
    a->read += n;
}

fr_status fr_answer_move(fr_api_answer *a, fr_buffer *to, size_t n, fr_error *err) {
    const fr_status st = n ? fr_buffer_add(to, a->held.data, n, err) : FR_OK;
    if (!st) fr_answer_drop(a, n);
    return st;
}

// Where there is no room for one more it goes on with the last.
void fr_answer_think(fr_api_answer *a) {
    if (a->n_thoughts < FR_API_THOUGHTS) a->thought[a->n_thoughts++].from = a->read;
    a->thought[a->n_thoughts - 1].to = SIZE_MAX;
}

void fr_answer_thought(fr_api_answer *a) {
    assert(a->n_thoughts > 0);
    a->thought[a->n_thoughts - 1].to = a->read;
}

// ---------------------------------------------------------------- stages

// Each reads some of what is held. True: there is more to read of it now.

static bool is_looked_for(const fr_api_answer *a, int i) {
    return a->tools && !(a->json_calls && CALLS[i].form == FR_API_MARKED);
}

// Whether an object begins whose first member is a call's, with white space as it may stand in JSON.
static fr_begins bare_call(const char *text, size_t n) {
    static const char *const members[] = {"\"name\"", "\"arguments\""};
    fr_begins found = FR_BEGINS_NOT;
    if (!n || *text != '{') return n ? FR_BEGINS_NOT : FR_BEGINS_MAYBE;
    const size_t at = 1 + fr_blank(text + 1, n - 1);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const fr_begins is = fr_begins_with(text + at, n - at, members[i]);
        if (is > found) found = is;
    }
    return found;
}

// Whether a call of some form stands at a beginning, or may yet; *form: where its mark is no part
// of CALLS, which are found in the content.
static fr_begins call_at(const fr_api_answer *a, const char *text, size_t n, fr_api_form *form) {
    fr_begins found = FR_BEGINS_NOT;
    *form = FR_API_MARKED;
    for (int i = 0; i < N_CALLS; i++) {
        const fr_begins is =
            is_looked_for(a, i) ? fr_begins_with(text, n, CALLS[i].mark) : FR_BEGINS_NOT;
        if (is > found) found = is;
    }
    const fr_begins fence = a->tools ? fr_begins_with(text, n, FENCE) : FR_BEGINS_NOT;
    const fr_begins bare = !a->tools       ? FR_BEGINS_NOT
                           : a->json_calls ? fr_begins_with(text, n, "{")
                                           : bare_call(text, n);
    if (fence == FR_BEGINS) *form = FR_API_FENCED;
    if (bare == FR_BEGINS) *form = a->json_calls ? FR_API_ALONE : FR_API_BARE;
    if (fence > found) found = fence;
    return bare > found ? bare : found;
}

static bool begin(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const char *text = a->held.data;
    const size_t n = a->held.n, space = fr_blank(text, n);
    const fr_begins think =
        a->thinks ? fr_begins_with(text + space, n - space, THINK) : FR_BEGINS_NOT;
    const fr_begins call = call_at(a, text + space, n - space, &a->form);
    (void)err, (void)st;
    if (think == FR_BEGINS) {
        fr_answer_think(a);
        fr_answer_drop(a, space + strlen(THINK));
        a->stage = FR_API_THINKS;
        return true;
    }
    if (!last && (space == n || think == FR_BEGINS_MAYBE || call == FR_BEGINS_MAYBE)) return false;
    const bool marked = call == FR_BEGINS && a->form == FR_API_MARKED;
    const bool alone = call == FR_BEGINS && (a->form == FR_API_ALONE || a->form == FR_API_BARE);
    if (marked || (a->trims && !alone)) fr_answer_drop(a, space);
    a->stage = call == FR_BEGINS && !marked ? FR_API_CALLS_TOOL : FR_API_SAYS;
    if (a->stage == FR_API_SAYS) a->trims = false;
    return true;
}

static bool think(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const size_t n = a->held.n, end = fr_find_mark(a->held.data, n, END_THINK);
    if (end == n) {
        const size_t keep = last ? 0 : fr_begun_mark(a->held.data, n, END_THINK);
        *st = fr_answer_move(a, &a->thinking, n - keep, err);
        return false;
    }
    if ((*st = fr_answer_move(a, &a->thinking, end, err))) return false;
    fr_answer_drop(a, strlen(END_THINK));
    fr_answer_thought(a);
    a->stage = FR_API_BEGINS;
    a->thinks = false; // once
    a->trims = true;
    return true;
}

static bool say(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const char *text = a->held.data;
    const size_t n = a->held.n;
    size_t call = n, keep = 0;
    for (int i = 0; i < N_CALLS; i++) {
        if (!is_looked_for(a, i)) continue;
        const size_t at = fr_find_mark(text, n, CALLS[i].mark);
        const size_t begun = last ? 0 : fr_begun_mark(text, n, CALLS[i].mark);
        if (at < call) a->form = CALLS[i].form, call = at;
        if (begun > keep) keep = begun;
    }
    *st = fr_answer_move(a, &a->content, call < n ? call : n - keep, err);
    if (*st || call == n) return false;
    a->stage = FR_API_CALLS_TOOL;
    return true;
}

// ---------------------------------------------------------------- calls

typedef struct span { // of held text: a call between its marks, and what stands behind it
    size_t head, end, next;
} span;

// Where a call ends that begins at `head`: the first end mark up to which it is JSON, as arguments
// may hold the mark too. n: there is none.
static size_t end_of_call(const fr_api_answer *a, size_t head, const char *mark) {
    const char *text = a->held.data;
    const size_t n = a->held.n;
    for (size_t at = head > a->tried ? head : a->tried;
         (at += fr_find_mark(text + at, n - at, mark)) < n; at++)
        if (fr_answer_is_json(text + head, at - head)) return at;
    return n;
}

// False: the end mark is not there yet.
static bool between_marks(fr_api_answer *a, bool last, size_t head, const char *mark, span *s) {
    const size_t n = a->held.n, length = strlen(mark);
    *s = (span){head, end_of_call(a, head, mark), n};
    if (s->end == n && !last) {
        a->tried = n >= length ? n - length + 1 : 0;
        return false;
    }
    if (s->end == n) // no call, or cut short
        s->end = head + fr_find_mark(a->held.data + head, n - head, mark);
    if (s->end < n) s->next = s->end + length;
    a->tried = 0;
    return true;
}

static bool span_of(fr_api_answer *a, bool last, span *s) {
    const char *text = a->held.data;
    const size_t n = a->held.n;
    size_t head = 0, end;
    switch (a->form) {
    case FR_API_MARKED:
        return between_marks(a, last, strlen(CALL), END_CALL, s);
    case FR_API_FENCED:
        return between_marks(a, last, fr_blank(text, n) + strlen(FENCE), END_FENCE, s);
    case FR_API_MISTRAL:
        head = strlen(MISTRAL);
        end = fr_answer_mistral_end(text + head, n - head);
        *s = (span){head, end ? head + end : n, end ? head + end : n};
        return end || last;
    case FR_API_TAGGED:
        head = strlen(TAG);
        break;
    case FR_API_ALONE:
    case FR_API_BARE:
        break;
    }
    *s = (span){head, n, n};
    return last;
}

static bool call_tool(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    span s;
    if (!span_of(a, last, &s)) return false;
    if (fr_answer_take_calls(a, a->held.data + s.head, s.end - s.head)) {
        fr_answer_drop(a, s.next);
        a->stage = FR_API_BEGINS; // another call may follow
        a->trims = true;
    } else {
        *st = fr_answer_move(a, &a->content, s.next, err);
        a->stage = FR_API_SAYS;
    }
    return !*st;
}

// ---------------------------------------------------------------- all

static fr_status read_held(fr_api_answer *a, bool last, fr_error *err) {
    static bool (*const read[])(fr_api_answer *, bool, fr_error *,
                                fr_status *) = {[FR_API_BEGINS] = begin,
                                                [FR_API_THINKS] = think,
                                                [FR_API_SAYS] = say,
                                                [FR_API_CALLS_TOOL] = call_tool,
                                                [FR_API_HEAD] = fr_answer_head,
                                                [FR_API_BODY] = fr_answer_body};
    fr_status st = FR_OK;
    while (!st && a->held.n && read[a->stage](a, last, err, &st)) {
    }
    return st;
}

fr_status fr_api_answer_push(fr_api_answer *a, const char *text, size_t bytes, fr_error *err) {
    const fr_status st = bytes ? fr_buffer_add(&a->held, text, bytes, err) : FR_OK;
    return st ? st : read_held(a, false, err);
}

fr_status fr_api_answer_finish(fr_api_answer *a, fr_error *err) {
    return read_held(a, true, err);
}
