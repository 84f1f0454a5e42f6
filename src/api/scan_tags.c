// scan_tags.c — calls whose name, keys and values are between tags. A value ends at its end tag in
// front of the next key or the call's end, so that it may contain any other tags.
#include "api/marks.h"
#include "api/scan_parts.h"
#include "api/take.h"
#include <string.h>

static fr_call_verdict read_to(fr_call_scan *s, const char *text, const char *tag,
                               fr_scan_place within, fr_scan_place then) {
    const fr_begins is = fr_begins_with(text + s->from, s->at - s->from, tag);
    if (is == FR_BEGINS_NOT) return FR_CALL_NOT;
    if (is == FR_BEGINS_MAYBE) return fr_scan_go(s, within);
    s->from = s->value = s->at;
    return fr_scan_go(s, then);
}

// ---------------------------------------------------------------- names and keys

static fr_call_verdict at_tag(fr_call_scan *s, const char *text);

static fr_call_verdict end_name(fr_call_scan *s, const char *text, char c) {
    const fr_call_tags *tags = &s->form->tags;
    if (s->at - 1 == s->from) return FR_CALL_NOT;
    if (s->taker) fr_take_name(s->taker, text + s->from, s->at - 1 - s->from);
    s->from = s->at - 1;
    if (*tags->name_end) return read_to(s, text, tags->name_end, FR_AT_TAGS_NAME_END, FR_AT_TAGS);
    return fr_is_blank(c) ? fr_scan_go(s, FR_AT_TAGS) : at_tag(s, text);
}

static fr_call_verdict at_name(fr_call_scan *s, const char *text, char c) {
    const char *end = s->form->tags.name_end;
    if (*end ? c == *end : s->at - 1 > s->from && (fr_is_blank(c) || c == '<'))
        return end_name(s, text, c);
    if (fr_is_blank(c) && s->at - 1 == s->from) {
        s->from = s->at;
        return FR_CALL_MAYBE;
    }
    return fr_is_call_name(&c, 1) && s->at - s->from <= FR_MOST_NAME ? FR_CALL_MAYBE : FR_CALL_NOT;
}

// The end of a key, which may say whether the value is JSON.
static fr_call_verdict at_key_end(fr_call_scan *s, const char *text) {
    const fr_call_tags *tags = &s->form->tags;
    const fr_scan_place then = *tags->value ? FR_AT_TAGS_VALUE_MARK : FR_AT_TAGS_VALUE;
    s->says = tags->json_end ? FR_SAYS_TEXT : FR_SAYS_NOTHING;
    fr_call_verdict is = read_to(s, text, tags->key_end, FR_AT_TAGS_KEY_END, then);
    if (is == FR_CALL_NOT && tags->json_end) {
        s->says = FR_SAYS_JSON;
        is = read_to(s, text, tags->json_end, FR_AT_TAGS_KEY_END, then);
    }
    if (s->place == then) s->quoted = s->at;
    return is;
}

static fr_call_verdict at_key(fr_call_scan *s, const char *text, char c) {
    const size_t n = s->at - 1 - s->from;
    if (c != *s->form->tags.key_end)
        return n < FR_MOST_NAME && (unsigned char)c >= ' ' ? FR_CALL_MAYBE : FR_CALL_NOT;
    if (!n) return FR_CALL_NOT;
    if (s->taker) fr_take_key(s->taker, text + s->from, n);
    s->from = s->at - 1;
    return at_key_end(s, text);
}

static fr_call_verdict at_value_mark(fr_call_scan *s, const char *text, char c) {
    if (s->at - 1 == s->from && fr_is_blank(c)) {
        s->from = s->at;
        return FR_CALL_MAYBE;
    }
    return read_to(s, text, s->form->tags.value, FR_AT_TAGS_VALUE_MARK, FR_AT_TAGS_VALUE);
}

// ---------------------------------------------------------------- values

static fr_call_verdict in_value(fr_call_scan *s, char c) {
    if (c != *s->form->tags.value_end) return FR_CALL_MAYBE;
    s->from = s->at - 1;
    return fr_scan_go(s, FR_AT_TAGS_VALUE_END);
}

static fr_call_verdict at_value_end(fr_call_scan *s, const char *text, char c) {
    switch (fr_begins_with(text + s->from, s->at - s->from, s->form->tags.value_end)) {
    case FR_BEGINS_MAYBE:
        return FR_CALL_MAYBE;
    case FR_BEGINS:
        s->value_to = s->from;
        return fr_scan_go(s, FR_AT_TAGS_AFTER);
    case FR_BEGINS_NOT:
        break;
    }
    fr_scan_go(s, FR_AT_TAGS_VALUE);
    return in_value(s, c);
}

static void take_value(const fr_call_scan *s, const char *text) {
    size_t from = s->value, to = s->value_to;
    if (!s->taker) return;
    if (s->form->tags.lines && from < to && text[from] == '\n') from++;
    if (s->form->tags.lines && from < to && text[to - 1] == '\n') to--;
    fr_take_value(s->taker, text + from, to - from, s->says);
}

// The tag at s->from: a key's, or one that ends the call.
static fr_call_verdict read_tag(fr_call_scan *s, const char *text, bool *key) {
    const fr_begins is = fr_begins_with(text + s->from, s->at - s->from, s->form->tags.key);
    bool may = is == FR_BEGINS_MAYBE;
    *key = is == FR_BEGINS;
    return *key ? FR_CALL_MAYBE : fr_scan_end_mark(s, text, &may);
}

static fr_call_verdict at_tag(fr_call_scan *s, const char *text) {
    bool key;
    s->place = FR_AT_TAG;
    const fr_call_verdict is = read_tag(s, text, &key);
    if (is == FR_CALL_WHOLE && s->taker) fr_take_end(s->taker);
    if (!key) return is;
    s->from = s->at;
    return fr_scan_go(s, FR_AT_TAGS_KEY);
}

static fr_call_verdict after_value(fr_call_scan *s, const char *text) {
    bool key;
    s->place = FR_AT_TAGS_AFTER_TAG;
    const fr_call_verdict is = read_tag(s, text, &key);
    if (is == FR_CALL_NOT) { // it was part of the value
        s->at = s->value_to + strlen(s->form->tags.value_end);
        return fr_scan_go(s, FR_AT_TAGS_VALUE);
    }
    if (is == FR_CALL_WHOLE || key) take_value(s, text);
    if (key) s->quoted = s->at;
    if (is == FR_CALL_WHOLE && s->taker) fr_take_end(s->taker);
    if (!key) return is;
    s->from = s->at;
    return fr_scan_go(s, FR_AT_TAGS_KEY);
}

bool fr_scan_tag_ends(const fr_call_scan *s, const char *text) {
    if (s->place != FR_AT_TAG) return false; // after a value, part of a mark may belong to that
    if (fr_begins_with(text + s->from, s->at - s->from, s->form->tags.key) != FR_BEGINS_NOT)
        return false;
    if (s->taker) fr_take_end(s->taker);
    return true;
}

// ---------------------------------------------------------------- all

fr_call_verdict fr_scan_tags(fr_call_scan *s, const char *text, char c) {
    const fr_scan_place at = (fr_scan_place)s->place;
    if (at == FR_AT_TAGS_NAME) return at_name(s, text, c);
    if (at == FR_AT_TAGS_NAME_END)
        return read_to(s, text, s->form->tags.name_end, FR_AT_TAGS_NAME_END, FR_AT_TAGS);
    if (at == FR_AT_TAGS_KEY) return at_key(s, text, c);
    if (at == FR_AT_TAGS_KEY_END) return at_key_end(s, text);
    if (at == FR_AT_TAGS_VALUE_MARK) return at_value_mark(s, text, c);
    if (at == FR_AT_TAGS_VALUE) return in_value(s, c);
    if (at == FR_AT_TAGS_VALUE_END) return at_value_end(s, text, c);
    if (at == FR_AT_TAG) return at_tag(s, text);
    if (at == FR_AT_TAGS_AFTER_TAG) return after_value(s, text);
    if (fr_is_blank(c)) return FR_CALL_MAYBE;
    s->from = s->at - 1;
    return at == FR_AT_TAGS ? at_tag(s, text) : after_value(s, text);
}
