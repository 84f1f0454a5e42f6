// prompts.c — prompt files.
#include "cmd/lib/prompts.h"
#include "json/messages.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_item(fr_prompt *item) {
    free(item->id);
    free(item->turns);
    free(item->turn_bytes);
}

void fr_prompts_free(fr_prompts *p) {
    for (int i = 0; i < p->n; i++)
        free_item(&p->item[i]);
    free(p->item);
    json_decref(p->lines);
    *p = (fr_prompts){0};
}

static bool same_text(const char *a, size_t n_a, const char *b, size_t n_b) {
    return n_a == n_b && (!n_a || !memcmp(a, b, n_a));
}

static bool same_prompt(const fr_prompt *a, const fr_prompt *b) {
    bool same = a->n_turns == b->n_turns && !a->system == !b->system &&
                same_text(a->system, a->system_bytes, b->system, b->system_bytes);
    for (int i = 0; i < a->n_turns && same; i++)
        same = same_text(a->turns[i], a->turn_bytes[i], b->turns[i], b->turn_bytes[i]);
    return same;
}

int fr_prompts_drop_known(fr_prompts *p, const fr_prompts *known) {
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        fr_prompt *item = &p->item[i];
        const int n_known = known == p ? n : known->n;
        int k = 0;
        while (k < n_known && !same_prompt(item, &known->item[k]))
            k++;
        if (k == n_known) {
            p->item[n++] = *item;
            continue;
        }
        free_item(item);
    }
    const int dropped = p->n - n;
    p->n = n;
    return dropped;
}

static fr_status grow(fr_prompts *p, fr_error *err) {
    if (p->n < p->cap) return FR_OK;
    const int cap = p->cap ? 2 * p->cap : 64;
    fr_prompt *more = realloc(p->item, (size_t)cap * sizeof *more);
    if (!more) return fr_fail(err, FR_ENOMEM, "no memory for %d prompts", cap);
    p->item = more;
    p->cap = cap;
    return FR_OK;
}

static fr_status read_turns(fr_prompt *to, const json_t *messages, fr_error *err) {
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i);
        const json_t *content = json_object_get(message, "content");
        const char *role = json_string_value(json_object_get(message, "role"));
        if (!role || !json_is_string(content))
            return fr_fail(err, FR_EDATA, "messages[%zu]: expected a role and a text", i);
        if (!strcmp(role, "user")) {
            to->turns[to->n_turns] = json_string_value(content);
            to->turn_bytes[to->n_turns++] = json_string_length(content);
        } else if (!strcmp(role, "system") && !i) {
            to->system = json_string_value(content);
            to->system_bytes = json_string_length(content);
        }
    }
    return to->n_turns ? FR_OK : fr_fail(err, FR_EDATA, "messages: no turn of the user's");
}

// A text, a whole number's digits, or "" where there is none.
static fr_status read_id(fr_prompt *to, const json_t *id, fr_error *err) {
    char number[32] = "";
    size_t bytes;
    const char *text = fr_json_digits(id, &bytes); // of more than 18 digits
    if (json_is_integer(id))
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
    else if (!text && !(text = json_string_value(id)) && id && !json_is_null(id))
        return fr_fail(err, FR_EDATA, "id: expected a text or a whole number");
    to->id = strdup(text ? text : number);
    return to->id ? FR_OK : fr_fail(err, FR_ENOMEM, "no memory");
}

// Takes over a parsed line.
static fr_status add_line(fr_prompts *p, json_t *line, fr_error *err) {
    if (json_array_append_new(p->lines, line)) return fr_fail(err, FR_ENOMEM, "no memory");
    const json_t *messages = json_object_get(line, "messages");
    const size_t n = json_array_size(messages);
    if (!n) return fr_fail(err, FR_EDATA, "expected {\"id\",\"messages\":[...]}");
    const fr_status st = grow(p, err);
    if (st) return st;
    fr_prompt *to = &p->item[p->n];
    *to = (fr_prompt){.turns = calloc(n, sizeof *to->turns),
                      .turn_bytes = calloc(n, sizeof *to->turn_bytes)};
    p->n++;
    if (!to->turns || !to->turn_bytes) return fr_fail(err, FR_ENOMEM, "no memory");
    const fr_status bad = read_id(to, json_object_get(line, "id"), err);
    return bad ? bad : read_turns(to, messages, err);
}

fr_status fr_prompts_read(fr_prompts *p, const char *path, int limit, fr_error *err) {
    fr_buffer bytes;
    *p = (fr_prompts){.lines = json_array()};
    if (!p->lines) return fr_fail(err, FR_ENOMEM, "%s: no memory", path);
    fr_status st = fr_cmd_read_file(&bytes, path, err);
    if (st) return st;
    size_t number = 0;
    for (size_t at = 0; at < bytes.n && !st && (!limit || p->n < limit);) {
        const char *line = bytes.data + at, *end = memchr(line, '\n', bytes.n - at);
        const size_t n = end ? (size_t)(end - line) : bytes.n - at;
        fr_error why = {0};
        at += n + 1;
        number++;
        if (strspn(line, " \t\r") >= n) continue;
        json_t *value = fr_json_load(line, n, &why);
        fr_status bad = value ? add_line(p, value, &why) : why.code;
        if (bad)
            st = fr_fail(err, bad == FR_EARG ? FR_EDATA : bad, "%s, line %zu: %s", path, number,
                         why.text);
    }
    fr_buffer_free(&bytes);
    if (!st && !p->n) st = fr_fail(err, FR_EDATA, "%s: no prompts in it", path);
    return st;
}

fr_status fr_prompts_from(fr_prompts *p, const char *const *texts, int limit, fr_error *err) {
    fr_status st = FR_OK;
    *p = (fr_prompts){.lines = json_array()};
    if (!p->lines) return fr_fail(err, FR_ENOMEM, "prompts: no memory");
    for (int i = 0; texts[i] && !st && (!limit || i < limit); i++)
        st = add_line(
            p, json_pack("{s:[{s:s, s:s}]}", "messages", "role", "user", "content", texts[i]), err);
    return st;
}
