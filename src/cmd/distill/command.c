// command.c — `distill` and `capture`: training text of the target's own, and its states.
#include "base/pool.h"
#include "cmd/distill/distill.h"
#include "cmd/lib/text.h"
#include "cmd/output/outputs.h"
#include <string.h>

static fr_status read_taps(fr_distill_plan *plan, const char *text, const fr_engine *e,
                           fr_error *err) {
    int32_t layers[FR_SHARD_TAPS];
    if (!text) return FR_OK;
    const fr_status st = fr_cmd_numbers(text, "--taps", 0, e->model.config.n_layer, layers,
                                        FR_SHARD_TAPS, &plan->n_taps, err);
    for (int i = 0; i < plan->n_taps && !st; i++) {
        if (i && layers[i] <= layers[i - 1])
            return fr_fail(err, FR_EARG, "--taps %s: expected ascending layers", text);
        plan->taps[i] = layers[i];
    }
    return st;
}

static int print(const fr_cmd_args *args, const fr_distill_plan *plan, const fr_distill_stats *s) {
    const fr_text_batch_stats *l = &s->members;
    const bool own = plan->answers == FR_ANSWERS_OWN;
    const double tokens = (double)(own ? l->written : l->given);
    const double rate = fr_cmd_rate(tokens, l->seconds);
    // What passes of `width` rows would give if every row were an answer's next token. Texts that are
    // only read are read in longer passes.
    const double best = fr_cmd_rate(plan->width, s->pass_seconds);
    const double share = own && best > 0 ? rate / best : 0;
    if (args->json)
        return fr_cmd_print_json(
            json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, "
                      "s:o, s:I}",
                      "texts", s->texts, "known", s->known, "doubles", s->doubles, "too_long",
                      s->too_long, "unanswered", s->unanswered, "refused", s->refused, "dropped",
                      s->dropped, "tokens", (json_int_t)tokens, "rows", (json_int_t)l->rows,
                      "passes", (json_int_t)l->passes, "seconds", l->seconds, "tok_s", rate,
                      "rows_s", fr_cmd_rate((double)l->rows, l->seconds), "ms_one_row",
                      1e3 * s->seconds_one, "ms_all_rows", 1e3 * s->pass_seconds, "share_of_best",
                      own ? json_real(share) : json_null(), "peak_rss_bytes",
                      (json_int_t)fr_cmd_peak_bytes()));
    if (args->quiet) return FR_EXIT_DONE;
    const double read = own ? tokens : (double)l->rows;
    fprintf(stderr, "%d texts (%d were there, %d too long), %.0f %s in %.0f s: %.1f/s\n", s->texts,
            s->known, s->too_long, read, own ? "tokens of answers" : "rows", l->seconds,
            fr_cmd_rate(read, l->seconds));
    if (s->too_long)
        fprintf(stderr, "%d texts would be longer than the %d tokens of --ctx-size\n", s->too_long,
                s->most);
    if (s->unanswered) fprintf(stderr, "%d conversations have no answer\n", s->unanswered);
    if (s->dropped) fprintf(stderr, "%d texts that were begun are not kept\n", s->dropped);
    if (own && s->texts && s->pass_seconds > 0)
        fprintf(stderr,
                "a pass of %d rows takes %.1f ms, of one %.1f ms: %.2f of %.1f/s, which is %.1f "
                "times one text at a time\n",
                plan->width, 1e3 * s->pass_seconds, 1e3 * s->seconds_one, share, best,
                rate * s->seconds_one);
    return FR_EXIT_DONE;
}

static int run(const char *command, const fr_cmd_args *args, fr_distill_plan *plan) {
    fr_output_locks locks = {0};
    fr_engine *engine = NULL;
    fr_distill_stats stats = {0};
    fr_error err = {0};
    fr_status st = fr_outputs_lock(&locks, command, args, &err);
    if (!st) st = fr_cmd_engine_open(&engine, args, &err);
    if (!st) fr_pool_adapt(engine->pool, false); // all threads, also beside other programs
    if (!st && plan->capture && (st = read_taps(plan, args->taps, engine, &err)) == FR_EARG) {
        fr_engine_close(engine);
        fr_outputs_unlock(&locks);
        return fr_cmd_usage(command, "%s", err.text);
    }
    if (!st && args->ctx) st = fr_config_check_context(&engine->model.config, args->ctx, &err);
    if (!st) st = fr_distill_run(engine, args, plan, &stats, &err);
    fr_engine_close(engine);
    fr_outputs_unlock(&locks);
    const int code = !st || st == FR_EINTR ? print(args, plan, &stats) : FR_EXIT_DONE;
    return st ? fr_cmd_fail(&err) : code;
}

// The question and the template around it need room whatever the answer does.
static int text_limit(int n_predict) {
    return n_predict + (n_predict > 256 ? 2 * n_predict : 512);
}

static int run_distill(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    fr_distill_plan plan = {.files = args->prompts,
                            .limit = args->limit,
                            .answers = FR_ANSWERS_OWN,
                            .width = args->width,
                            .n_predict = args->n_predict,
                            .turns = args->turns,
                            .most = args->ctx ? args->ctx : text_limit(args->n_predict),
                            .sampled = args->sampled,
                            .temp = args->temp,
                            .seed = args->seed,
                            .tokens = args->enough,
                            .output = args->output,
                            .capture = args->capture};
    const int code = fr_cmd_check("distill", args);
    if (code) return code;
    if (!args->prompts) return fr_cmd_usage("distill", "--prompts: a FILE is needed");
    if (!args->output && !args->capture)
        return fr_cmd_usage("distill", "-o: a FILE for the answers is needed, or --capture");
    if (args->output && !strcmp(args->output, "-"))
        return fr_cmd_usage("distill", "-o -: expected a FILE, which the same line goes on with");
    if (args->taps && !args->capture)
        return fr_cmd_usage("distill", "--taps %s: expected --capture, which keeps those layers",
                            args->taps);
    if (plan.most <= plan.n_predict)
        return fr_cmd_usage("distill",
                            "--ctx-size %d: expected more than the %d tokens of an answer",
                            plan.most, plan.n_predict);
    return run("distill", args, &plan);
}

static int run_capture(const fr_cmd_args *args, const fr_parsed *parsed) {
    (void)parsed;
    fr_distill_plan plan = {.files = args->data,
                            .limit = args->limit,
                            .answers = FR_ANSWERS_GIVEN,
                            .width = args->width,
                            .turns = args->turns,
                            .most = args->ctx ? args->ctx : 1024,
                            .tokens = args->enough,
                            .capture = args->output};
    const int code = fr_cmd_check("capture", args);
    if (code) return code;
    if (!args->data) return fr_cmd_usage("capture", "--data: a FILE is needed");
    if (!args->output) return fr_cmd_usage("capture", "-o: a folder for the states is needed");
    return run("capture", args, &plan);
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
#define WIDTH  {"width",  0, FR_OPT_INT, AT(width), "N", "32", NULL, "number of texts processed at the same time", 1, FR_TEXT_BATCH_MAX, NULL}
#define LIMIT  {"limit",  0, FR_OPT_INT, AT(limit), "K", NULL, NULL, "use only the first K conversations of each file; 0: all", 0, 1 << 30, NULL}
#define TURNS  {"turns",  0, FR_OPT_INT, AT(turns), "N", "1", NULL, "use only the first N of the user's turns of each conversation", 1, 64, NULL}
#define ENOUGH {"tokens", 0, FR_OPT_U64, AT(enough), "N", NULL, NULL, "stop after about N tokens of answers; answers already begun (up to --width) are completed; 0: no limit", 0, 0, NULL}
#define TAPS   {"taps",   0, FR_OPT_STRING, AT(taps), "L,L...", NULL, NULL, "also capture the residual after these layers", 0, 0, NULL}
static const fr_option distill_options[] = {
    {"prompts",   0,   FR_OPT_FILE,  AT(prompts),   "FILE,...", NULL, NULL, "files of JSON lines {\"id\",\"messages\":[...]}, plain or gzipped", 0, 0, NULL},
    {"output",    'o', FR_OPT_FILE,  AT(output),    "FILE", NULL, NULL, "file for the answers, JSON lines; answers that it already has are not generated again; an answer is on disk within 5 seconds", 0, 0, NULL},
    {"capture",   0,   FR_OPT_FILE,  AT(capture),   "DIR", NULL, NULL, "folder for the states that the model computes for the answers, for 'train'", 0, 0, NULL},
    FR_CMD_FORCE,
    TAPS,
    {"n-predict", 'n', FR_OPT_INT,   AT(n_predict), "N", "256", NULL, "maximum number of tokens of an answer", 1, 1 << 20, NULL},
    {"ctx-size",  'c', FR_OPT_INT,   AT(ctx),       "N", NULL, "three times --n-predict, but at least 512 tokens more than --n-predict, and at most the model's", "maximum number of tokens of a text; longer texts are left out", 1, 1 << 24, NULL},
    WIDTH, TURNS, LIMIT, ENOUGH,
    {"sampled",   0,   FR_OPT_FLOAT, AT(sampled),   "SHARE", "0.3", NULL, "share of the answers that are sampled; the others are greedy", 0, 1, NULL},
    {"temp",      0,   FR_OPT_FLOAT, AT(temp),      "T", "0.8", NULL, "temperature of sampled answers, which use top-k 40 and top-p 0.95", 0, FR_TEMPERATURE_MAX, NULL},
    {"seed",      's', FR_OPT_U64,   AT(seed),      "N", "0", NULL, "seed of the order, and of the choice of sampled answers", 0, 0, NULL},
    FR_CMD_TEMPLATE, {.name = NULL}};
static const fr_option capture_options[] = {
    {"data",      0,   FR_OPT_FILE,  AT(data),      "FILE,...", NULL, NULL, "files of conversations with their answers: JSON lines {\"id\",\"messages\":[...]}, plain or gzipped", 0, 0, NULL},
    {"output",    'o', FR_OPT_FILE,  AT(output),    "DIR", NULL, NULL, "folder for the shards; conversations that it already has are not computed again", 0, 0, NULL},
    FR_CMD_FORCE,
    TAPS,
    {"ctx-size",  'c', FR_OPT_INT,   AT(ctx),       "N", NULL, "1024, at most the model's", "maximum number of tokens of a text; longer texts are left out", 1, 1 << 24, NULL},
    WIDTH, TURNS, LIMIT, ENOUGH, FR_CMD_TEMPLATE, {.name = NULL}};
// clang-format on
static const fr_option_group distill_group = {"Conversations and answers", distill_options};
static const fr_option_group capture_group = {"Conversations", capture_options};

const fr_cmd fr_cmd_distill = {
    {.name = "distill",
     .summary = "let a model answer many prompts at the same time, for training",
     .about = "Answers the user's turns of many conversations in shared passes. On one machine "
              "this gives several times as many tokens per second as one conversation at a time. "
              "The answers have the bytes that 'run' gives: some are greedy, the others sampled "
              "with a seed derived from the conversation's id, or from its text if it has no id of "
              "its own.\n\nAnswers are streamed to a file. With --capture, the states that the "
              "model computed for them are written to a folder of shards, which 'train' reads. "
              "After an interruption, the same command line continues both.",
     .example = "forerun distill -m models/smollm2-135m.gguf --prompts prompts.jsonl -o "
                "answers.jsonl --capture states",
     .groups = {&distill_group, &fr_cmd_engine_options, &fr_cmd_output_options}},
    run_distill};

const fr_cmd fr_cmd_capture = {
    {.name = "capture",
     .summary = "store a model's states on given conversations, for 'train'",
     .about =
         "Reads conversations that have answers. For every token it stores the final hidden state "
         "and the residuals of chosen layers; for the tokens of answers also the 64 likeliest "
         "tokens with their probabilities. This is for answers that the model did not write "
         "itself. For its own, 'distill --capture' does the same while they are generated.",
     .example = "forerun capture -m models/smollm2-135m.gguf --data answers.jsonl -o states",
     .groups = {&capture_group, &fr_cmd_engine_options, &fr_cmd_output_options}},
    run_capture};
