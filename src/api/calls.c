// calls.c — the texts of calls, by their forms. Several are kept, or none of them.
#include "api/answer_parts.h"
#include "api/marks.h"
#include "json/value.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char ARGS[] = "[ARGS]", CALL_ID[] = "[CALL_ID]";

// ---------------------------------------------------------------- keeping

// Takes both; NULL is a failure.
static bool keep(fr_api_answer *a, char *name, char *arguments) {
    const bool left_out = name && arguments && a->one_call && a->n_calls;
    if (name && arguments && !left_out && a->n_calls < FR_API_CALLS) {
        a->call[a->n_calls++] = (fr_api_call){name, arguments, a->thinking.n, a->content.n};
        return true;
    }
    free(name);
    free(arguments);
    return left_out;
}

static void give_back(fr_api_answer *a, int n_calls) {
    while (a->n_calls > n_calls) {
        free(a->call[--a->n_calls].name);
        free(a->call[a->n_calls].arguments);
    }
}

static char *arguments_of(const json_t *call) {
    const json_t *given = json_object_get(call, "arguments");
    if (!given) given = json_object_get(call, "parameters");
    if (!given || (fr_json_is_text(given) && !json_string_length(given))) return strdup("{}");
    if (fr_json_is_text(given)) return strdup(json_string_value(given));
    return json_is_object(given) ? fr_json_compact(given) : NULL;
}

static bool is_name(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("_-.:/", text[i])) return false;
    return n;
}

// Other JSON has names too: without a mark only those of tools are calls.
static bool is_offered(const fr_api_answer *a, const char *name) {
    const bool marked =
        a->form != FR_API_ALONE && a->form != FR_API_BARE && a->form != FR_API_FENCED;
    for (size_t i = 0; i < json_array_size(a->offered); i++) {
        const json_t *tool = json_object_get(json_array_get(a->offered, i), "function");
        const char *its = json_string_value(json_object_get(tool, "name"));
        if (its && !strcmp(its, name)) return true;
    }
    return marked || !a->offered;
}

static bool keep_object(fr_api_answer *a, const json_t *call) {
    const json_t *name = json_object_get(call, "name");
    return fr_json_is_text(name) && is_offered(a, json_string_value(name)) &&
           keep(a, strdup(json_string_value(name)), arguments_of(call));
}

// ---------------------------------------------------------------- JSON

static size_t trimmed(const char *text, size_t n) {
    while (n && fr_blank(text + n - 1, 1))
        n--;
    return n;
}

// JSON, whose outer braces may be doubled; NULL: it is none.
static json_t *load(const char *text, size_t n) {
    fr_error never;
    json_t *root = fr_json_load(text, n, &never);
    const size_t from = fr_blank(text, n), to = trimmed(text, n);
    const bool doubled =
        to >= from + 4 && !memcmp(text + from, "{{", 2) && !memcmp(text + to - 2, "}}", 2);
    return root || !doubled ? root : fr_json_load(text + from + 1, to - from - 2, &never);
}

bool fr_answer_is_json(const char *text, size_t n) {
    json_t *root = load(text, n);
    json_decref(root);
    return root;
}

// Bytes of the object or list that the text begins with; 0: its end is not there.
static size_t value_end(const char *text, size_t n) {
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quoted && text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            quoted = !quoted;
        } else if (!quoted && (text[i] == '{' || text[i] == '[')) {
            depth++;
        } else if (!quoted && (text[i] == '}' || text[i] == ']') && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

static bool take_object(fr_api_answer *a, const char *text, size_t n) {
    json_t *call = load(text, n);
    const bool unsure = a->form == FR_API_FENCED || a->form == FR_API_BARE;
    const bool taken = !(unsure && !json_object_get(call, "arguments")) && keep_object(a, call);
    json_decref(call);
    return taken;
}

bool fr_answer_take_named(fr_api_answer *a, const char *name, size_t bytes, const char *text,
                          size_t n) {
    fr_error never;
    json_t *arguments = fr_json_load(text, n, &never);
    const bool taken = is_name(name, bytes) && json_is_object(arguments) &&
                       keep(a, strndup(name, bytes), fr_json_compact(arguments));
    json_decref(arguments);
    return taken;
}

// ---------------------------------------------------------------- Mistral

// A list of objects, or NAME{...}, or NAME[CALL_ID]ID[ARGS]{...}, where one of the marks may miss.
size_t fr_answer_mistral_end(const char *text, size_t n) {
    const size_t space = fr_blank(text, n);
    const char *value = text + space;
    if (space < n && *value != '[') value = memchr(value, '{', n - space);
    if (space == n || !value) return 0;
    const size_t from = (size_t)(value - text), bytes = value_end(value, n - from);
    return bytes ? from + bytes : 0;
}

static bool take_list(fr_api_answer *a, const char *text, size_t n) {
    json_t *list = load(text, n);
    bool taken = json_array_size(list) > 0;
    for (size_t i = 0; i < json_array_size(list) && taken; i++)
        taken = keep_object(a, json_array_get(list, i));
    json_decref(list);
    return taken;
}

static bool take_mistral(fr_api_answer *a, const char *text, size_t n) {
    const size_t space = fr_blank(text, n);
    const char *from = text + space, *value = memchr(from, '{', n - space);
    if (space < n && *from == '[') return take_list(a, text, n);
    if (!value) return false;
    const size_t before = (size_t)(value - from);
    size_t name = fr_find_mark(from, before, CALL_ID), args = fr_find_mark(from, before, ARGS);
    name = trimmed(from, name < args ? name : args);
    return fr_answer_take_named(a, from, name, value, n - space - before);
}

// ---------------------------------------------------------------- <|python_tag|>

// Objects, with white space or ';' between them.
static bool take_objects(fr_api_answer *a, const char *text, size_t n) {
    size_t at = fr_blank(text, n);
    do {
        const size_t bytes = at < n && text[at] == '{' ? value_end(text + at, n - at) : 0;
        if (!bytes || !take_object(a, text + at, bytes)) return false;
        at += bytes;
        while (at < n && (fr_blank(text + at, 1) || text[at] == ';'))
            at++;
    } while (at < n);
    return true;
}

// Bytes of one of the arguments in NAME.call(KEY=VALUE, ...): up to the ',' or ')' behind it.
static size_t argument_end(const char *text, size_t n) {
    int depth = 0;
    char quote = 0;
    for (size_t i = 0; i < n; i++) {
        const char c = text[i];
        if (quote && c == '\\') {
            i++;
        } else if (quote) {
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (strchr("{[(", c) && c) {
            depth++;
        } else if (depth && strchr("}])", c) && c) {
            depth--;
        } else if (!depth && (c == ',' || c == ')')) {
            return i;
        }
    }
    return n;
}

// A value as Python writes it; NULL: neither JSON nor one of the few words that differ.
static json_t *python_value(const char *text, size_t n) {
    fr_error never;
    if (n == 4 && !memcmp(text, "True", 4)) return json_true();
    if (n == 5 && !memcmp(text, "False", 5)) return json_false();
    if (n == 4 && !memcmp(text, "None", 4)) return json_null();
    if (n >= 2 && *text == '\'' && text[n - 1] == '\'' && !memchr(text, '\\', n))
        return json_stringn(text + 1, n - 2);
    return fr_json_load(text, n, &never);
}

// KEY=VALUE, ... up to and with the ')'. NULL: it is something else.
static json_t *python_arguments(const char *text, size_t n) {
    json_t *arguments = json_object();
    size_t at = fr_blank(text, n);
    while (at < n && text[at] != ')') {
        const size_t to = at + argument_end(text + at, n - at);
        const char *equals = memchr(text + at, '=', to - at);
        if (to == n || !equals) break;
        const size_t key = trimmed(text + at, (size_t)(equals - text) - at);
        size_t from = (size_t)(equals - text) + 1;
        from += fr_blank(text + from, to - from);
        json_t *value = python_value(text + from, trimmed(text + from, to - from));
        if (!value || json_object_setn_new(arguments, text + at, key, value)) break;
        at = to + (text[to] == ',');
        at += fr_blank(text + at, n - at);
    }
    if (at < n && text[at] == ')' && at + 1 == trimmed(text, n)) return arguments;
    json_decref(arguments);
    return NULL;
}

static bool take_python(fr_api_answer *a, const char *text, size_t n) {
    static const char CALL[] = ".call(";
    const size_t space = fr_blank(text, n), at = fr_find_mark(text, n, CALL);
    if (at == n || !is_name(text + space, at - space)) return false;
    const size_t from = at + strlen(CALL);
    json_t *arguments = python_arguments(text + from, n - from);
    const bool taken =
        arguments && keep(a, strndup(text + space, at - space), fr_json_compact(arguments));
    json_decref(arguments);
    return taken;
}

// ---------------------------------------------------------------- all

bool fr_answer_take_calls(fr_api_answer *a, const char *text, size_t n) {
    const int before = a->n_calls;
    if (a->form == FR_API_MISTRAL) {
        if (take_mistral(a, text, n)) return true;
    } else if (a->form == FR_API_TAGGED) {
        if (take_objects(a, text, n)) return true;
        give_back(a, before);
        if (take_python(a, text, n)) return true;
    } else if (a->form == FR_API_BARE || a->form == FR_API_ALONE ? take_objects(a, text, n)
                                                                 : take_object(a, text, n)) {
        return true;
    }
    give_back(a, before);
    return false;
}
