// harmony.c — messages with heads, as gpt-oss writes them:
//
//   <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...
//   <|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{...}<|call|>
//
// The prompt ends with <|start|>assistant, so the first head may be cut at its front.
#include "api/answer_parts.h"
#include "api/marks.h"
#include <string.h>

static const char CHANNEL[] = MARK_CHANNEL, MESSAGE[] = MARK_MESSAGE, START[] = MARK_START,
                  TO[] = "to=functions.";

// ---------------------------------------------------------------- heads

static fr_begins is_head(const char *text, size_t n) {
    static const char *const fronts[] = {CHANNEL, START, "to="};
    const size_t space = fr_blank(text, n);
    fr_begins found = FR_BEGINS_NOT;
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++) {
        const fr_begins is = fr_begins_with(text + space, n - space, fronts[i]);
        if (is > found) found = is;
    }
    return n > FR_MOST_CALL_HEAD &&
                   fr_find_mark(text, FR_MOST_CALL_HEAD, MESSAGE) == FR_MOST_CALL_HEAD
               ? FR_BEGINS_NOT
               : found;
}

// The name of the function that the message goes to. Returns its bytes; 0: it goes to none.
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

// Separates two messages that become one text.
static fr_status separate(fr_buffer *to, fr_error *err) {
    return to->n ? fr_buffer_add(to, "\n\n", 2, err) : FR_OK;
}

bool fr_answer_head(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const char *text = fr_answer_held(a), *name;
    const size_t n = fr_answer_left(a), most = n < FR_MOST_CALL_HEAD ? n : FR_MOST_CALL_HEAD;
    const size_t found = fr_find_mark(text, most, MESSAGE), at = found < most ? found : n;
    const fr_begins is = is_head(text, n);
    a->head = 0;
    a->body_thinks = a->body_raw = a->body_began = false;
    const bool cut = is == FR_BEGINS && at == n; // in the head
    if (last && (cut || fr_blank(text, n) == n)) {
        fr_answer_drop(a, n);
        return false;
    }
    if (!last && is != FR_BEGINS_NOT && at == n) return false;
    a->stage = FR_API_BODY;
    if (is != FR_BEGINS || at == n) { // no head
        *st = separate(&a->content, err);
        return !*st;
    }
    const size_t whole = at + strlen(MESSAGE);
    const bool analysis = is_analysis(text, at), calls = recipient(text, at, &name);
    if (calls && a->tools) {
        fr_call_scan_begin(&a->scan, &fr_form_harmony, NULL, 0, whole, false);
        a->head = at;
        return true;
    }
    a->body_raw = calls || (analysis && !a->thinks);
    a->body_thinks = analysis && !a->body_raw;
    *st = separate(a->body_thinks ? &a->thinking : &a->content, err);
    if (!*st && a->body_raw) {
        *st = fr_answer_move(a, &a->content, whole, err);
    } else if (!*st) {
        if (a->body_thinks) fr_answer_think(a);
        fr_answer_drop(a, whole);
    }
    return !*st;
}

// ---------------------------------------------------------------- bodies

// Whether a mark here ends the body, or may do so. *bytes: its length; 0: it begins a head.
static fr_begins end_at(const char *text, size_t n, size_t *bytes) {
    const char *const *end = fr_form_harmony.end;
    fr_begins found = fr_begins_with(text, n, fr_form_harmony.next);
    if (found == FR_BEGINS) *bytes = 0;
    for (int i = 0; i < 4 && end[i]; i++) {
        const fr_begins is = fr_begins_with(text, n, end[i]);
        if (is > found) found = is;
        if (is == FR_BEGINS) *bytes = strlen(end[i]);
    }
    return found;
}

// Where the body ends, by a mark of *mark bytes, or where a mark may begin; n: nowhere.
static size_t body_end(const fr_api_answer *a, fr_begins *is, size_t *mark) {
    const char *text = fr_answer_held(a);
    const size_t n = fr_answer_left(a);
    *mark = 0;
    for (size_t at = 0; at < n; at++) {
        if (text[at] != *START) continue;
        *is = end_at(text + at, n - at, mark);
        // A start mark here is the beginning of what was taken for a head and is text.
        const bool head = !at && !a->body_began && *is == FR_BEGINS && !*mark;
        if (*is != FR_BEGINS_NOT && !head) return at;
    }
    *is = FR_BEGINS_NOT;
    return n;
}

// The body of a call is held until it is whole, or cannot become one.
static bool call(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const fr_call_scan *s = &a->scan;
    const char *name = NULL, *text = fr_answer_held(a);
    const size_t bytes = recipient(text, a->head, &name);
    const fr_call_verdict is = fr_answer_scan(a, last);
    if (is == FR_CALL_MAYBE) return false;
    const bool whole = is == FR_CALL_WHOLE;
    if (whole) a->stage = FR_API_HEAD;
    if (whole && fr_answer_take_named(a, name, bytes, text + s->head, s->end - s->head)) {
        fr_answer_drop(a, s->next);
        return true;
    }
    a->head = 0;
    a->body_raw = true;
    // Marks in values are text.
    const size_t n = whole ? s->next : a->cut ? fr_answer_left(a) : s->quoted;
    if (!(*st = separate(&a->content, err))) *st = fr_answer_move(a, &a->content, n, err);
    return !*st;
}

bool fr_answer_body(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    if (a->head) return call(a, last, err, st);
    fr_begins is;
    size_t mark;
    const size_t end = body_end(a, &is, &mark);
    const size_t more = last && is != FR_BEGINS ? fr_answer_left(a) : end;
    if ((*st = fr_answer_move(a, a->body_thinks ? &a->thinking : &a->content, more, err)))
        return false;
    a->body_began |= more > 0;
    if (is != FR_BEGINS) return false;
    if (a->body_raw)
        *st = fr_answer_move(a, &a->content, mark, err);
    else
        fr_answer_drop(a, mark);
    if (a->body_thinks) fr_answer_thought(a);
    a->stage = FR_API_HEAD;
    return !*st;
}
