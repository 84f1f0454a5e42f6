// cmd.h — what the commands share: their options, their way to report, to be interrupted and to
// print.
//
// A command is a table (fr_command) and a function that returns the exit code: 0 done, 1 it could
// not be done, 2 the command line is wrong, 130 interrupted. program.c parses, so a command sees
// checked values. Commands write results to stdout and everything else to stderr.
#ifndef FR_CMD_LIB_CMD_H
#define FR_CMD_LIB_CMD_H
#include "base/buffer.h"
#include "base/watch.h"
#include "cmd/lib/option.h"
#include "cmd/lib/progress.h"
#include "model/kv.h"
#include <jansson.h>

enum { FR_EXIT_DONE = 0, FR_EXIT_FAILED = 1, FR_EXIT_USAGE = 2, FR_EXIT_INTERRUPTED = 130 };

typedef struct fr_cmd_args {       // the values of all options of all commands
    const fr_error *model_missing; // why `model` is no file (fr_cmd_model); NULL: it is one
    const char *model, *prompt, *file, *messages, *drafter, *tree, *accept, *ids;
    const char *chat_template, *chat_template_file, *chat_template_kwargs, *system;
    const char *drafters, *rows, *contexts, *plot, *prompts, *man_dir, *report, *tree_sizes;
    const char *output, *capture, *data,
        *taps; // what is written; a folder of shards; training data
    fr_strings stop, draft_opts;
    int threads, ctx, isa, kv_type, n_predict, color, top, limit, repeat, top_k, repeat_last_n;
    // Of serve.
    const char *host, *alias, *tags, *api_key, *api_key_file, *cors, *allow_host, *forwarded_from;
    int port, parallel, slot_ctx, queue, connections, peer_connections, cache_ram, body_memory,
        log_format;
    int reasoning;
    double timeout, drain, drain_delay, request_time, prompt_share;
    bool metrics, slots, no_slots, no_page, verbose;
    int width, turns;                 // of distill: texts at once, turns of a conversation
    double sampled;                   // of distill: share of answers that are drawn
    uint64_t enough;                  // tokens of answers
    const char *time, *init, *shares; // of train, as what follows
    fr_strings settings;
    int pack_type, depth, vocab, batch_rows, accumulate, held_out, judgements, patience;
    double lr, lr_end, average, every;
    uint64_t steps, limit_rows;
    bool resume, given, force;
    double temp, top_p, min_p, repeat_penalty;
    uint64_t seed;
    bool names;          // of models
    const char *request; // of run, as what follows
    int choice;
    const char *only;              // of the lab's requantize
    const char *answers, *results; // of the lab's replay, as what follows
    double check;
    bool low_memory, json, quiet, raw, no_adapt, phases, ignore_eos, help_drafters, special,
        as_messages, all;
} fr_cmd_args;

typedef struct fr_cmd {
    fr_command table; // first
    int (*run)(const fr_cmd_args *args, const fr_parsed *parsed);
} fr_cmd;

extern const fr_cmd fr_cmd_run, fr_cmd_chat, fr_cmd_bench, fr_cmd_curve, fr_cmd_perplexity,
    fr_cmd_tune, fr_cmd_accuracy, fr_cmd_distill, fr_cmd_capture, fr_cmd_train, fr_cmd_logits,
    fr_cmd_tokenize, fr_cmd_detokenize, fr_cmd_inspect, fr_cmd_models, fr_cmd_serve, fr_cmd_man,
    fr_cmd_completion, fr_cmd_datastore, fr_cmd_doctor;
// Their tables in the order of `--help`, with the `train` of the program.
#define FR_CMD_TABLES(train)                                                                       \
    &fr_cmd_run.table, &fr_cmd_chat.table, &fr_cmd_serve.table, &fr_cmd_bench.table,               \
        &fr_cmd_tune.table, &fr_cmd_curve.table, &fr_cmd_accuracy.table, &fr_cmd_distill.table,    \
        &fr_cmd_capture.table, &(train).table, &fr_cmd_perplexity.table, &fr_cmd_logits.table,     \
        &fr_cmd_tokenize.table, &fr_cmd_detokenize.table, &fr_cmd_models.table,                    \
        &fr_cmd_doctor.table, &fr_cmd_inspect.table, &fr_cmd_datastore.table, &fr_cmd_man.table,   \
        &fr_cmd_completion.table

// ---------------------------------------------------------------- program.c
extern const fr_program fr_cmd_program; // each program's own; its commands are the tables of fr_cmd
fr_word_at fr_cmd_spec_word;            // the drafters, for its `specs`
int fr_cmd_main(int argc, char **argv); // all of `main`: the exit code

// Groups of options, for the tables.
extern const fr_option_group fr_cmd_model_options;  // -m -t -c --isa --low-memory --kv-type
extern const fr_option_group fr_cmd_engine_options; // the same without -c
extern const fr_option_group fr_cmd_file_options;   // -m alone: no weights are read
extern const fr_option_group fr_cmd_draft_options, fr_cmd_sampling_options,
    fr_cmd_chat_sampling_options, fr_cmd_serve_sampling_options;
extern const fr_option_group fr_cmd_output_options; // --json --quiet
extern const fr_option_group fr_cmd_quiet_options;  // --quiet
// --force, a row for the table of a command that writes files (outputs.h); of one with --init too.
#define FR_CMD_FORCE_OF(exception)                                                                 \
    {                                                                                              \
        .name = "force", .kind = FR_OPT_FLAG, .offset = offsetof(fr_cmd_args, force),              \
        .help = "overwrite an existing file of another kind, but never an input of this command "  \
                "line" exception                                                                   \
    }
#define FR_CMD_FORCE      FR_CMD_FORCE_OF("")
#define FR_CMD_FORCE_INIT FR_CMD_FORCE_OF(", except that of --init")
#define FR_CMD_TREE                                                                                \
    {                                                                                              \
        .name = "tree", .kind = FR_OPT_STRING, .offset = offsetof(fr_cmd_args, tree),              \
        .arg = "auto|N|FILE", .unset = "auto",                                                     \
        .help = "candidate tree: auto chooses its size by the cost of passes; N: number of nodes " \
                "besides the root; FILE: a shape, one path of ranks per line, such as 0.0.1"       \
    }
#define FR_CMD_COLOR                                                                               \
    {                                                                                              \
        .name = "color", .kind = FR_OPT_SWITCH, .offset = offsetof(fr_cmd_args, color),            \
        .arg = "WHEN]", .unset = "never", .values = "never|auto|always",                           \
        .help = "print each token in the colour of the drafter that proposed it; auto, which is "  \
                "also the meaning of --color alone: only on a terminal"                            \
    }
#define FR_CMD_ACCEPT                                                                              \
    {                                                                                              \
        .name = "accept", .kind = FR_OPT_STRING, .offset = offsetof(fr_cmd_args, accept),          \
        .arg = "RULE", .unset = "exact", .values = "exact|rejection|typical",                      \
        .help = "acceptance rule: 'exact' gives the bytes of plain decoding (serve has no other "  \
                "rule), 'rejection' its distribution, 'typical[:EPSILON,DELTA]' neither"           \
    }
// --reasoning. `where` follows "thinking" in its help; `on` names the values that request thinking.
enum { FR_REASONING_AUTO, FR_REASONING_ON, FR_REASONING_OFF };
#define FR_CMD_REASONING(where, on)                                                                \
    {                                                                                              \
        .name = "reasoning", .kind = FR_OPT_ENUM, .offset = offsetof(fr_cmd_args, reasoning),      \
        .unset = "auto",                                                                           \
        .help = "thinking" where ": 'off' passes enable_thinking=false to the template and "       \
                "closes thinking that it begins; " on " enable_thinking=true",                     \
        .values = "auto|on|off"                                                                    \
    }
const char *fr_cmd_isa(const fr_cmd_args *args);     // "auto", "avx2", ...
const char *fr_cmd_kv_type(const fr_cmd_args *args); // "f16", "q8_0", ...
fr_kv_type fr_cmd_kv_kind(const fr_cmd_args *args);  // the same as kernels name it

// ---------------------------------------------------------------- report.c
void fr_cmd_speak_as(const char *name); // PROGRAM of all sentences; stays in place
// Prints `PROGRAM: SENTENCE` to stderr and returns the exit code that belongs to the error.
int fr_cmd_fail(const fr_error *err);
int fr_cmd_fail_as(int exit_code, const fr_error *err); // the same sentence, another code
// A wrong command line: the sentence and where to read on. Returns 2.
int fr_cmd_usage(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Checks options that need the machine: --isa, and -m being there. 0, or the exit code.
int fr_cmd_check(const char *command, const fr_cmd_args *args);

// Whether -m means a file: checked when it is opened, after the rest of the command line.
fr_status fr_cmd_model(const fr_cmd_args *args, fr_error *err);

// Prints text from outside, such as a file's name or content. '?' replaces characters that would
// control the terminal (base/clean.h).
void fr_cmd_print_clean(FILE *out, const char *text, size_t bytes);
// The same for all that a format gives, but for newlines.
void fr_cmd_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Prints a document on one line of stdout and drops the reference. value NULL: there was no memory.
int fr_cmd_print_json(json_t *value);
json_t *fr_cmd_real(double x); // null where x is not finite
// Brings out what was printed to stdout; false, also later, when it cannot be written.
bool fr_cmd_flush(void);
// The same with this text at its end, which a reader that is slow gets whole, interrupted or not.
bool fr_cmd_write(const char *text, size_t bytes);
// Ends all output: flushes stdout. The exit code is `code`, or 1 with a sentence if writing failed.
int fr_cmd_end_output(int code);

// Whether text on `out` may have colours: FR_COLOR_AUTO requires a terminal and no NO_COLOR.
enum { FR_COLOR_NEVER, FR_COLOR_AUTO, FR_COLOR_ALWAYS };
bool fr_cmd_colored(int when, FILE *out);

size_t fr_cmd_peak_bytes(void); // peak resident memory of this process
bool fr_cmd_progress(void *user, const char *what, uint64_t done,
                     uint64_t total); // user: fr_progress

// ---------------------------------------------------------------- signal.c
// First of all in main: descriptors 0 to 2 that are closed become /dev/null.
void fr_cmd_open_standard(void);
// Ctrl-C from now on sets the flag; a second one ends the program at once, and removes partly
// written files. Writes beyond a limit of file sizes fail with EFBIG, into a closed pipe with
// EPIPE.
void fr_cmd_catch_interrupts(void);
// Forgets Ctrl-C. From now on it never ends the program at once, however often it comes; a SIGTERM
// is not forgotten.
void fr_cmd_clear_interrupt(void);
bool fr_cmd_interrupted(void);
// Removes files that are half written. Safe in a handler.
void fr_cmd_drop_parts(void);
extern const fr_watch fr_cmd_watch; // wants everything until then

// ---------------------------------------------------------------- bus.c
// From now on a mapped file that becomes shorter ends the program with a sentence that names it.
void fr_cmd_catch_bus_errors(void);

// ---------------------------------------------------------------- input.c
// Reads a whole text file, "-" meaning stdin, of at most FR_INPUT_MAX bytes. It is unpacked where gzip
// packed it, converted to UTF-8 where it is UTF-16, and loses a byte order mark. FR_EIO, FR_ENOMEM,
// FR_EDATA.
#define FR_INPUT_MAX ((size_t)1 << 30)
fr_status fr_cmd_read_file(fr_buffer *out, const char *path, fr_error *err);
// Bytes of the byte order mark that a text in UTF-8 begins with; 0: it has none.
size_t fr_cmd_mark(const char *text, size_t n);
// The length without one newline at the end, LF or CR LF.
size_t fr_cmd_without_newline(const char *text, size_t n);
// The next line without its newline, LF or CR LF, of at most FR_INPUT_MAX bytes; *more false at the end.
fr_status fr_cmd_read_line(fr_buffer *line, FILE *in, const char *name, bool *more, fr_error *err);
// Numbers "1,2,3" of min..max; at most `room`. FR_EARG names `what`.
fr_status fr_cmd_numbers(const char *text, const char *what, int min, int max, int32_t *out,
                         int room, int *n, fr_error *err);
// A time with its unit: "90s", "60m", "1.5h". FR_EARG names `what`.
fr_status fr_cmd_duration(const char *text, const char *what, double *seconds, fr_error *err);
fr_status fr_cmd_unhex(const char *hex, size_t n, fr_buffer *out, fr_error *err);

#endif
