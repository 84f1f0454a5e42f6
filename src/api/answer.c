// answer.c — held text is read from its beginning to the next mark of the current stage. The
// stage determines where the text goes, and the mark begins another stage.
#include "api/answer.h"
#include "api/answer_parts.h"
#include "api/marks.h"
#include "text/chat/thinking.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool says(const char *chat_template, const char *text) {
    return chat_template && text && strstr(chat_template, text);
}

// Whether the template has the form's sign.
static bool is_of(const char *chat_template, const fr_call_form *form) {
    return says(chat_template, form->where) || (form->spare && says(chat_template, form->begin));
}

static void choose_forms(fr_api_answer *a, const char *chat_template) {
    const fr_call_form *form;
    uint32_t spare = 0, usual = 0;
    bool instead = false, marked = false;
    for (size_t i = 0; (form = fr_call_form_at(i)); i++) {
        const bool its = is_of(chat_template, form), always = !form->where && !form->spare;
        if (its || always) a->forms |= 1u << i;
        if (form->spare) spare |= 1u << i;
        if (form->usual) usual |= 1u << i;
        instead |= says(chat_template, form->instead);
        marked |= its;
    }
    if (!instead && !marked) a->forms |= spare;
    a->json_calls = !instead && says(chat_template, "parameters");
    if (a->json_calls) a->forms &= ~usual;
}

void fr_api_answer_open(fr_api_answer *a, bool thinks, bool open, bool tools,
                        const char *chat_template) {
    const bool harmony = says(chat_template, MARK_CHANNEL);
    *a = (fr_api_answer){.thinks = thinks,
                         .tools = tools,
                         .thinking_form = fr_thinking_form_of(
                             chat_template, chat_template ? strlen(chat_template) : 0),
                         .stage = harmony          ? FR_API_HEAD
                                  : thinks && open ? FR_API_THINKS
                                                   : FR_API_BEGINS};
    if (tools) choose_forms(a, chat_template);
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
    a->done += n;
    a->read += n;
    a->blank = 0;
}

fr_status fr_answer_move(fr_api_answer *a, fr_buffer *to, size_t n, fr_error *err) {
    const fr_status st = n ? fr_buffer_add(to, fr_answer_held(a), n, err) : FR_OK;
    if (!st) fr_answer_drop(a, n);
    return st;
}

// Without space for a further range, continues the last one.
void fr_answer_think(fr_api_answer *a) {
    if (a->n_thoughts < FR_API_THOUGHTS) a->thought[a->n_thoughts++].from = a->read;
    a->thought[a->n_thoughts - 1].to = SIZE_MAX;
}

void fr_answer_thought(fr_api_answer *a) {
    assert(a->n_thoughts > 0);
    a->thought[a->n_thoughts - 1].to = a->read;
}

// ---------------------------------------------------------------- stages

// Each reads some of the held bytes. True: more of them can be read now.

typedef struct found { // a mark of calls
    fr_begins is;
    const fr_call_form *form;
    size_t row, bytes;
    bool around;
} found;

// The mark that the text begins with, or may begin with, of the first row from `row` on.
static found mark_at(const fr_api_answer *a, const char *text, size_t n, size_t row, bool begins) {
    found f = {FR_BEGINS_NOT, NULL, row, 0, false};
    for (; (f.form = fr_call_form_at(f.row)); f.row++) {
        if (!(a->forms >> f.row & 1) || (f.form->place == FR_FORM_FIRST && !begins)) continue;
        const char *const marks[] = {f.form->begin, f.form->around[0]};
        for (int i = 0; i < 2 && marks[i]; i++) {
            const fr_begins is = fr_begins_with(text, n, marks[i]);
            if (is > f.is) f.is = is;
            if (is != FR_BEGINS) continue;
            f.bytes = strlen(marks[i]);
            f.around = i;
            return f;
        }
    }
    return f;
}

// The same for the beginning of the content, where JSON may be a call too.
static found call_at(const fr_api_answer *a, const char *text, size_t n) {
    if (a->tools && n && *text == '{')
        return (found){FR_BEGINS, a->json_calls ? &fr_form_alone : &fr_form_bare, FR_CALL_FORMS, 0,
                       false};
    return mark_at(a, text, n, 0, true);
}

static void begin_call(fr_api_answer *a, const found *f, size_t space) {
    fr_call_scan_begin(&a->scan, f->form, a->offered, space, f->bytes, f->around);
    a->row = f->row;
    a->around = f->around;
    a->stage = FR_API_CALLS_TOOL;
}

// The form of thinking that the text begins with. FR_BEGINS_MAYBE: it may do so.
static fr_begins thinking_at(const char *text, size_t n, const fr_thinking_form **form) {
    const fr_thinking_form *at;
    fr_begins all = FR_BEGINS_NOT;
    for (size_t i = 0; (at = fr_thinking_form_at(i)); i++) {
        const fr_begins is = fr_begins_with(text, n, at->open);
        if (is > all) all = is;
        if (is == FR_BEGINS) *form = at;
    }
    return all;
}

static void begin_thinking(fr_api_answer *a, const fr_thinking_form *form, size_t space) {
    fr_answer_think(a);
    fr_answer_drop(a, space + strlen(form->open));
    a->thinking_form = form;
    a->stage = FR_API_THINKS;
}

static bool begin(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const char *text = fr_answer_held(a);
    const size_t n = fr_answer_left(a), space = a->blank + fr_blank(text + a->blank, n - a->blank);
    const fr_thinking_form *form;
    const fr_begins think = a->thinks ? thinking_at(text + space, n - space, &form) : FR_BEGINS_NOT;
    const fr_begins closed =
        a->closes ? fr_begins_with(text + space, n - space, a->closes) : FR_BEGINS_NOT;
    const found call = call_at(a, text + space, n - space);
    (void)err, (void)st;
    a->blank = space;
    if (think == FR_BEGINS) return begin_thinking(a, form, space), true;
    if (closed == FR_BEGINS || (last && closed == FR_BEGINS_MAYBE && space < n)) {
        // A mark that is cut short is no part of the answer.
        fr_answer_drop(a, closed == FR_BEGINS ? space + strlen(a->closes) : n);
        a->closes = NULL;
        return true;
    }
    if (!last && (space == n || think == FR_BEGINS_MAYBE || closed == FR_BEGINS_MAYBE ||
                  call.is == FR_BEGINS_MAYBE))
        return false;
    if (call.is == FR_BEGINS) return begin_call(a, &call, space), true;
    if (a->trims) fr_answer_drop(a, space);
    a->stage = FR_API_SAYS;
    a->trims = false;
    a->closes = NULL;
    return true;
}

static bool think(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const char *text = fr_answer_held(a), *close = a->thinking_form->close;
    const size_t n = fr_answer_left(a), end = fr_find_mark(text, n, close);
    if (end == n) {
        const size_t keep = last ? 0 : fr_begun_mark(text, n, close);
        *st = fr_answer_move(a, &a->thinking, n - keep, err);
        return false;
    }
    if ((*st = fr_answer_move(a, &a->thinking, end, err))) return false;
    fr_answer_drop(a, strlen(close));
    fr_answer_thought(a);
    a->stage = FR_API_BEGINS;
    a->thinks = false; // once
    a->trims = true;
    return true;
}

// The offset of the first call's mark, or (f->is is not FR_BEGINS) of a beginning of a mark at the
// end of the text. n: there is none.
static size_t first_mark(const fr_api_answer *a, const char *text, size_t n, found *f) {
    f->is = FR_BEGINS_NOT;
    for (size_t at = 0; at < n && a->forms; at++) {
        if (text[at] != '<' && text[at] != '[') continue; // all marks begin so (forms.h)
        *f = mark_at(a, text + at, n - at, 0, false);
        if (f->is != FR_BEGINS_NOT) return at;
    }
    return n;
}

static bool say(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const size_t n = fr_answer_left(a);
    found f;
    const size_t at = first_mark(a, fr_answer_held(a), n, &f);
    *st = fr_answer_move(a, &a->content, f.is != FR_BEGINS && last ? n : at, err);
    if (*st || f.is != FR_BEGINS) return false;
    begin_call(a, &f, 0);
    return true;
}

// ---------------------------------------------------------------- calls

// Whether failed readings have looked at the text so often that the rest of it is no call: the work
// grows with the text alone. It depends on whole readings, so not on how the text comes.
static bool is_tried_enough(const fr_api_answer *a) {
    enum { OFTEN = 4 };
    return a->scanned > OFTEN * a->furthest;
}

fr_call_verdict fr_answer_scan(fr_api_answer *a, bool last) {
    fr_call_scan *s = &a->scan;
    const char *text = fr_answer_held(a);
    const size_t before = s->steps;
    if (!before && is_tried_enough(a)) return FR_CALL_NOT;
    fr_call_verdict is = fr_call_scan_read(s, text, fr_answer_left(a), last);
    a->scanned += s->steps - before;
    a->no_memory |= s->no_memory;
    if (is == FR_CALL_MAYBE) return is;
    if (a->read + s->at > a->furthest) a->furthest = a->read + s->at;
    a->cut |= s->cut;
    if (s->form->body & FR_BODY_ARGUMENTS) return is;
    if (is == FR_CALL_WHOLE && fr_answer_take_calls(a, text, last)) return is;
    const size_t to = is == FR_CALL_WHOLE ? s->next : s->quoted;
    if (to > a->refused) a->refused = to;
    return FR_CALL_NOT;
}

static bool is_no_call(fr_api_answer *a, fr_error *err, fr_status *st) {
    const fr_call_scan *s = &a->scan;
    // What its values quote is text.
    const size_t to = a->refused > s->head ? a->refused : s->head, n = to - s->space;
    if (a->trims)
        fr_answer_drop(a, s->space);
    else
        *st = fr_answer_move(a, &a->content, s->space, err);
    if (!*st) *st = fr_answer_move(a, &a->content, n, err);
    a->stage = FR_API_SAYS; // where the next mark counts
    if (a->cut) a->forms = 0;
    a->trims = false;
    a->refused = 0;
    return !*st;
}

static bool call_tool(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const fr_call_scan *s = &a->scan;
    const fr_call_verdict is = fr_answer_scan(a, last);
    if (is == FR_CALL_MAYBE) return false;
    if (is == FR_CALL_WHOLE) {
        if (!a->closes || a->around) a->closes = s->form->around[1];
        fr_answer_drop(a, s->next);
        a->stage = FR_API_BEGINS; // another call may follow
        a->trims = true;
        a->cut = false;
        a->refused = 0;
        return true;
    }
    // Another form may have the same mark.
    const size_t space = s->space;
    const found f =
        mark_at(a, fr_answer_held(a) + space, fr_answer_left(a) - space, a->row + 1, true);
    if (f.is != FR_BEGINS) return is_no_call(a, err, st);
    begin_call(a, &f, space);
    return true;
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
    while (!st && fr_answer_left(a) && read[a->stage](a, last, err, &st)) {
    }
    if (!st && a->no_memory) st = fr_fail(err, FR_ENOMEM, "no memory for a call of a tool");
    if (a->done) memmove(a->held.data, fr_answer_held(a), fr_answer_left(a));
    a->held.n -= a->done;
    a->done = 0;
    return st;
}

fr_status fr_api_answer_push(fr_api_answer *a, const char *text, size_t bytes, fr_error *err) {
    const fr_status st = bytes ? fr_buffer_add(&a->held, text, bytes, err) : FR_OK;
    return st ? st : read_held(a, false, err);
}

fr_status fr_api_answer_finish(fr_api_answer *a, fr_error *err) {
    return read_held(a, true, err);
}
