// datastore.c — `datastore`: texts to the file that the drafter `rest` retrieves from.
#include "base/clock.h"
#include "base/save.h"
#include "cmd/datastore_texts.h"
#include "cmd/lib/text.h"
#include "cmd/output/outputs.h"
#include <string.h>

static int print(const fr_cmd_args *args, const fr_datastore_texts *t, double seconds) {
    const fr_datastore_writer *w = t->to;
    const uint64_t tokens = w->n_ids - w->n_texts - 1; // without the marks
    if (args->json)
        return fr_cmd_print_json(
            json_pack("{s:o, s:I, s:I, s:I, s:I, s:i, s:s, s:f, s:I}", "store",
                      fr_json_string(args->output), "texts", (json_int_t)w->n_texts, "tokens",
                      (json_int_t)tokens, "places", (json_int_t)w->n_places, "bytes",
                      (json_int_t)w->file.n, "skipped_files", t->skipped, "vocabulary", w->vocab,
                      "seconds", seconds, "peak_rss_bytes", (json_int_t)fr_cmd_peak_bytes()));
    if (args->quiet) return FR_EXIT_DONE;
    fprintf(stderr, "%llu texts, %llu tokens, %.1f MB in %.1f s", (unsigned long long)w->n_texts,
            (unsigned long long)tokens, (double)w->file.n / 1e6, seconds);
    if (t->skipped) fprintf(stderr, "; %d files that are no text were left out", t->skipped);
    fputc('\n', stderr);
    return FR_EXIT_DONE;
}

static fr_status build(fr_datastore_texts *t, const fr_cmd_args *args, fr_error *err) {
    fr_status st = fr_save_check(args->output, err); // before the work
    if (!st) st = fr_cmd_model(args, err);
    if (!st) st = fr_datastore_texts_open(t, args->model, err);
    if (!st) st = fr_datastore_writer_open(t->to, t->text.tokenizer, err);
    if (!st) st = fr_datastore_texts_add(t, args->data, err);
    fr_progress_clear(t->bar);
    fr_progress_open(t->bar, args->quiet ? NULL : stderr, "million steps", 1e6);
    if (!st) st = fr_datastore_writer_finish(t->to, args->output, fr_cmd_progress, t->bar, err);
    fr_progress_clear(t->bar);
    return st;
}

static int run(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    if (!args->model) return fr_cmd_usage("datastore", "-m: a MODEL is needed");
    if (!args->data) return fr_cmd_usage("datastore", "--data: a FILE or a folder is needed");
    if (!args->output) return fr_cmd_usage("datastore", "-o: a FILE for the store is needed");
    fr_progress bar;
    fr_datastore_writer writer = {0};
    fr_datastore_texts texts = {.args = args, .to = &writer, .bar = &bar};
    fr_error err = {0};
    const double start = fr_seconds();
    fr_progress_open(&bar, args->quiet ? NULL : stderr, "tokens", 1);
    fr_output_locks locks = {0};
    fr_status st = fr_outputs_lock(&locks, "datastore", args, &err);
    if (locks.n) texts.left_out = locks.lock[0].file;
    if (!st) st = build(&texts, args, &err);
    fr_outputs_unlock(&locks);
    const int code = st ? fr_cmd_fail(&err) : print(args, &texts, fr_seconds() - start);
    fr_datastore_texts_close(&texts);
    fr_datastore_writer_close(&writer);
    return code;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"data",   0,   FR_OPT_FILE, AT(data),   "FILE|DIR,...", NULL, NULL, "texts: folders of shards ('distill --capture'), other folders with all files below them, *.jsonl of {\"messages\":[...]} or {\"text\":\"...\"}, files of plain text; all files plain or gzipped", 0, 0, NULL},
    {"output", 'o', FR_OPT_FILE, AT(output), "STORE", NULL, NULL, "file for the datastore, 8 bytes per token", 0, 0, NULL},
    FR_CMD_FORCE,
    FR_CMD_TEMPLATE,
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Texts", options};

const fr_cmd fr_cmd_datastore = {
    {.name = "datastore",
     .summary = "make a datastore of texts for the drafter 'rest'",
     .about =
         "Converts texts to token ids and sorts every place in them by the tokens before it, so "
         "that the drafter rest:STORE finds within microseconds what followed the last tokens "
         "there. The best texts are of the kind that the model writes: its own answers "
         "('distill'), or the code that it is to continue. A store belongs to a vocabulary and "
         "serves all models with this vocabulary. Drafts are only guesses, so no text of a store "
         "changes an answer.\n\nBuilding takes 20 bytes of memory per token. The file is written "
         "whole or not at all. Any number of processes may use it at the same time.",
     .example = "forerun datastore -m models/smollm2-135m.gguf --data answers.jsonl -o answers.frd",
     .groups = {&group, &fr_cmd_file_options, &fr_cmd_output_options}},
    run};
