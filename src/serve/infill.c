// infill.c — /infill, llama.cpp's endpoint for editors: the text between a prefix and a suffix.
// The parts are joined by the model's own tokens for this task, and become the prompt of a
// completion. If the context is too small, the text farthest from the gap is left out.
#include "serve/infill.h"
#include "api/value.h"
#include "engine/text.h"
#include "serve/dialect.h"
#include <stdlib.h>
#include <string.h>

enum { MARKS = 4, STEP = 64 };

typedef struct reader {
    const fr_text *text;
    size_t n_ctx;
    const fr_watch *watch;
    fr_error *err;
} reader;

static fr_status add_bytes(const reader *r, const char *bytes, size_t n, fr_ids *ids) {
    return fr_text_encode(r->text, bytes, n, 0, r->watch, ids, r->err);
}

static fr_status add_line(const reader *r, const char *line, fr_ids *ids) {
    return add_bytes(r, line, strlen(line), ids);
}

static fr_status add_text(const reader *r, const json_t *string, fr_ids *ids) {
    if (!fr_json_is_text(string)) return FR_OK;
    return add_bytes(r, json_string_value(string), json_string_length(string), ids);
}

// ---- of long texts only what may fit is read

static bool fills(const reader *r, const char *text, size_t bytes) {
    return fr_tokenizer_fewest(r->text->tokenizer, text, bytes) >= r->n_ctx;
}

static size_t room_for(const reader *r) {
    return r->n_ctx * fr_token_longest(r->text->tokenizer);
}

static bool is_inside(char byte) { // of a character of several bytes
    return ((unsigned char)byte & 0xc0) == 0x80;
}

// The end of a text. It is cut by whole steps, as tokens are (tail), and less often.
static fr_status add_end(const reader *r, const json_t *string, fr_ids *ids) {
    const char *text = json_string_value(string);
    const size_t bytes = json_string_length(string), room = room_for(r);
    const size_t step = (room / 8 / STEP + 1) * STEP;
    size_t from = bytes > room ? (bytes - room) / step * step : 0;
    if (!fr_json_is_text(string)) return FR_OK;
    while (from && from < bytes && is_inside(text[from]))
        from++;
    if (from && !fills(r, text + from, bytes - from)) from = 0;
    return add_bytes(r, text + from, bytes - from, ids);
}

static fr_status add_begin(const reader *r, const json_t *string, fr_ids *ids) {
    const char *text = json_string_value(string);
    const size_t bytes = json_string_length(string), room = room_for(r);
    size_t to = bytes > room ? room : bytes;
    if (!fr_json_is_text(string)) return FR_OK;
    while (to < bytes && is_inside(text[to]))
        to++;
    if (to < bytes && !fills(r, text, to)) to = bytes;
    return add_bytes(r, text, to, ids);
}

// ---- other files of the repository

// The beginning of a file's text: its name, or, if the model has no token for that, llama-server's
// line between pieces.
static fr_status add_heading(const reader *r, const json_t *file, fr_ids *ids) {
    const int32_t token = fr_text_describe(r->text)->fim_file;
    const json_t *name = json_object_get(file, "filename");
    if (token < 0) return add_line(r, "\n\n--- snippet ---\n\n", ids);
    fr_status st = fr_ids_push(ids, token, r->err);
    if (!st) st = fr_json_is_text(name) ? add_text(r, name, ids) : add_line(r, "tmp", ids);
    return st ? st : add_line(r, "\n", ids);
}

// The first file that may fit together with those after it.
static size_t first_file(const reader *r, const json_t *files) {
    size_t i = json_array_size(files), tokens = 0;
    while (i && tokens < r->n_ctx) {
        const json_t *text = json_object_get(json_array_get(files, --i), "text");
        tokens += fr_tokenizer_fewest(r->text->tokenizer, json_string_value(text),
                                      json_string_length(text));
    }
    return i;
}

static fr_status add_files(const reader *r, const json_t *files, fr_ids *ids) {
    const fr_text_info *t = fr_text_describe(r->text);
    fr_status st = FR_OK;
    if (!json_array_size(files)) return FR_OK;
    if (t->fim_repository >= 0) {
        st = fr_ids_push(ids, t->fim_repository, r->err);
        if (!st) st = add_line(r, "myproject\n", ids);
    }
    for (size_t i = first_file(r, files); i < json_array_size(files) && !st; i++) {
        const json_t *file = json_array_get(files, i);
        st = add_heading(r, file, ids);
        if (!st) st = add_end(r, json_object_get(file, "text"), ids);
    }
    if (!st && t->fim_file >= 0) {
        st = fr_ids_push(ids, t->fim_file, r->err);
        if (!st) st = add_line(r, "filename\n", ids);
    }
    return st;
}

// ---------------------------------------------------------------- what fits

typedef struct parts {
    fr_ids files, prefix, line, suffix;
} parts;

typedef struct kept { // tokens of them: of the suffix the first, of the others the last
    size_t files, prefix, suffix;
} kept;

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

// The last of n tokens, at most so many. Cut by whole steps, so that the prompts of a text that is
// being typed begin alike, and their keys and values serve again.
static size_t tail(size_t n, size_t most) {
    if (n <= most) return n;
    const size_t cut = (n - most + STEP - 1) / STEP * STEP;
    return n > cut ? n - cut : 0;
}

// If there are other files, the text around the gap has half of the context: three quarters of it
// for the prefix. Space that one part does not use goes to the others.
static kept fit(const parts *p, size_t room) {
    const size_t files = p->files.n, prefix = p->prefix.n, suffix = p->suffix.n;
    if (files + prefix + suffix <= room) return (kept){files, prefix, suffix};
    const size_t beside = least(files, room / 2), around = room - beside;
    kept k = {.prefix = tail(prefix, around - least(suffix, around / 4))};
    k.suffix = least(suffix, around - k.prefix);
    k.files = tail(files, room - k.prefix - k.suffix);
    return k;
}

// Tokens that the answer may have, by any of the field's names. A value that is no number is
// refused later.
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
    const size_t used = answer + MARKS + p->line.n;
    return used < all ? all - used : 0;
}

static fr_status read_parts(const reader *r, const json_t *root, parts *p) {
    fr_status st = add_files(r, json_object_get(root, "input_extra"), &p->files);
    if (!st) st = add_end(r, json_object_get(root, "input_prefix"), &p->prefix);
    if (!st) st = add_text(r, json_object_get(root, "prompt"), &p->line);
    return st ? st : add_begin(r, json_object_get(root, "input_suffix"), &p->suffix);
}

static void add_tokens(json_t *ids, const fr_ids *part, size_t from, size_t to) {
    for (; from < to; from++)
        json_array_append_new(ids, json_integer(part->data[from]));
}

static void add_last(json_t *ids, const fr_ids *part, size_t n) {
    add_tokens(ids, part, part->n - n, part->n);
}

static void join_parts(const fr_text *text, const parts *p, const kept *k, json_t *ids) {
    const fr_text_info *t = fr_text_describe(text);
    if (t->adds_bos && t->bos >= 0) json_array_append_new(ids, json_integer(t->bos));
    add_last(ids, &p->files, k->files);
    json_array_append_new(ids, json_integer(t->fim_prefix));
    add_last(ids, &p->prefix, k->prefix);
    add_last(ids, &p->line, p->line.n);
    json_array_append_new(ids, json_integer(t->fim_suffix));
    add_tokens(ids, &p->suffix, 0, k->suffix);
    json_array_append_new(ids, json_integer(t->fim_middle));
}

fr_status fr_infill_join(const fr_server *s, const json_t *root, json_t *ids, const fr_watch *watch,
                         fr_error *err) {
    const reader r = {s->text, (size_t)s->n_ctx, watch, err};
    parts p = {0};
    const fr_status st = read_parts(&r, root, &p);
    const kept k = fit(&p, room_of(s, root, &p));
    if (!st) join_parts(s->text, &p, &k, ids);
    fr_ids_free(&p.files);
    fr_ids_free(&p.prefix);
    fr_ids_free(&p.line);
    fr_ids_free(&p.suffix);
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

// The line at the gap is not cut.
static bool line_is_too_long(const fr_server *s, fr_exchange *x, const json_t *root) {
    const json_t *line = json_object_get(root, "prompt");
    const size_t n =
        fr_tokenizer_fewest(s->text->tokenizer, json_string_value(line), json_string_length(line));
    const bool is = n >= (size_t)s->n_ctx;
    if (is) fr_reply_too_long(x, "prompt", n, true, s->n_ctx);
    return is;
}

// With the joined parts as the prompt.
static fr_status open_infill(fr_ask **out, fr_server *server, fr_exchange *x,
                             const fr_dialect *dialect, const fr_watch *watch, fr_error *err) {
    json_t *root = fr_read_body(x, watch, err);
    if (!root) return err->code;
    json_t *ids = json_array();
    fr_status st = check(root, err);
    const bool too_long = !st && line_is_too_long(server, x, root);
    if (!st && !too_long) st = fr_infill_join(server, root, ids, watch, err);
    if (!st && !too_long) {
        json_object_set(root, "prompt", ids);
        st = fr_ask_open(out, server, x, &dialect->ask, json_incref(root), watch, err);
    }
    json_decref(ids);
    json_decref(root);
    return st;
}

void fr_handle_infill(fr_exchange *x, void *user) {
    const fr_server *server = user;
    const fr_text_info *t = fr_text_describe(server->text);
    if (t->fim_prefix < 0 || t->fim_suffix < 0 || t->fim_middle < 0)
        fr_reply_error(x, 501, "not_supported_error",
                       "this model has no tokens to fill in the middle");
    else
        fr_generate(user, x, &fr_dialect_llama, open_infill);
}
