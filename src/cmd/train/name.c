// name.c — what a training is, in words: for its checkpoint, and for the pack that comes of it.
#include "base/path.h"
#include "cmd/train/train.h"
#include "gguf/hash.h"
#include <stdarg.h>
#include <string.h>

// Adds to a text in `room` bytes; one that is cut ends in "...".
__attribute__((format(printf, 3, 4))) static void add(char *to, size_t room, const char *format,
                                                      ...) {
    const size_t n = strlen(to);
    va_list args;
    va_start(args, format);
    const int more = vsnprintf(to + n, room - n, format, args);
    va_end(args);
    if (more > 0 && n + (size_t)more >= room) strcpy(to + room - 4, "...");
}

// Of the samples in their order, and of the folder that each comes from.
static unsigned long long hash_folders(const fr_dataset *d) {
    fr_hash h;
    fr_hash_open(&h, 0);
    for (int i = 0; i < d->n_held + d->n_train; i++) {
        fr_hash_add(&h, &d->place[i].key, sizeof d->place[i].key);
        fr_hash_add(&h, &d->place[i].folder, sizeof d->place[i].folder);
    }
    return fr_hash_value(&h);
}

static unsigned long long hash_vocab(const fr_draft_vocab *v) {
    fr_hash h;
    fr_hash_open(&h, 0);
    fr_hash_add(&h, v->ids, sizeof *v->ids * (size_t)v->n);
    return fr_hash_value(&h);
}

static void add_length(const fr_cmd_args *a, char *to, size_t room) {
    if (a->steps)
        add(to, room, "%llu steps", (unsigned long long)a->steps);
    else
        add(to, room, "%s", a->time);
}

void fr_training_name_identity(fr_training *t) {
    const fr_cmd_args *a = t->args;
    char *to = t->identity;
    const size_t room = sizeof t->identity;
    add(to, room,
        "method=%s\ntarget=%s\nbatch-rows=%d\nbatches of a step=%d\nlr=%.9g\n"
        "depth=%d\nvocab=%d\nseed=%llu\ninit=%s\n",
        t->method->name, t->fingerprint, t->batch_rows, a->accumulate * t->comm.n, t->rate,
        t->learner->depth, t->vocab.n, (unsigned long long)a->seed, a->init ? a->init : "");
    if (a->lr_end != FR_TRAINING_LR_END) add(to, room, "lr-end=%.9g\n", a->lr_end);
    if (a->shares) add(to, room, "shares=%s\n", a->shares);
    if (a->average > 0) add(to, room, "average=%.9g\n", a->average);
    if (t->rope_base > 0 && t->rope_base != 10000)
        add(to, room, "rope-base=%.9g\n", (double)t->rope_base);
    for (int i = 0; i < t->settings.n; i++)
        add(to, room, "set=%s\n", t->settings.item[i]);
    add(to, room, "held-out=%d\nlimit-rows=%llu\ntexts=%d\n", t->data.n_held,
        (unsigned long long)a->limit_rows, t->data.n_train);
    add(to, room, "data=%016llx\n", (unsigned long long)t->data.hash);
    if (a->enough) add(to, room, "tokens=%llu\n", (unsigned long long)a->enough);
    if (a->shares) add(to, room, "folders=%016llx\n", hash_folders(&t->data));
    add(to, room, "draft-vocab=%016llx\nlength=", hash_vocab(&t->vocab));
    add_length(a, to, room);
}

// Options of learning are left out where nothing is learned.
static void name_learning(fr_training *t) {
    const fr_cmd_args *a = t->args;
    char *to = t->command;
    const size_t room = sizeof t->command;
    if (a->lr_end != FR_TRAINING_LR_END) add(to, room, " --lr-end %g", a->lr_end);
    if (a->judgements != FR_TRAINING_JUDGEMENTS) add(to, room, " --judgements %d", a->judgements);
    if (a->patience != FR_TRAINING_PATIENCE) add(to, room, " --patience %d", a->patience);
    if (a->shares) add(to, room, " --shares %s", a->shares);
    if (a->average > 0) add(to, room, " --average %g", a->average);
}

void fr_training_name_command(fr_training *t) {
    const fr_cmd_args *a = t->args;
    char *to = t->command, data[4096] = "";
    const size_t room = sizeof t->command;
    for (int i = 0; i < t->sources.n; i++) // names alone: a pack goes to other machines
        add(data, sizeof data, "%s%s", i ? "," : "", t->sources.name[i]);
    *to = 0;
    add(to, room, "%s train %s -m %s --data %s -o %s --vocab %d --seed %llu", fr_cmd_program.name,
        t->method->name, fr_path_name(a->model), data, fr_path_name(a->output), t->vocab.n,
        (unsigned long long)a->seed);
    if (t->learner)
        add(to, room, " --batch-rows %d --accumulate %d --lr %g --depth %d", t->batch_rows,
            a->accumulate, t->rate, t->learner->depth);
    if (a->steps)
        add(to, room, " --steps %llu", (unsigned long long)a->steps);
    else
        add(to, room, " --time %s", a->time);
    if (a->given) add(to, room, " --given");
    if (a->enough) add(to, room, " --tokens %llu", (unsigned long long)a->enough);
    if (a->limit_rows) add(to, room, " --limit-rows %llu", (unsigned long long)a->limit_rows);
    if (a->held_out) add(to, room, " --held-out %d", a->held_out);
    if (t->learner) name_learning(t);
    for (int i = 0; i < t->settings.n; i++)
        add(to, room, " --set %s", t->settings.item[i]);
    if (a->init) add(to, room, " --init %s", fr_path_name(a->init));
    if (a->pack_type) add(to, room, " --type %s", fr_pack_type_word(a->pack_type));
}
