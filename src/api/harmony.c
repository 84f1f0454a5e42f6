// harmony.c — messages with heads, as gpt-oss writes them:
//
//   <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...
//   <|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{...}<|call|>
//
// The prompt ends with <|start|>assistant, so the first head may be cut at its front.
#include "api/answer_parts.h"
#include "api/marks.h"
#include <string.h>

enum { MOST_HEAD = 512 };
static const char CHANNEL[] = "<|channel|>", MESSAGE[] = "<|message|>", START[] = "<|start|>",
                  TO[] = "to=functions.";
static const char *const ENDS[] = {"<|end|>", "<|call|>", "<|return|>", START};
enum { N_ENDS = sizeof ENDS / sizeof *ENDS };

// ---------------------------------------------------------------- heads

static fr_begins is_head(const char *text, size_t n) {
    static const char *const fronts[] = {CHANNEL, START, "to="};
    const size_t space = fr_blank(text, n);
    fr_begins found = FR_BEGINS_NOT;
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++) {
        const fr_begins is = fr_begins_with(text + space, n - space, fronts[i]);
        if (is > found) found = is;
    }
    return n > MOST_HEAD && fr_find_mark(text, MOST_HEAD, MESSAGE) == MOST_HEAD ? FR_BEGINS_NOT
                                                                                : found;
}

// The name of the function that the message goes to, and its bytes; 0: it goes to none.
static size_t recipient(const char *head, size_t n, const char **name) {
    const size_t at = fr_find_mark(head, n, TO);
    size_t bytes = 0;
    if (at == n) return 0;
    *name = head + at + strlen(TO);
    while (*name + bytes < head + n && !strchr(" \t\r\n<", (*name)[bytes]))
        bytes++;
    return bytes;
}

static bool is_analysis(const char *head, size_t n) {
    const size_t at = fr_find_mark(head, n, CHANNEL);
    const size_t from = at < n ? at + strlen(CHANNEL) : n;
    return fr_begins_with(head + from, n - from, "analysis") == FR_BEGINS;
}

// Something stands between two messages that become one.
static fr_status part(fr_buffer *to, fr_error *err) {
    return to->n ? fr_buffer_add(to, "\n\n", 2, err) : FR_OK;
}

bool fr_answer_head(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const char *text = a->held.data, *name;
    const size_t n = a->held.n, at = fr_find_mark(text, n, MESSAGE);
    const fr_begins is = is_head(text, n);
    a->head = 0;
    a->body_thinks = a->body_raw = a->body_began = false;
    const bool cut = is == FR_BEGINS && at == n; // says nothing
    if (last && (cut || fr_blank(text, n) == n)) fr_answer_drop(a, n);
    if (!a->held.n || (!last && is != FR_BEGINS_NOT && at == n)) return false;
    a->stage = FR_API_BODY;
    if (is != FR_BEGINS || at == n) { // no head
        *st = part(&a->content, err);
        return !*st;
    }
    const size_t whole = at + strlen(MESSAGE);
    const bool analysis = is_analysis(text, at), calls = recipient(text, at, &name);
    if (calls && a->tools) {
        a->head = whole;
        return true;
    }
    a->body_raw = calls || (analysis && !a->thinks);
    a->body_thinks = analysis && !a->body_raw;
    *st = part(a->body_thinks ? &a->thinking : &a->content, err);
    if (!*st && a->body_raw) {
        *st = fr_answer_move(a, &a->content, whole, err);
    } else if (!*st) {
        if (a->body_thinks) fr_answer_think(a);
        fr_answer_drop(a, whole);
    }
    return !*st;
}

// ---------------------------------------------------------------- bodies

// Where the body ends, and the bytes of the mark there; n: it does not yet.
static size_t body_end(const fr_api_answer *a, size_t *mark) {
    const char *text = a->held.data;
    const size_t n = a->held.n;
    size_t end = n;
    *mark = 0;
    for (int i = 0; i < N_ENDS; i++) {
        const bool next = ENDS[i] == START; // of the next head; what begins a body was none
        const size_t from = next && !a->body_began && !a->head && n ? 1 : a->head;
        const size_t at = from + fr_find_mark(text + from, n - from, ENDS[i]);
        if (at >= end) continue;
        end = at;
        *mark = next ? 0 : strlen(ENDS[i]);
    }
    return end;
}

static bool call(fr_api_answer *a, size_t end, size_t mark, fr_error *err, fr_status *st) {
    const char *name = NULL;
    const size_t bytes = recipient(a->held.data, a->head, &name);
    if (fr_answer_take_named(a, name, bytes, a->held.data + a->head, end - a->head))
        fr_answer_drop(a, end + mark);
    else if (!(*st = part(&a->content, err)))
        *st = fr_answer_move(a, &a->content, end + mark, err);
    a->stage = FR_API_HEAD;
    return !*st;
}

// Bytes that may begin a mark.
static size_t held_back(const fr_api_answer *a) {
    size_t most = 0;
    for (int i = 0; i < N_ENDS; i++) {
        const size_t n = fr_begun_mark(a->held.data, a->held.n, ENDS[i]);
        if (n > most) most = n;
    }
    return most;
}

bool fr_answer_body(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    size_t mark;
    const size_t end = body_end(a, &mark);
    const bool ends = end < a->held.n;
    if (a->head) return (ends || last) && call(a, end, mark, err, st);
    const size_t more = ends ? end : a->held.n - (last ? 0 : held_back(a));
    if ((*st = fr_answer_move(a, a->body_thinks ? &a->thinking : &a->content, more, err)))
        return false;
    a->body_began |= more > 0;
    if (!ends) return false;
    if (a->body_raw)
        *st = fr_answer_move(a, &a->content, mark, err);
    else
        fr_answer_drop(a, mark);
    if (a->body_thinks) fr_answer_thought(a);
    a->stage = FR_API_HEAD;
    return !*st;
}
