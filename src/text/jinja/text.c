// text.c — text that grows, with its marks; strings made of it.
#define _GNU_SOURCE // memmem
#include "text/jinja/run.h"

static bool make_room(writer *t, size_t more) {
    if (!fr_jinja_work(t->r, more)) return false;
    if (more <= t->cap - t->n) return true;
    const size_t cap = t->n + more > 2 * t->cap ? t->n + more + 16 : 2 * t->cap;
    char *data = fr_jinja_grow(&t->r->mem, t->data, t->cap, cap);
    uint8_t *marks = data && t->marks ? fr_jinja_grow(&t->r->mem, t->marks, t->cap, cap) : NULL;
    if (!data || (t->marks && !marks)) {
        fr_jinja_no_memory(t->r, cap);
        return false;
    }
    t->data = data;
    t->marks = marks;
    t->cap = cap;
    return true;
}

// From now on every byte has a mark of its own.
static bool split_marks(writer *t) {
    if (t->marks) return true;
    if (!(t->marks = fr_jinja_alloc(t->r, t->cap))) return false;
    memset(t->marks, t->mark, t->n);
    return true;
}

void fr_jinja_put_bytes(writer *t, const char *bytes, size_t n, fr_mark mark) {
    if (!n || !make_room(t, n)) return;
    if (!t->n && !t->marks) t->mark = (uint8_t)mark;
    if (t->mark != mark && !split_marks(t)) return;
    memcpy(t->data + t->n, bytes, n);
    if (t->marks) memset(t->marks + t->n, mark, n);
    t->n += n;
}

void fr_jinja_put_text(writer *t, const char *s, fr_mark mark) {
    fr_jinja_put_bytes(t, s, strlen(s), mark);
}

void fr_jinja_put_part(writer *t, const str *s, size_t from, size_t to) {
    if (from >= to) return;
    if (!s->marks) {
        fr_jinja_put_bytes(t, s->data + from, to - from, s->mark);
        return;
    }
    if (!make_room(t, to - from) || !split_marks(t)) return;
    memcpy(t->data + t->n, s->data + from, to - from);
    memcpy(t->marks + t->n, s->marks + from, to - from);
    t->n += to - from;
}

void fr_jinja_put_str(writer *t, const str *s) {
    fr_jinja_put_part(t, s, 0, s->n);
}

str fr_jinja_text_str(const writer *t) {
    return (str){.data = t->data ? t->data : "", .n = t->n, .marks = t->marks, .mark = t->mark};
}

value fr_jinja_text_value(writer *t) {
    return fr_jinja_make_str(t->r, fr_jinja_text_str(t));
}

value fr_jinja_str_value(memory *m, str s) {
    str *copy = fr_jinja_take(m, sizeof *copy);
    if (!copy) return MISSING;
    *copy = s;
    return make_ref(J_STR, copy);
}

value fr_jinja_make_str(run *r, str s) {
    str *copy = fr_jinja_alloc(r, sizeof *copy);
    if (!copy) return UNDEFINED;
    *copy = s;
    return make_ref(J_STR, copy);
}

value fr_jinja_make_text(run *r, const char *s) {
    writer t = {.r = r};
    fr_jinja_put_text(&t, s, FR_MARK_TEMPLATE);
    return fr_jinja_text_value(&t);
}

// ---- a + b

enum { TAIL_FROM = 256 };

// Appends b to a, in the memory in which a ends.
static bool add_to_tail(run *r, const str *a, const str *b, str *out) {
    tail_room *t = a->tail;
    if (!t || a->data + a->n != t->data + t->used || b->n > t->cap - t->used) return false;
    const bool same = !b->marks && !t->marks && b->mark == a->mark;
    if (!same && !t->marks) {
        if (!(t->marks = fr_jinja_alloc(r, t->cap))) return false;
        memset(t->marks, a->mark, t->used);
    }
    memcpy(t->data + t->used, b->data, b->n);
    if (t->marks && b->marks) memcpy(t->marks + t->used, b->marks, b->n);
    if (t->marks && !b->marks) memset(t->marks + t->used, b->mark, b->n);
    t->used += b->n;
    *out = *a;
    out->n += b->n;
    out->marks = t->marks ? t->marks + (a->data - t->data) : NULL;
    return true;
}

value fr_jinja_concat(run *r, const str *a, const str *b) {
    str s = {0};
    if (!fr_jinja_work(r, b->n)) return UNDEFINED;
    if (!b->n)
        s = *a;
    else if (!a->n)
        s = *b;
    else if (!add_to_tail(r, a, b, &s)) {
        writer t = {.r = r};
        const size_t n = a->n + b->n;
        if (n >= TAIL_FROM) make_room(&t, 2 * n);
        fr_jinja_put_str(&t, a);
        fr_jinja_put_str(&t, b);
        s = fr_jinja_text_str(&t);
        if (n >= TAIL_FROM && !r->status && (s.tail = fr_jinja_alloc(r, sizeof *s.tail)))
            *s.tail = (tail_room){t.data, t.marks, t.n, t.cap};
    }
    s.markup = false;
    return fr_jinja_make_str(r, s);
}

// ---- output

static void output_run(run *r, const char *data, size_t n, fr_mark mark) {
    if (r->result->text.n + n > FR_JINJA_MAX_OUTPUT)
        fr_jinja_fail(r, "it writes more than %d MiB", FR_JINJA_MAX_OUTPUT >> 20);
    else if (!r->status)
        r->status = fr_marked_add(r->result, data, n, mark, r->err);
}

void fr_jinja_output(run *r, const str *s) {
    if (r->out) {
        fr_jinja_put_str(r->out, s);
        return;
    }
    if (!fr_jinja_work(r, s->n)) return;
    if (!s->marks) {
        output_run(r, s->data, s->n, s->mark);
        return;
    }
    for (size_t at = 0, end; at < s->n && !r->status; at = end) {
        for (end = at + 1; end < s->n && s->marks[end] == s->marks[at];)
            end++;
        output_run(r, s->data + at, end - at, s->marks[at]);
    }
}

// ---- characters

size_t fr_jinja_length(const str *s) {
    size_t n = 0;
    uint32_t code;
    for (size_t at = 0; at < s->n; n++)
        at += fr_jinja_char_read(s->data + at, s->n - at, &code);
    return n;
}

size_t fr_jinja_offset(const str *s, size_t characters) {
    size_t at = 0;
    uint32_t code;
    for (; characters && at < s->n; characters--)
        at += fr_jinja_char_read(s->data + at, s->n - at, &code);
    return at;
}

size_t fr_jinja_find(const str *in, const str *what, size_t from) {
    if (from > in->n || what->n > in->n - from) return SIZE_MAX;
    const char *found = memmem(in->data + from, in->n - from, what->data, what->n);
    return found ? (size_t)(found - in->data) : SIZE_MAX;
}

static bool is_among(uint32_t code, const char *s, size_t n, const str *chars) {
    if (!chars) return code != UINT32_MAX && fr_jinja_char_is_space(code);
    uint32_t other;
    for (size_t at = 0, bytes; at < chars->n; at += bytes) {
        bytes = fr_jinja_char_read(chars->data + at, chars->n - at, &other);
        if (bytes == n && !memcmp(chars->data + at, s, n)) return true;
    }
    return false;
}

str fr_jinja_strip(const str *s, const str *chars, bool left, bool right) {
    size_t from = 0, to = 0;
    bool leading = left;
    uint32_t code;
    for (size_t at = 0, bytes; at < s->n; at += bytes) {
        bytes = fr_jinja_char_read(s->data + at, s->n - at, &code);
        const bool strips = is_among(code, s->data + at, bytes, chars);
        leading = leading && strips;
        if (leading) from = at + bytes;
        if (!strips) to = at + bytes;
    }
    if (!right) to = s->n;
    return str_part(s, from, to > from ? to : from);
}

// A sigma after letters, at the end of a word, has another lower-case form.
bool fr_jinja_is_final_sigma(const str *s, size_t at) {
    bool cased = false;
    uint32_t code;
    for (size_t end = at, i; end; end = i) { // backwards, to the first that counts
        for (i = end - 1; i && ((unsigned char)s->data[i] & 0xC0) == 0x80;)
            i--;
        fr_jinja_char_read(s->data + i, end - i, &code);
        if (code != UINT32_MAX && fr_jinja_char_is_ignorable(code)) continue;
        cased = code != UINT32_MAX && fr_jinja_char_properties(code) & (CHAR_LOWER | CHAR_UPPER);
        break;
    }
    for (size_t i = at + 2, bytes; cased && i < s->n; i += bytes) {
        bytes = fr_jinja_char_read(s->data + i, s->n - i, &code);
        if (code != UINT32_MAX && fr_jinja_char_is_ignorable(code)) continue;
        return !(code != UINT32_MAX && fr_jinja_char_properties(code) & (CHAR_LOWER | CHAR_UPPER));
    }
    return cased;
}

str fr_jinja_cased(run *r, const str *s, char_case to) {
    writer t = {.r = r};
    char out[CHAR_CASE_MAX];
    uint32_t code;
    for (size_t at = 0, bytes; at < s->n && !r->status; at += bytes) {
        bytes = fr_jinja_char_read(s->data + at, s->n - at, &code);
        const fr_mark mark = s->marks ? s->marks[at] : s->mark;
        if (code == 0x3A3 && to == CASE_LOWER && fr_jinja_is_final_sigma(s, at))
            fr_jinja_put_text(&t, "ς", mark);
        else if (code == UINT32_MAX)
            fr_jinja_put_part(&t, s, at, at + bytes);
        else
            fr_jinja_put_bytes(&t, out, fr_jinja_char_case(code, to, out), mark);
    }
    str done = fr_jinja_text_str(&t);
    done.markup = s->markup;
    return done;
}
