// train.c — `train`: a drafter for a model, from what the model computed on texts.
#include "cmd/train/train.h"
#include "base/pool.h"
#include "draft/registry.h"
#include "train/learner/pack_write.h"
#include "train/method/learners.h"
#include <stdlib.h>
#include <string.h>

static fr_status run(fr_training *t, const fr_cmd_args *args, const char *method, fr_error *err) {
    fr_status st = fr_training_open(t, args, method, err);
    if (st) return st;
    const bool shown = !args->quiet && !t->comm.rank;
    fr_progress_open(&t->bar, shown ? stderr : NULL, "steps", 1);
    t->bar.start -= t->train.state.seconds;
    t->points_told = t->train.n_points;
    if (shown) fr_training_announce(t);
    st = fr_train_run(&t->train, err);
    fr_training_tell(t);
    fr_progress_clear(&t->bar);
    return st;
}

static int report(const fr_training *t) {
    if (t->comm.rank) return FR_EXIT_DONE;
    if (t->args->json) return fr_cmd_print_json(fr_training_json(t));
    if (!t->args->quiet) fr_training_print(t);
    return FR_EXIT_DONE;
}

int fr_training_check_line(const fr_cmd_args *args) {
    const int code = fr_cmd_check("train", args);
    if (code) return code;
    if (!args->data)
        return fr_cmd_usage("train",
                            "--data: a folder of shards or a file of conversations is needed");
    if (!args->output) return fr_cmd_usage("train", "-o: a FILE for the pack is needed");
    if (!args->time == !args->steps)
        return fr_cmd_usage("train", "--time or --steps: how long is needed, once");
    return FR_EXIT_DONE;
}

static int run_train(const fr_cmd_args *args, const fr_parsed *parsed) {
    int code = fr_training_check_line(args);
    if (code) return code;
    fr_error err = {0};
    fr_training *t = calloc(1, sizeof *t);
    if (!t) {
        fr_fail(&err, FR_ENOMEM, "train: no memory");
        return fr_cmd_fail(&err);
    }
    t->rate = fr_option_given(&fr_cmd_train.table, parsed, "lr") ? args->lr : -1;
    t->vocab_asked = fr_option_given(&fr_cmd_train.table, parsed, "vocab");
    const fr_status st = run(t, args, parsed->args[0], &err);
    if (!st || (st == FR_EINTR && t->train.state.judgements)) code = report(t);
    if (st) code = fr_cmd_fail(&err);
    fr_comm_close(&t->comm, st == FR_EINTR ? 0 : code);
    fr_training_close(t);
    free(t);
    return code;
}

bool fr_training_word(int index, fr_word *word) {
    const fr_learner_method *m = fr_learner_method_at(index);
    if (!m) return false;
    const fr_drafter_method *info = fr_drafter_method_at(fr_drafter_find(m->name, strlen(m->name)));
    *word = (fr_word){m->name, m->what ? m->what : info ? info->what : "", false};
    return true;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option model_options[] = {
    {"model",   'm', FR_OPT_MODEL, AT(model),  "MODEL", NULL, NULL, "the target model: a GGUF file, a folder that holds one, or a name from 'forerun models'", 0, 0, NULL},
    {"threads", 't', FR_OPT_INT,  AT(threads), "N", NULL, "the physical cores this process may use", "number of compute threads", 1, FR_MAX_THREADS, NULL},
    {.name = NULL}};
static const fr_option options[] = {
    {"data",       0,   FR_OPT_FILE,  AT(data),       "DIR|FILE,...", NULL, NULL, "folders of shards, from 'distill --capture' or 'capture'; or files of conversations (JSON lines, plain or gzipped), whose answers the model generates first, into PACK.data", 0, 0, NULL},
    {"given",      0,   FR_OPT_FLAG,  AT(given),      NULL, NULL, NULL, "train on the answers in the files instead of the model's own", 0, 0, NULL},
    {"tokens",     0,   FR_OPT_U64,   AT(enough),     "N", NULL, "as many as --time allows, or 300000", "about how many tokens of answers to generate for conversations in files; answers already begun are completed", 0, 0, NULL},
    {"output",     'o', FR_OPT_FILE,  AT(output),     "PACK", NULL, NULL, "file for the pack; the checkpoint is PACK.ckpt", 0, 0, NULL},
    FR_CMD_FORCE_INIT,
    {"time",       0,   FR_OPT_STRING, AT(time),      "T", NULL, NULL, "total time: 90s, 60m, 2h; four tenths of it are for generating answers, and answers already begun are completed", 0, 0, NULL},
    {"steps",      0,   FR_OPT_U64,   AT(steps),      "N", NULL, NULL, "number of training steps, instead of --time", 0, 0, NULL},
    {"resume",     0,   FR_OPT_FLAG,  AT(resume),     NULL, NULL, NULL, "continue from the checkpoint, or generating answers if there is no checkpoint yet", 0, 0, NULL},
    {"checkpoint-every", 0, FR_OPT_FLOAT, AT(every),  "S", "60", NULL, "seconds between checkpoints", 0, 1e6, NULL},
    {"init",       0,   FR_OPT_FILE,  AT(init),       "PACK", NULL, NULL, "begin with the draft vocabulary of this pack, which may be of another drafter, and with its parameters of the same names", 0, 0, NULL},
    {"type",       0,   FR_OPT_ENUM,  AT(pack_type),  NULL, "q8_0", NULL, "type of the pack's matrices; matrices whose rows are not whole blocks of 256 get q8_0 instead of a K-quant", 0, 0, FR_PACK_TYPES},
    {.name = NULL}};
static const fr_option learning[] = {
    {"depth",      0,   FR_OPT_INT,   AT(depth),      "K", NULL, "the drafter's own", "number of tokens that the drafter learns to draft ahead", 1, FR_DEPTHS, NULL},
    {"vocab",      0,   FR_OPT_INT,   AT(vocab),      "N", "8192", NULL, "size of the draft vocabulary, which has the most frequent tokens of the answers", 1, 1 << 24, NULL},
    {"batch-rows", 0,   FR_OPT_INT,   AT(batch_rows), "N", NULL, "the drafter's own: 1024, 512 with rows attached to the target", "number of rows of a batch, from at most 256 texts; longer texts are cut", 16, 1 << 20, NULL},
    {"accumulate", 0,   FR_OPT_INT,   AT(accumulate), "N", "1", NULL, "number of batches per step (gradient accumulation)", 1, 1 << 16, NULL},
    {"lr",         0,   FR_OPT_FLOAT, AT(lr),         "X", NULL, "the drafter's own: medusa, early-exit 0.002; eagle, hidden-state 0.25 / width; chimera 0.15 / width, a quarter of that with own-heads; ppd 0.2 x the size of an embedding's entries; hidden-transfer 0.0002, 0.001 with start=identity", "highest learning rate; it rises over the first 2 % and then falls along a cosine", 0, 10, NULL},
    {"lr-end",     0,   FR_OPT_FLOAT, AT(lr_end),     "X", FR_OPT_DIGITS(FR_TRAINING_LR_END), NULL, "share of --lr that remains at the end", 0, 1, NULL},
    {"average",    0,   FR_OPT_FLOAT, AT(average),    "X", "0", NULL, "share of the training, at its end, over which parameters are averaged; the mean is judged and stored", 0, 0.5, NULL},
    {"limit-rows", 0,   FR_OPT_U64,   AT(limit_rows), "N", NULL, NULL, "maximum number of rows of the data to train on; 0: all", 0, 0, NULL},
    {"held-out",   0,   FR_OPT_INT,   AT(held_out),   "N", NULL, "2 %, 4 to 64", "number of texts that are held out for judging", 4, 1 << 20, NULL},
    {"judgements", 0,   FR_OPT_INT,   AT(judgements), "N", FR_OPT_DIGITS(FR_TRAINING_JUDGEMENTS), NULL, "number of judgements of the held-out texts, besides one at the start", 1, 1 << 20, NULL},
    {"patience",   0,   FR_OPT_INT,   AT(patience),   "N", FR_OPT_DIGITS(FR_TRAINING_PATIENCE), NULL, "end early after this number of judgements without a gain; 0: never", 0, 1 << 20, NULL},
    {"shares",     0,   FR_OPT_STRING, AT(shares),    "P,P,...", NULL, NULL, "train on the folders of --data one after the other, each for this percentage of the training (files become the last folder); without this option on all at once", 0, 0, NULL},
    {"set",        0,   FR_OPT_LIST,  AT(settings),   "KEY=VALUE", NULL, NULL, "setting of the drafter; may be repeated", 0, 0, NULL},
    {"seed",       's', FR_OPT_U64,   AT(seed),       "N", "0", NULL, "seed of the order of the data and of random initial values", 0, 0, NULL},
    {.name = NULL}};
// clang-format on
const fr_option_group fr_training_model = {"Model", model_options};
const fr_option_group fr_training_options = {"Data and output", options};
const fr_option_group fr_training_learning = {"Learning", learning};

const fr_cmd fr_cmd_train = {
    {.name = "train",
     .summary = "train a drafter for a model",
     .about = "Trains the parameters of a drafter on shards, the states that its target computed "
              "for texts. The target itself does not change. The result is a pack: a small GGUF "
              "file that belongs to this target. An unknown --set lists the settings of the "
              "drafter.\n\nA few texts are held out and judged during training, and the pack has "
              "the parameters that were best on them. It exists from the first judgement on and is "
              "updated. Ctrl-C writes checkpoint and pack; the same command line with --resume "
              "continues. With --steps the result has the same bits as an uninterrupted training, "
              "even after a kill or a power failure.",
     .args = "DRAFTER",
     .min_args = 1,
     .max_args = 1,
     .words = fr_training_word,
     .example = "forerun train medusa -m models/smollm2-135m.gguf --data prompts.jsonl -o "
                "medusa.gguf --time 60m",
     .groups = {&fr_training_options, &fr_training_learning, &fr_training_model,
                &fr_cmd_output_options}},
    run_train};
