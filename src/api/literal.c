// literal.c — a state for each place in the grammar. The same steps find the end of a value, without
// *out, and write it as JSON, which is parsed later: numbers and escapes are checked there.
#include "api/literal.h"
#include "api/call_scan.h"
#include "api/marks.h"
#include <ctype.h>
#include <string.h>

enum { MOST_KEY = 256, MOST_WORD = 512 };

typedef enum state {
    BEGIN, // of the whole
    VALUE, // or the end of its list
    KEY,   // or the end of its object
    BARE,  // a key without quotes
    AFTER_KEY,
    AFTER, // a value
    TEXT,
    ESCAPE,
    OPENING, // MARK_QUOTE
    CLOSING,
    CLOSED, // after a ' that may be part of the string
    WORD,
} state;

static fr_walked go(fr_literal_walk *w, state next) {
    w->state = (uint8_t)next;
    return FR_WALKED;
}

// ---------------------------------------------------------------- writing

static void put(fr_literal_walk *w, const char *text, size_t n) {
    if (w->out && fr_buffer_add(w->out, text, n, NULL)) w->no_memory = true;
}

static void put_byte(fr_literal_walk *w, char c) {
    put(w, &c, 1);
}

static void put_comma(fr_literal_walk *w) {
    if (w->comma) put_byte(w, ',');
    w->comma = false;
}

// A byte of a string without escapes.
static void put_raw(fr_literal_walk *w, char c) {
    if (c == '"' || c == '\\') put_byte(w, '\\');
    put_byte(w, c);
}

static void mark_place(fr_literal_walk *w) {
    w->from = w->out ? w->out->n : 0;
}

// ---------------------------------------------------------------- brackets

static fr_walked open_bracket(fr_literal_walk *w, char c) {
    if (w->depth == FR_JSON_MAX_NESTING) return FR_WALKED_WRONG;
    put_comma(w);
    put_byte(w, c == '[' ? '[' : '{');
    w->close[w->depth++] = c == '[' ? ']' : c == '{' ? '}' : ')';
    return go(w, c == '[' ? VALUE : KEY);
}

static fr_walked close_bracket(fr_literal_walk *w) {
    w->comma = false; // one at the end is Python's
    put_byte(w, w->close[--w->depth] == ']' ? ']' : '}');
    go(w, AFTER);
    return w->depth ? FR_WALKED : FR_WALKED_ALL;
}

static fr_walked after_value(fr_literal_walk *w, char c) {
    const char close = w->close[w->depth - 1];
    if (fr_is_blank(c)) return go(w, AFTER);
    if (c == close) return close_bracket(w);
    if (c != ',') return FR_WALKED_WRONG;
    w->comma = true;
    return go(w, close == ']' ? VALUE : KEY);
}

// ---------------------------------------------------------------- strings

static fr_walked open_text(fr_literal_walk *w, char quote, bool key) {
    put_comma(w);
    put_byte(w, '"');
    w->quote = quote;
    w->key = key;
    return go(w, TEXT);
}

static fr_walked close_text(fr_literal_walk *w) {
    w->ended = true;
    put_byte(w, '"');
    return go(w, w->key ? AFTER_KEY : AFTER);
}

static bool is_quote(const fr_literal_walk *w, char c) {
    return c == '"' || (c == '\'' && w->style & FR_LITERAL_PYTHON);
}

static bool has_escapes(const fr_literal_walk *w) {
    return w->quote != '<';
}

static fr_walked in_text(fr_literal_walk *w, char c) {
    if (c == '\\' && has_escapes(w)) return go(w, ESCAPE);
    if (c == w->quote && c == '<') {
        w->n = 1;
        return go(w, CLOSING);
    }
    if (c == '\'' && c == w->quote && w->style & FR_LITERAL_APOSTROPHES) {
        mark_place(w);
        put_byte(w, '"');
        return go(w, CLOSED);
    }
    if (c == w->quote) return close_text(w);
    put_raw(w, c);
    return go(w, TEXT);
}

// JSON's escapes, and Python's \' and \x; other backslashes are text.
static fr_walked in_escape(fr_literal_walk *w, char c) {
    if (c == 'x') {
        put(w, "\\u00", 4);
    } else if (c == '\'') {
        put_byte(w, c);
    } else {
        if (!c || !strchr("\"\\/bfnrtu", c)) put(w, "\\", 1);
        put_byte(w, '\\');
        put_byte(w, c);
    }
    return go(w, TEXT);
}

static fr_walked in_opening(fr_literal_walk *w, char c) {
    if (c != MARK_QUOTE[w->n]) return FR_WALKED_WRONG;
    return MARK_QUOTE[++w->n] ? FR_WALKED : open_text(w, '<', w->key);
}

static fr_walked in_closing(fr_literal_walk *w, char c) {
    if (c == MARK_QUOTE[w->n]) return MARK_QUOTE[++w->n] ? FR_WALKED : close_text(w);
    for (size_t i = 0; i < w->n; i++)
        put_raw(w, MARK_QUOTE[i]);
    return in_text(w, c);
}

static fr_walked maybe_closed(fr_literal_walk *w, char c) {
    if (fr_is_blank(c)) {
        put_byte(w, c);
        return FR_WALKED;
    }
    if (c && strchr(w->key ? ":" : ",)]}", c)) {
        w->ended = true;
        if (w->key) {
            put_byte(w, ':');
            return go(w, VALUE);
        }
        return after_value(w, c);
    }
    if (w->out && !w->no_memory) w->out->data[w->from] = '\'';
    return in_text(w, c);
}

// ---------------------------------------------------------------- words

static fr_walked begin_word(fr_literal_walk *w, char c) {
    put_comma(w);
    mark_place(w);
    w->n = 0;
    w->number = c == '-' || isdigit((unsigned char)c);
    put_byte(w, c);
    w->word[w->n++] = c;
    return go(w, WORD);
}

// The JSON of a word that is no number; NULL: it has none.
static const char *json_of(const char *word, size_t n) {
    static const char *const words[][2] = {{"true", "true"}, {"false", "false"}, {"null", "null"},
                                           {"True", "true"}, {"False", "false"}, {"None", "null"},
                                           {"none", "null"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (n == strlen(words[i][0]) && !memcmp(word, words[i][0], n)) return words[i][1];
    return NULL;
}

static bool is_number(const char *word, size_t n) {
    fr_json_walk w = {0};
    fr_walked is = fr_json_walk_step(&w, '[');
    for (size_t i = 0; i < n && is != FR_WALKED_WRONG; i++)
        is = fr_json_walk_step(&w, word[i]);
    return is != FR_WALKED_WRONG && fr_json_walk_step(&w, ']') == FR_WALKED_ALL;
}

// Any word is a value: what is neither a number nor a name of JSON's or Python's is a string.
static void write_bare(fr_literal_walk *w) {
    char word[MOST_WORD];
    if (!w->out || w->no_memory) return;
    const size_t n = fr_trimmed(w->out->data + w->from, w->out->n - w->from);
    memcpy(word, w->out->data + w->from, n);
    w->out->n = w->from;
    const char *json = json_of(word, n);
    if (json) return put(w, json, strlen(json));
    if (is_number(word, n)) return put(w, word, n);
    put_byte(w, '"');
    for (size_t i = 0; i < n; i++)
        put_raw(w, word[i]);
    put_byte(w, '"');
}

// No mark begins in it, nor a value of another kind.
static bool is_bare_value(const fr_literal_walk *w, char c) {
    return w->style & FR_LITERAL_BARE && (unsigned char)c >= ' ' && !strchr("{}[],<\"", c);
}

static fr_walked end_word(fr_literal_walk *w, char c) {
    if (w->style & FR_LITERAL_BARE) {
        write_bare(w);
        return after_value(w, c);
    }
    const char *json = w->n <= sizeof w->word ? json_of(w->word, w->n) : NULL;
    if (!json && !w->number) return FR_WALKED_WRONG;
    if (json && w->out && !w->no_memory) {
        w->out->n = w->from;
        put(w, json, strlen(json));
    }
    return after_value(w, c);
}

static fr_walked in_word(fr_literal_walk *w, char c) {
    const bool word = isalnum((unsigned char)c) || (c && strchr(".+-", c));
    if (!word && !is_bare_value(w, c)) return end_word(w, c);
    w->number &= isdigit((unsigned char)c) || (c && strchr(".+-eE", c));
    if (w->n < sizeof w->word) w->word[w->n] = c;
    put_byte(w, c);
    return ++w->n > MOST_WORD ? FR_WALKED_WRONG : FR_WALKED;
}

// ---------------------------------------------------------------- keys and values

static bool is_bare(const fr_literal_walk *w, char c) {
    if (w->close[w->depth - 1] == ')')
        return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
    return w->style & FR_LITERAL_QUOTES && (unsigned char)c >= ' ' && !strchr("{}[],:<\"", c);
}

static fr_walked at_key(fr_literal_walk *w, char c) {
    const char close = w->close[w->depth - 1];
    if (fr_is_blank(c)) return FR_WALKED;
    if (c == close) return close_bracket(w);
    if (close != ')' && is_quote(w, c)) return open_text(w, c, true);
    w->n = 1;
    if (c == '<' && w->style & FR_LITERAL_QUOTES) {
        w->key = true;
        return go(w, OPENING);
    }
    if (!is_bare(w, c) || (close == ')' && isdigit((unsigned char)c))) return FR_WALKED_WRONG;
    put_comma(w);
    put_byte(w, '"');
    put_raw(w, c);
    return go(w, BARE);
}

static fr_walked after_key(fr_literal_walk *w, char c) {
    if (fr_is_blank(c)) return go(w, AFTER_KEY);
    if (c != (w->close[w->depth - 1] == ')' ? '=' : ':')) return FR_WALKED_WRONG;
    put_byte(w, ':');
    return go(w, VALUE);
}

static fr_walked in_bare(fr_literal_walk *w, char c) {
    if (is_bare(w, c)) {
        put_raw(w, c);
        return ++w->n > MOST_KEY ? FR_WALKED_WRONG : FR_WALKED;
    }
    while (w->out && w->out->n && w->out->data[w->out->n - 1] == ' ')
        w->out->n--;
    put_byte(w, '"');
    return after_key(w, c);
}

static fr_walked at_value(fr_literal_walk *w, char c) {
    if (fr_is_blank(c)) return FR_WALKED;
    if (c == ']' && c == w->close[w->depth - 1]) return close_bracket(w);
    if (c == '{' || c == '[') return open_bracket(w, c);
    if (is_quote(w, c)) return open_text(w, c, false);
    if (c == '<' && w->style & FR_LITERAL_QUOTES) {
        w->n = 1;
        w->key = false;
        return go(w, OPENING);
    }
    const bool bare = is_bare_value(w, c) && c != '\'' && c != '`';
    return isalnum((unsigned char)c) || c == '-' || bare ? begin_word(w, c) : FR_WALKED_WRONG;
}

fr_walked fr_literal_step(fr_literal_walk *w, char c) {
    w->ended = false;
    switch ((state)w->state) {
    case BEGIN:
        return c && strchr("([{", c) ? open_bracket(w, c) : FR_WALKED_WRONG;
    case VALUE:
        return at_value(w, c);
    case KEY:
        return at_key(w, c);
    case BARE:
        return in_bare(w, c);
    case AFTER_KEY:
        return after_key(w, c);
    case AFTER:
        return after_value(w, c);
    case TEXT:
        return in_text(w, c);
    case ESCAPE:
        return in_escape(w, c);
    case OPENING:
        return in_opening(w, c);
    case CLOSING:
        return in_closing(w, c);
    case CLOSED:
        return maybe_closed(w, c);
    case WORD:
        return in_word(w, c);
    }
    return FR_WALKED_WRONG;
}

// A list of the value has brackets at its ends, whatever it is.
json_t *fr_literal_json(unsigned style, const char *text, size_t n, bool *no_memory) {
    fr_buffer json = {0};
    fr_literal_walk w = {.style = style, .out = &json};
    fr_walked is = fr_literal_step(&w, '[');
    for (size_t i = 0; i < n && is == FR_WALKED; i++)
        is = fr_literal_step(&w, text[i]);
    is = is == FR_WALKED ? fr_literal_step(&w, ']') : FR_WALKED_WRONG; // it may have ended before
    json_t *list = NULL, *value = NULL;
    *no_memory |= w.no_memory;
    if (is == FR_WALKED_ALL && !w.no_memory) list = fr_call_json(json.data, json.n, no_memory);
    if (json_array_size(list) == 1) value = json_incref(json_array_get(list, 0));
    json_decref(list);
    fr_buffer_free(&json);
    return value;
}
