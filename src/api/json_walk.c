// json_walk.c — a state for each place in the grammar of RFC 8259, and a bit for each open level.
#include "api/json_walk.h"
#include "api/marks.h"
#include <string.h>

typedef enum state {
    BEGIN, // of the whole
    VALUE,
    FIRST_ITEM, // or the list's end
    FIRST_KEY,  // or the object's end
    KEY,
    COLON,
    AFTER, // a value
    STRING,
    ESCAPE,
    HEX,
    WORD,
    MINUS,
    ZERO,
    DIGITS,
    POINT,
    FRACTION,
    EXPONENT,
    SIGN,
    POWER,
} state;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static fr_walked go(fr_json_walk *w, state next) {
    w->state = (uint8_t)next;
    return FR_WALKED;
}

static bool in_list(const fr_json_walk *w) {
    const int level = w->depth - 1;
    return w->lists[level / 64] >> (level % 64) & 1;
}

static fr_walked open_level(fr_json_walk *w, bool list) {
    if (w->depth == FR_JSON_MAX_NESTING) return FR_WALKED_WRONG;
    const uint64_t bit = 1ull << (w->depth % 64);
    uint64_t *lists = &w->lists[w->depth++ / 64];
    *lists = list ? *lists | bit : *lists & ~bit;
    go(w, list ? FIRST_ITEM : FIRST_KEY);
    return FR_WALKED_BEGIN;
}

static fr_walked close_level(fr_json_walk *w) {
    go(w, AFTER);
    return --w->depth ? FR_WALKED : FR_WALKED_ALL;
}

static void open_string(fr_json_walk *w, bool key) {
    w->in_key = key;
    w->spoiled = false;
    w->from = w->at - 1;
    go(w, STRING);
}

static fr_walked begin_value(fr_json_walk *w, char c) {
    static const char *const words[] = {"true", "false", "null"};
    if (c == '{' || c == '[') return open_level(w, c == '[');
    if (c == '"') {
        open_string(w, false);
        return FR_WALKED_BEGIN;
    }
    if (c == '-' || is_digit(c)) {
        go(w, c == '-' ? MINUS : c == '0' ? ZERO : DIGITS);
        return FR_WALKED_BEGIN;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (c == *words[i]) {
            w->word = words[i] + 1;
            go(w, WORD);
            return FR_WALKED_BEGIN;
        }
    return FR_WALKED_WRONG;
}

static fr_walked after_value(fr_json_walk *w, char c) {
    if (fr_is_blank(c)) return go(w, AFTER);
    if (c == ',') return go(w, in_list(w) ? VALUE : KEY);
    return c == (in_list(w) ? ']' : '}') ? close_level(w) : FR_WALKED_WRONG;
}

static fr_walked in_string(fr_json_walk *w, char c) {
    if (c == '\\') return go(w, ESCAPE);
    if (c != '"') return FR_WALKED;
    if (w->spoiled) return FR_WALKED_WRONG;
    go(w, w->in_key ? COLON : AFTER);
    return w->in_key ? FR_WALKED_KEY : FR_WALKED_TEXT;
}

static fr_walked in_escape(fr_json_walk *w, char c) {
    if (c == 'u') {
        w->left = 4;
        return go(w, HEX);
    }
    if (!c || !strchr("\"\\/bfnrt", c)) w->spoiled = true;
    return go(w, STRING);
}

// A quote among the digits ends the string.
static fr_walked in_hex(fr_json_walk *w, char c) {
    if (is_hex(c)) return --w->left ? FR_WALKED : go(w, STRING);
    w->spoiled = true;
    go(w, STRING);
    return in_string(w, c);
}

static fr_walked key_or_wrong(fr_json_walk *w, char c) {
    if (fr_is_blank(c)) return FR_WALKED;
    if (c != '"') return FR_WALKED_WRONG;
    open_string(w, true);
    return FR_WALKED;
}

// `more`: the state that the byte leads to within the number; -1: none. A number that may end here
// does so before any other byte.
static fr_walked number_or_wrong(fr_json_walk *w, int more) {
    return more < 0 ? FR_WALKED_WRONG : go(w, (state)more);
}
static fr_walked number_or_end(fr_json_walk *w, char c, int more) {
    return more < 0 ? after_value(w, c) : go(w, (state)more);
}

fr_walked fr_json_walk_step(fr_json_walk *w, char c) {
    const bool digit = is_digit(c), e = c == 'e' || c == 'E';
    w->at++;
    switch ((state)w->state) {
    case BEGIN:
        return c == '{' || c == '[' ? open_level(w, c == '[') : FR_WALKED_WRONG;
    case VALUE:
        return fr_is_blank(c) ? FR_WALKED : begin_value(w, c);
    case FIRST_ITEM:
        if (c == ']') return close_level(w);
        return fr_is_blank(c) ? FR_WALKED : begin_value(w, c);
    case FIRST_KEY:
        return c == '}' ? close_level(w) : key_or_wrong(w, c);
    case KEY:
        return key_or_wrong(w, c);
    case COLON:
        if (c == ':') return go(w, VALUE);
        return fr_is_blank(c) ? FR_WALKED : FR_WALKED_WRONG;
    case AFTER:
        return after_value(w, c);
    case STRING:
        return in_string(w, c);
    case ESCAPE:
        return in_escape(w, c);
    case HEX:
        return in_hex(w, c);
    case WORD:
        if (c != *w->word++) return FR_WALKED_WRONG;
        return *w->word ? FR_WALKED : go(w, AFTER);
    case MINUS:
        return number_or_wrong(w, c == '0' ? ZERO : digit ? DIGITS : -1);
    case ZERO:
        return number_or_end(w, c, c == '.' ? POINT : e ? EXPONENT : -1);
    case DIGITS:
        return number_or_end(w, c, c == '.' ? POINT : e ? EXPONENT : digit ? DIGITS : -1);
    case POINT:
        return number_or_wrong(w, digit ? FRACTION : -1);
    case FRACTION:
        return number_or_end(w, c, e ? EXPONENT : digit ? FRACTION : -1);
    case EXPONENT:
        return number_or_wrong(w, c == '+' || c == '-' ? SIGN : digit ? POWER : -1);
    case SIGN:
        return number_or_wrong(w, digit ? POWER : -1);
    case POWER:
        return number_or_end(w, c, digit ? POWER : -1);
    }
    return FR_WALKED_WRONG;
}
