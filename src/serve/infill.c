// infill.c — /infill, llama.cpp's for editors: what stands between a prefix and a suffix. The parts
// are joined by the model's own tokens for that, and go on as the prompt of a completion. What is
// farthest from the gap is left out where the context has no room for all.
#include "api/value.h"
#include "serve/dialect.h"
#include <stdlib.h>
#include <string.h>

static fr_status add_text(const fr_text *text, const json_t *string, json_t *ids, fr_error *err) {
    fr_encoded *e;
    if (!fr_json_is_text(string)) return FR_OK;
    const fr_status st =
        fr_text_tokenize(text, json_string_value(string), json_string_length(string), 0, &e, err);
    if (st) return st;
    for (int i = 0; i < e->n_ids; i++)
        json_array_append_new(ids, json_integer(e->ids[i]));
    fr_encoded_free(e);
    return FR_OK;
}

static fr_status add_line(const fr_text *text, const char *line, json_t *ids, fr_error *err) {
    json_t *string = json_string(line);
    const fr_status st = add_text(text, string, ids, err);
    json_decref(string);
    return st;
}

// What stands in front of a file's text: its name, or where the model has no token for that,
// llama-server's line between pieces.
static fr_status add_heading(const fr_text *text, const json_t *file, json_t *ids, fr_error *err) {
    const int32_t token = fr_text_describe(text)->fim_file;
    const json_t *name = json_object_get(file, "filename");
    if (token < 0) return add_line(text, "\n\n--- snippet ---\n\n", ids, err);
    json_array_append_new(ids, json_integer(token));
    const fr_status st =
        fr_json_is_text(name) ? add_text(text, name, ids, err) : add_line(text, "tmp", ids, err);
    return st ? st : add_line(text, "\n", ids, err);
}

// Other files of the repository.
static fr_status add_files(const fr_text *text, const json_t *files, json_t *ids, fr_error *err) {
    const fr_text_info *t = fr_text_describe(text);
    const json_t *file;
    size_t i;
    fr_status st = FR_OK;
    if (!json_array_size(files)) return FR_OK;
    if (t->fim_repository >= 0) {
        json_array_append_new(ids, json_integer(t->fim_repository));
        st = add_line(text, "myproject\n", ids, err);
    }
    json_array_foreach((json_t *)(uintptr_t)files, i, file) {
        if (!st) st = add_heading(text, file, ids, err);
        if (!st) st = add_text(text, json_object_get(file, "text"), ids, err);
    }
    if (!st && t->fim_file >= 0) {
        json_array_append_new(ids, json_integer(t->fim_file));
        st = add_line(text, "filename\n", ids, err);
    }
    return st;
}

// ---------------------------------------------------------------- what fits

enum { MARKS = 4, STEP = 64 };

typedef struct parts { // lists of tokens
    json_t *files, *prefix, *line, *suffix;
} parts;

typedef struct kept { // tokens of them: of the suffix the first, of the others the last
    size_t files, prefix, suffix;
} kept;

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

// The last of n tokens, at most so many. Cut by whole steps, so that what is sent while somebody
// types begins alike, and its keys and values serve again.
static size_t tail(size_t n, size_t most) {
    if (n <= most) return n;
    const size_t cut = (n - most + STEP - 1) / STEP * STEP;
    return n > cut ? n - cut : 0;
}

// With other files beside it the text around the gap has half of the room, three quarters of that
// in front of it; what one part leaves the others take.
static kept fit(const parts *p, size_t room) {
    const size_t files = json_array_size(p->files), prefix = json_array_size(p->prefix),
                 suffix = json_array_size(p->suffix);
    if (files + prefix + suffix <= room) return (kept){files, prefix, suffix};
    const size_t beside = least(files, room / 2), around = room - beside;
    kept k = {.prefix = tail(prefix, around - least(suffix, around / 4))};
    k.suffix = least(suffix, around - k.prefix);
    k.files = tail(files, room - k.prefix - k.suffix);
    return k;
}

// Tokens that the answer may have, by any of the names; what is no number is refused later.
static double most_of(const fr_server *s, const json_t *root) {
    static const char *const names[] = {"max_tokens", "max_completion_tokens", "n_predict"};
    double n = s->defaults.n_predict;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fr_api_number(fr_api_member(root, names[i]), true, &n);
    return n;
}

// Tokens that the parts may have, beside the line at the gap and what will be answered.
static size_t room_of(const fr_server *s, const json_t *root, const parts *p) {
    const double n = most_of(s, root);
    const size_t all = (size_t)s->n_ctx, quarter = all / 4;
    const size_t answer = n > 0 && n < (double)quarter ? (size_t)n : quarter;
    const size_t used = answer + MARKS + json_array_size(p->line);
    return used < all ? all - used : 0;
}

static void add_tokens(json_t *ids, const json_t *part, size_t from, size_t to) {
    for (; from < to; from++)
        json_array_append(ids, json_array_get(part, from));
}

static void add_last(json_t *ids, const json_t *part, size_t n) {
    const size_t all = json_array_size(part);
    add_tokens(ids, part, all - n, all);
}

static fr_status read_parts(const fr_text *text, const json_t *root, const parts *p,
                            fr_error *err) {
    fr_status st = add_files(text, json_object_get(root, "input_extra"), p->files, err);
    if (!st) st = add_text(text, json_object_get(root, "input_prefix"), p->prefix, err);
    if (!st) st = add_text(text, json_object_get(root, "prompt"), p->line, err);
    return st ? st : add_text(text, json_object_get(root, "input_suffix"), p->suffix, err);
}

static void join_parts(const fr_text *text, const parts *p, const kept *k, json_t *ids) {
    const fr_text_info *t = fr_text_describe(text);
    if (t->adds_bos && t->bos >= 0) json_array_append_new(ids, json_integer(t->bos));
    add_last(ids, p->files, k->files);
    json_array_append_new(ids, json_integer(t->fim_prefix));
    add_last(ids, p->prefix, k->prefix);
    add_last(ids, p->line, json_array_size(p->line));
    json_array_append_new(ids, json_integer(t->fim_suffix));
    add_tokens(ids, p->suffix, 0, k->suffix);
    json_array_append_new(ids, json_integer(t->fim_middle));
}

static fr_status join(const fr_server *s, const json_t *root, json_t *ids, fr_error *err) {
    const parts p = {json_array(), json_array(), json_array(), json_array()};
    const fr_status st = read_parts(s->text, root, &p, err);
    const kept k = fit(&p, room_of(s, root, &p));
    if (!st) join_parts(s->text, &p, &k, ids);
    json_decref(p.files);
    json_decref(p.prefix);
    json_decref(p.line);
    json_decref(p.suffix);
    return st;
}

// ---------------------------------------------------------------- the request

static fr_status check_files(const json_t *files, fr_error *err) {
    const json_t *file;
    size_t i;
    if (files && !json_is_array(files))
        return fr_api_wrong(err, files, "a list of files", "input_extra");
    json_array_foreach((json_t *)(uintptr_t)files, i, file) {
        const json_t *text = fr_api_member(file, "text"), *name = fr_api_member(file, "filename");
        if (!fr_json_is_text(text))
            return fr_api_wrong(err, text, "a string", "input_extra[%zu].text", i);
        if (name && !fr_json_is_text(name))
            return fr_api_wrong(err, name, "a string", "input_extra[%zu].filename", i);
    }
    return FR_OK;
}

static fr_status check(const json_t *root, fr_error *err) {
    static const char *const strings[] = {"input_prefix", "input_suffix", "prompt"};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        const json_t *value = fr_api_member(root, strings[i]);
        const bool may_miss = i == 2;
        if (!fr_json_is_text(value) && (value || !may_miss))
            return fr_api_wrong(err, value, "a string", "%s", strings[i]);
    }
    return check_files(fr_api_member(root, "input_extra"), err);
}

void fr_handle_infill(fr_exchange *x, void *user) {
    fr_server *server = user;
    const fr_text_info *t = fr_text_describe(server->text);
    fr_error err;
    if (t->fim_prefix < 0 || t->fim_suffix < 0 || t->fim_middle < 0) {
        fr_reply_error(x, 501, "not_supported_error",
                       "this model has no tokens to fill in the middle");
        return;
    }
    json_t *root = fr_reply_body(x);
    if (!root) return;
    json_t *ids = json_array();
    fr_status st = check(root, &err);
    if (!st) st = join(server, root, ids, &err);
    if (st) {
        fr_reply_fault(x, &err);
    } else {
        json_object_set(root, "prompt", ids);
        fr_generate(server, x, &fr_dialect_llama, json_incref(root));
    }
    json_decref(ids);
    json_decref(root);
}
