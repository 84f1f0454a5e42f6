// tokenize.c — `tokenize` and `detokenize`: JSON lines in, JSON lines out, one at a time.
#include "cmd/lib/text.h"
#include <stdlib.h>
#include <string.h>

typedef struct filter {
    const fr_cmd_args *args;
    fr_cmd_text text;
    fr_ids ids;
    fr_buffer decoded;
    fr_buffer line, bytes;
    fr_chat_text rendered;
} filter;

typedef fr_status filter_fn(filter *f, json_t *in, json_t **out, fr_error *err);

static fr_status no_memory(fr_error *err) {
    return fr_fail(err, FR_ENOMEM, "no memory for the answer");
}

static fr_status tokenize_text(filter *f, json_t *in, json_t **out, fr_error *err) {
    const json_t *text = json_object_get(in, "text"), *hex = json_object_get(in, "hex");
    const char *data = json_string_value(text ? text : hex);
    size_t n = json_string_length(text ? text : hex);
    if (!data) return fr_fail(err, FR_EDATA, "expected {\"text\":\"...\"} or {\"hex\":\"...\"}");
    fr_status st = FR_OK;
    if (!text) {
        if ((st = fr_cmd_unhex(data, n, &f->bytes, err))) return st;
        data = f->bytes.data;
        n = f->bytes.n;
    }
    const unsigned flags = f->args->special ? FR_TEXT_CONTROL : 0;
    if ((st = fr_text_encode(f->text.text, data, n, flags, &fr_cmd_watch, &f->ids, err))) return st;
    *out = json_pack("{s:o}", "ids", fr_cmd_json_ids(f->ids.data, f->ids.n));
    return *out ? FR_OK : no_memory(err);
}

static fr_status tokenize_messages(filter *f, json_t *in, json_t **out, fr_error *err) {
    const unsigned flags = f->args->special ? FR_TEXT_CONTROL : 0;
    const fr_status st = fr_text_render_json(f->text.text, in, flags, &f->rendered, &f->ids, err);
    if (st) return st;
    const fr_buffer *prompt = &f->rendered.marked.text;
    *out = json_pack("{s:o, s:o}", "prompt", fr_json_text(prompt->data, prompt->n), "ids",
                     fr_cmd_json_ids(f->ids.data, f->ids.n));
    return *out ? FR_OK : no_memory(err);
}

static json_t *hex_string(const char *data, size_t n) {
    static const char digits[] = "0123456789abcdef";
    char *hex = malloc(2 * n + 1);
    if (!hex) return NULL;
    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = digits[(uint8_t)data[i] >> 4];
        hex[2 * i + 1] = digits[data[i] & 15];
    }
    json_t *value = json_stringn(hex, 2 * n);
    free(hex);
    return value;
}

static fr_status detokenize(filter *f, json_t *in, json_t **out, fr_error *err) {
    fr_status st = fr_cmd_ids_from_json(&f->ids, json_object_get(in, "ids"), err);
    if (st) return st;
    f->decoded.n = 0;
    if ((st = fr_tokenizer_decode(f->text.tokenizer, f->ids.data, f->ids.n, &f->decoded, err)))
        return st;
    const char *data = f->decoded.data ? f->decoded.data : "";
    json_t *whole = json_stringn(data, f->decoded.n); // NULL where the bytes are not UTF-8
    if (whole)
        *out = json_pack("{s:o}", "text", whole);
    else
        *out = json_pack("{s:o, s:o}", "text", fr_json_text(data, f->decoded.n), "hex",
                         hex_string(data, f->decoded.n));
    return *out ? FR_OK : no_memory(err);
}

// Answers line after line until the end of stdin, an error, or a reader that has gone.
static fr_status pump(filter *f, filter_fn *answer, fr_error *err) {
    for (size_t number = 1;; number++) {
        bool more;
        fr_status st = fr_cmd_read_line(&f->line, stdin, "standard input", &more, err);
        if (st || !more) return st;
        if (f->line.data[strspn(f->line.data, " \t\r")] == 0 && strlen(f->line.data) == f->line.n)
            continue;
        fr_error why = {0};
        json_t *out = NULL, *in = fr_json_load(f->line.data, f->line.n, &why);
        f->ids.n = 0;
        st = in ? answer(f, in, &out, &why) : why.code;
        json_decref(in);
        // What stands on stdin is data, not a part of the command line.
        if (st)
            return fr_fail(err, st == FR_EARG ? FR_EDATA : st, "standard input, line %zu: %s",
                           number, why.text);
        if (fr_cmd_print_json(out)) return fr_fail(err, FR_ENOMEM, "line %zu: no memory", number);
        if (!fr_cmd_flush()) return FR_OK; // main reports the error
    }
}

static int run_filter(const fr_cmd_args *args, filter_fn *answer) {
    filter f = {.args = args};
    fr_error err = {0};
    fr_status st = fr_cmd_model(args, &err);
    if (!st) st = fr_cmd_text_open(&f.text, args->model, &err);
    if (!st && answer == tokenize_messages) st = fr_cmd_text_template(&f.text, args, &err);
    if (!st) st = pump(&f, answer, &err);
    fr_chat_text_close(&f.rendered);
    fr_buffer_free(&f.line);
    fr_buffer_free(&f.bytes);
    fr_buffer_free(&f.decoded);
    fr_ids_free(&f.ids);
    fr_cmd_text_close(&f.text);
    return st ? fr_cmd_fail(&err) : FR_EXIT_DONE;
}

static int run_tokenize(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    if (!args->model) return fr_cmd_usage("tokenize", "-m: a MODEL is needed");
    return run_filter(args, args->as_messages ? tokenize_messages : tokenize_text);
}

static int run_detokenize(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    if (!args->model) return fr_cmd_usage("detokenize", "-m: a MODEL is needed");
    return run_filter(args, detokenize);
}

// clang-format off
static const fr_option options[] = {
    {"special",  0, FR_OPT_FLAG, offsetof(fr_cmd_args, special),     NULL, NULL, NULL, "parse special tokens in the text, also in messages, where they are plain text otherwise", 0, 0, NULL},
    {"messages", 0, FR_OPT_FLAG, offsetof(fr_cmd_args, as_messages), NULL, NULL, NULL, "lines are conversations, to which the chat template is applied", 0, 0, NULL},
    FR_CMD_TEMPLATE,
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Tokenizing", options};

const fr_cmd fr_cmd_tokenize = {
    {.name = "tokenize",
     .summary = "turn text into token ids",
     .about = "Reads JSON lines from standard input and answers each at once with one JSON line. A "
              "line of input is {\"text\":\"...\"}, or {\"hex\":\"...\"} for bytes that are not "
              "UTF-8; a line of output is {\"ids\":[...]}. No beginning-of-text token is "
              "added.\n\nWith --messages a line of input is "
              "{\"messages\":[...],\"tools\":[...],\"add_generation_prompt\":true}, and the line "
              "of output also has \"prompt\", the text that the chat template makes of it.",
     .example = "echo '{\"text\":\"Hello world\"}' | forerun tokenize -m models/smollm2-135m.gguf",
     .groups = {&fr_cmd_file_options, &group}},
    run_tokenize};

const fr_cmd fr_cmd_detokenize = {
    {.name = "detokenize",
     .summary = "turn token ids into text",
     .about = "Reads JSON lines {\"ids\":[...]} from standard input and answers each at once with "
              "{\"text\":\"...\"}. If the bytes are not UTF-8, the text has U+FFFD in their place, "
              "and \"hex\" has the bytes themselves.",
     .example = "echo '{\"ids\":[19556, 905]}' | forerun detokenize -m models/smollm2-135m.gguf",
     .groups = {&fr_cmd_file_options}},
    run_detokenize};
