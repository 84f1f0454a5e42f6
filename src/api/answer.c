// answer.c — the held text is read from its beginning, up to the next marker that its stage knows;
// it belongs where the stage says, and behind the marker another stage begins.
#define _GNU_SOURCE
#include "api/answer.h"
#include "json/value.h"
#include <stdlib.h>
#include <string.h>

static const char THINK[] = "<think>", END_THINK[] = "</think>", CALL[] = "<tool_call>",
                  END_CALL[] = "</tool_call>", FENCE[] = "```json", END_FENCE[] = "```",
                  BARE[] = "{\"name\"";

void fr_api_answer_open(fr_api_answer *a, bool thinks, bool open, bool tools,
                        const char *chat_template) {
    const bool marked = !chat_template || strstr(chat_template, CALL);
    *a = (fr_api_answer){.thinks = thinks,
                         .tools = tools,
                         .json_calls = tools && !marked && strstr(chat_template, "parameters"),
                         .stage = thinks && open ? FR_API_THINKS : FR_API_BEGINS};
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

// ---------------------------------------------------------------- markers

static size_t blank(const char *text, size_t n) {
    size_t i = 0;
    while (i < n && strchr(" \t\r\n", text[i]) && text[i])
        i++;
    return i;
}

// Where the marker begins, or n.
static size_t find(const char *text, size_t n, const char *marker) {
    const char *at = n ? memmem(text, n, marker, strlen(marker)) : NULL;
    return at ? (size_t)(at - text) : n;
}

// Bytes at the end of the text that may begin the marker.
static size_t begins(const char *text, size_t n, const char *marker) {
    size_t k = strlen(marker) - 1;
    for (k = k < n ? k : n; k > 0; k--)
        if (!memcmp(text + n - k, marker, k)) return k;
    return 0;
}

static void drop(fr_api_answer *a, size_t n) {
    memmove(a->held.data, a->held.data + n, a->held.n - n);
    a->held.n -= n;
}

// Moves the first n held bytes to where they belong.
static fr_status move(fr_api_answer *a, fr_buffer *to, size_t n, fr_error *err) {
    const fr_status st = n ? fr_buffer_add(to, a->held.data, n, err) : FR_OK;
    if (!st && n) drop(a, n);
    return st;
}

// ---------------------------------------------------------------- calls

static char *arguments_of(const json_t *call) {
    const json_t *given = json_object_get(call, "arguments");
    if (!given) given = json_object_get(call, "parameters");
    if (!given) return strdup("{}");
    if (json_is_string(given)) return strdup(json_string_value(given));
    return json_is_object(given) ? json_dumps(given, JSON_COMPACT) : NULL;
}

// JSON, whose outer braces may be doubled; NULL: it is none.
static json_t *load(const char *text, size_t n) {
    fr_error never;
    json_t *root = fr_json_load(text, n, &never);
    const size_t from = blank(text, n);
    size_t to = n;
    while (to > from && strchr(" \t\r\n", text[to - 1]) && text[to - 1])
        to--;
    const bool doubled =
        to - from >= 4 && !memcmp(text + from, "{{", 2) && !memcmp(text + to - 2, "}}", 2);
    return root || !doubled ? root : fr_json_load(text + from + 1, to - from - 2, &never);
}

// True: the text is a call, which is kept.
static bool take_call(fr_api_answer *a, const char *text, size_t n) {
    json_t *call = load(text, n);
    const char *name = json_string_value(json_object_get(call, "name"));
    // Other JSON has names too.
    if ((a->fenced || a->bare) && !json_object_get(call, "arguments")) name = NULL;
    char *arguments = name && a->n_calls < FR_API_CALLS ? arguments_of(call) : NULL;
    char *copy = arguments ? strdup(name) : NULL;
    if (copy)
        a->call[a->n_calls++] = (fr_api_call){copy, arguments};
    else
        free(arguments);
    json_decref(call);
    return copy;
}

// ---------------------------------------------------------------- stages

// Each reads some of what is held. True: there is more to read of it now.

static bool begin(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const char *text = a->held.data;
    const size_t n = a->held.n, space = blank(text, n);
    if (a->thinks && n - space >= strlen(THINK) && !memcmp(text + space, THINK, strlen(THINK))) {
        drop(a, space + strlen(THINK));
        a->stage = FR_API_THINKS;
        return true;
    }
    const bool may_think = a->thinks && begins(text + space, n - space, THINK) == n - space;
    const bool may_call = a->tools && (begins(text + space, n - space, CALL) == n - space ||
                                       begins(text + space, n - space, FENCE) == n - space ||
                                       begins(text + space, n - space, BARE) == n - space);
    if (!last && (space == n || may_think || may_call)) return false;
    a->fenced =
        a->tools && n - space >= strlen(FENCE) && !memcmp(text + space, FENCE, strlen(FENCE));
    if (a->fenced) {
        if (a->trims) drop(a, space);
        a->stage = FR_API_CALLS_TOOL;
        return true;
    }
    a->bare = a->tools && !a->json_calls && n - space >= strlen(BARE) &&
              !memcmp(text + space, BARE, strlen(BARE));
    if (a->bare || (a->json_calls && space < n && text[space] == '{')) {
        a->stage = FR_API_CALLS_TOOL;
        return true;
    }
    const bool calls = a->tools && n - space >= strlen(CALL) && !a->json_calls &&
                       !memcmp(text + space, CALL, strlen(CALL));
    if (calls || a->trims) drop(a, space);
    a->stage = FR_API_SAYS;
    a->trims = false;
    (void)err, (void)st;
    return true;
}

static bool think(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const size_t n = a->held.n, end = find(a->held.data, n, END_THINK);
    if (end == n) {
        const size_t keep = last ? 0 : begins(a->held.data, n, END_THINK);
        *st = move(a, &a->thinking, n - keep, err);
        return false;
    }
    if ((*st = move(a, &a->thinking, end, err))) return false;
    drop(a, strlen(END_THINK));
    a->stage = FR_API_BEGINS;
    a->thinks = false; // once
    a->trims = true;
    return true;
}

static bool say(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const size_t n = a->held.n, call = a->tools && !a->json_calls ? find(a->held.data, n, CALL) : n;
    if (call == n) {
        const bool marks = a->tools && !a->json_calls && !last;
        *st = move(a, &a->content, n - (marks ? begins(a->held.data, n, CALL) : 0), err);
        return false;
    }
    if ((*st = move(a, &a->content, call, err))) return false;
    a->stage = FR_API_CALLS_TOOL;
    return true;
}

static bool is_json(const char *text, size_t n) {
    json_t *root = load(text, n);
    json_decref(root);
    return root;
}

// Where a call ends that begins at `head`: the first end marker up to which it is JSON, as arguments
// may hold the marker too. n: there is none.
static size_t end_of_call(const fr_api_answer *a, size_t head, const char *marker) {
    const char *text = a->held.data;
    const size_t n = a->held.n;
    for (size_t at = head > a->tried ? head : a->tried; (at += find(text + at, n - at, marker)) < n;
         at++)
        if (is_json(text + head, at - head)) return at;
    return n;
}

// The held text is a JSON object alone, or begins with the marker of a call.
static bool call_tool(fr_api_answer *a, bool last, fr_error *err, fr_status *st) {
    const char *text = a->held.data;
    const size_t n = a->held.n, space = a->fenced ? blank(text, n) : 0;
    const char *marker = a->fenced ? END_FENCE : END_CALL;
    const bool alone = (a->json_calls || a->bare) && !a->fenced;
    const size_t head = a->fenced ? space + strlen(FENCE) : alone ? 0 : strlen(CALL);
    size_t end = alone ? n : end_of_call(a, head, marker);
    if (end == n && !last) {
        a->tried = n >= strlen(marker) ? n - strlen(marker) + 1 : 0;
        return false;
    }
    a->tried = 0;
    if (end == n && !alone)
        end = head + find(text + head, n - head, marker); // no call, or cut short
    const size_t whole = end < n ? end + strlen(marker) : n;
    if (take_call(a, text + head, end - head)) {
        drop(a, whole);
        a->stage = FR_API_BEGINS; // another call may follow
        a->trims = true;
    } else {
        *st = move(a, &a->content, whole, err);
        a->stage = FR_API_SAYS;
    }
    a->fenced = a->bare = false;
    return !*st;
}

static fr_status read_held(fr_api_answer *a, bool last, fr_error *err) {
    static bool (*const read[])(fr_api_answer *, bool, fr_error *,
                                fr_status *) = {[FR_API_BEGINS] = begin,
                                                [FR_API_THINKS] = think,
                                                [FR_API_SAYS] = say,
                                                [FR_API_CALLS_TOOL] = call_tool};
    fr_status st = FR_OK;
    while (!st && a->held.n && read[a->stage](a, last, err, &st)) {
    }
    return st;
}

fr_status fr_api_answer_push(fr_api_answer *a, const char *text, size_t bytes, fr_error *err) {
    const fr_status st = bytes ? fr_buffer_add(&a->held, text, bytes, err) : FR_OK;
    return st ? st : read_held(a, false, err);
}

fr_status fr_api_answer_finish(fr_api_answer *a, fr_error *err) {
    return read_held(a, true, err);
}
