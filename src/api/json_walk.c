// json_walk.c — a state for each place in the grammar of RFC 8259, and a bit for each open level.
#include "api/json_walk.h"
#include "api/marks.h"
#include <string.h>

enum {
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
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static fr_walked go(fr_json_walk *w, int state) {
    w->state = (uint8_t)state;
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
    go(w, w->in_key ? COLON : AFTER);
    return w->in_key ? FR_WALKED_KEY : FR_WALKED_TEXT;
}

static fr_walked in_escape(fr_json_walk *w, char c) {
    if (c == 'u') {
        w->left = 4;
        return go(w, HEX);
    }
    return c && strchr("\"\\/bfnrt", c) ? go(w, STRING) : FR_WALKED_WRONG;
}

// `more`: the state that the byte leads to within the number; -1: none. A number that may end here does
// so before any other byte.
static fr_walked in_number(fr_json_walk *w, char c) {
    const bool e = c == 'e' || c == 'E';
    int more = -1;
    switch (w->state) {
    case MINUS:
        more = c == '0' ? ZERO : is_digit(c) ? DIGITS : -1;
        return more < 0 ? FR_WALKED_WRONG : go(w, more);
    case POINT:
        return is_digit(c) ? go(w, FRACTION) : FR_WALKED_WRONG;
    case EXPONENT:
        if (c == '+' || c == '-') return go(w, SIGN);
        return is_digit(c) ? go(w, POWER) : FR_WALKED_WRONG;
    case SIGN:
        return is_digit(c) ? go(w, POWER) : FR_WALKED_WRONG;
    case ZERO:
    case DIGITS:
        more = c == '.' ? POINT : e ? EXPONENT : is_digit(c) && w->state == DIGITS ? DIGITS : -1;
        break;
    case FRACTION:
        more = e ? EXPONENT : is_digit(c) ? FRACTION : -1;
        break;
    default: // POWER
        more = is_digit(c) ? POWER : -1;
    }
    return more < 0 ? after_value(w, c) : go(w, more);
}

// Where a value or a key is expected.
static fr_walked in_between(fr_json_walk *w, char c) {
    if (fr_is_blank(c)) return w->state == BEGIN ? FR_WALKED_WRONG : FR_WALKED;
    switch (w->state) {
    case BEGIN:
        return c == '{' || c == '[' ? open_level(w, c == '[') : FR_WALKED_WRONG;
    case FIRST_ITEM:
        if (c == ']') return close_level(w);
        return begin_value(w, c);
    case VALUE:
        return begin_value(w, c);
    case COLON:
        return c == ':' ? go(w, VALUE) : FR_WALKED_WRONG;
    case FIRST_KEY:
        if (c == '}') return close_level(w);
        break;
    default: // KEY
        break;
    }
    if (c != '"') return FR_WALKED_WRONG;
    open_string(w, true);
    return FR_WALKED;
}

fr_walked fr_json_walk_step(fr_json_walk *w, char c) {
    w->at++;
    switch (w->state) {
    case BEGIN:
    case VALUE:
    case FIRST_ITEM:
    case FIRST_KEY:
    case KEY:
    case COLON:
        return in_between(w, c);
    case AFTER:
        return after_value(w, c);
    case STRING:
        return in_string(w, c);
    case ESCAPE:
        return in_escape(w, c);
    case HEX:
        if (!is_hex(c)) return FR_WALKED_WRONG;
        return --w->left ? FR_WALKED : go(w, STRING);
    case WORD:
        if (c != *w->word++) return FR_WALKED_WRONG;
        return *w->word ? FR_WALKED : go(w, AFTER);
    default:
        return in_number(w, c);
    }
}
