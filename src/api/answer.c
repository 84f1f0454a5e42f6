// answer.c — held text is read from its beginning to the next mark of the current stage. The
// stage determines where the text goes, and the mark begins another stage.
#include "api/answer.h"
#include "api/answer_parts.h"
#include "api/marks.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char THINK[] = "<think>", END_THINK[] = "</think>", CALL[] = MARK_CALL,
                  FENCE[] = "```json", MISTRAL[] = "[TOOL_CALLS]";

const char *const fr_api_marks[] = {THINK,      END_THINK, MARK_CHANNEL,    MARK_MESSAGE,
                                    MARK_START, MARK_END,  "<|constrain|>", NULL};
const char *const fr_api_call_marks[] = {CALL,      MARK_END_CALL, MISTRAL, MARK_CALL_ID,
                                         MARK_ARGS, MARK_PYTHON,   NULL};

// Calls whose marks may be anywhere in the content.
static const struct {
    fr_api_form form;
    const char *mark;
} CALLS[] = {{FR_API_MARKED, CALL}, {FR_API_MISTRAL, MISTRAL}, {FR_API_TAGGED, MARK_PYTHON}};
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
                         .stage = says(chat_template, MARK_CHANNEL) ? FR_API_HEAD
                                  : thinks && open                  ? FR_API_THINKS
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

static bool is_looked_for(const fr_api_answer *a, int i) {
    return a->tools && !(a->json_calls && CALLS[i].form == FR_API_MARKED);
}

// Whether the text begins with a call, or may do so. *form: its form; *mark: the bytes of its mark.
static fr_begins call_at(const fr_api_answer *a, const char *text, size_t n, fr_api_form *form,
                         size_t *mark) {
    fr_begins found = FR_BEGINS_NOT;
    if (!a->tools) return found;
    *mark = 0;
    *form = a->json_calls ? FR_API_ALONE : FR_API_BARE;
    if (n && *text == '{') return FR_BEGINS;
    for (int i = 0; i <= N_CALLS; i++) {
        const char *its = i < N_CALLS ? CALLS[i].mark : FENCE;
        if (i < N_CALLS && !is_looked_for(a, i)) continue;
        const fr_begins is = fr_begins_with(text, n, its);
        if (is > found) found = is;
        if (is != FR_BEGINS) continue;
        *form = i < N_CALLS ? CALLS[i].form : FR_API_FENCED;
        *mark = strlen(its);
    }
    return found;
}

static void begin_call(fr_api_answer *a, fr_api_form form, size_t space, size_t mark) {
    fr_call_scan_begin(&a->scan, form, a->offered, space, mark);
    a->stage = FR_API_CALLS_TOOL;
}

static bool begin(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const char *text = fr_answer_held(a);
    const size_t n = fr_answer_left(a), space = a->blank + fr_blank(text + a->blank, n - a->blank);
    const fr_begins think =
        a->thinks ? fr_begins_with(text + space, n - space, THINK) : FR_BEGINS_NOT;
    fr_api_form form;
    size_t mark;
    const fr_begins call = call_at(a, text + space, n - space, &form, &mark);
    (void)err, (void)st;
    a->blank = space;
    if (think == FR_BEGINS) {
        fr_answer_think(a);
        fr_answer_drop(a, space + strlen(THINK));
        a->stage = FR_API_THINKS;
        return true;
    }
    if (!last && (space == n || think == FR_BEGINS_MAYBE || call == FR_BEGINS_MAYBE)) return false;
    if (call == FR_BEGINS) {
        begin_call(a, form, space, mark);
        return true;
    }
    if (a->trims) fr_answer_drop(a, space);
    a->stage = FR_API_SAYS;
    a->trims = false;
    return true;
}

static bool think(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const char *text = fr_answer_held(a);
    const size_t n = fr_answer_left(a), end = fr_find_mark(text, n, END_THINK);
    if (end == n) {
        const size_t keep = last ? 0 : fr_begun_mark(text, n, END_THINK);
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

// The offset of the first call's mark, which is CALLS[*which]; *which -1: of a beginning of a mark
// at the end of the text. n: there is none.
static size_t first_mark(const fr_api_answer *a, const char *text, size_t n, int *which) {
    *which = -1;
    for (size_t at = 0; at < n && a->tools; at++) {
        if (text[at] != *CALL && text[at] != *MISTRAL) continue;
        bool may = false;
        for (int i = 0; i < N_CALLS; i++) {
            const fr_begins is = is_looked_for(a, i)
                                     ? fr_begins_with(text + at, n - at, CALLS[i].mark)
                                     : FR_BEGINS_NOT;
            if (is == FR_BEGINS) *which = i;
            may |= is != FR_BEGINS_NOT;
        }
        if (may) return at;
    }
    return n;
}

static bool say(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const size_t n = fr_answer_left(a);
    int which;
    const size_t at = first_mark(a, fr_answer_held(a), n, &which);
    *st = fr_answer_move(a, &a->content, which < 0 && last ? n : at, err);
    if (*st || which < 0) return false;
    begin_call(a, CALLS[which].form, 0, strlen(CALLS[which].mark));
    return true;
}

// ---------------------------------------------------------------- calls

fr_call_verdict fr_answer_scan(fr_api_answer *a, bool last) {
    fr_call_scan *s = &a->scan;
    const char *text = fr_answer_held(a);
    const size_t before = s->at;
    const fr_call_verdict is = fr_call_scan_read(s, text, fr_answer_left(a), last);
    a->scanned += s->at - before;
    a->no_memory |= s->no_memory;
    if (is != FR_CALL_WHOLE || s->form == FR_API_HARMONY) return is;
    return fr_answer_take_calls(a, text + s->head, s->end - s->head) ? is : FR_CALL_NOT;
}

static bool call_tool(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const fr_call_verdict is = fr_answer_scan(a, last);
    if (is == FR_CALL_MAYBE) return false;
    if (is == FR_CALL_WHOLE) {
        fr_answer_drop(a, a->scan.next);
        a->stage = FR_API_BEGINS; // another call may follow
        a->trims = true;
        return true;
    }
    const size_t mark = a->scan.head - a->scan.space;
    if (a->trims)
        fr_answer_drop(a, a->scan.space);
    else
        *st = fr_answer_move(a, &a->content, a->scan.space, err);
    if (!*st) *st = fr_answer_move(a, &a->content, mark, err);
    a->stage = FR_API_SAYS; // where the next mark counts
    a->trims = false;
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
