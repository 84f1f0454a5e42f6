// open.c — from the options to a training: target, data, vocabulary, learner, loop.
#include "base/alloc.h"
#include "base/save.h"
#include "cmd/train/train.h"
#include "draft/pack/block.h"
#include <string.h>
#include <sys/stat.h>

// ---------------------------------------------------------------- data
static fr_status add_folder(fr_training *t, const char *name, fr_error *err) {
    if (t->n_folders == FR_DATASET_FOLDERS)
        return fr_fail(err, FR_EARG, "--data: expected at most %d folders", FR_DATASET_FOLDERS);
    char *copy = fr_alloc_zero(strlen(name) + 1);
    if (!copy) return fr_fail(err, FR_ENOMEM, "train: no memory");
    t->folders[t->n_folders++] = strcpy(copy, name);
    return FR_OK;
}

// Folders of --data as they are; files as "FILE,FILE,...".
static fr_status list_data(fr_training *t, fr_buffer *files, fr_error *err) {
    fr_status st = FR_OK;
    const char *rest = t->args->data;
    char name[FR_TRAINING_PATH];
    while (!st && fr_training_next_data(&rest, name)) {
        struct stat s;
        if (stat(name, &s))
            st = fr_fail(err, FR_EIO, "%s: %m", name);
        else if (S_ISDIR(s.st_mode))
            st = add_folder(t, name, err);
        else if (!(st = fr_buffer_add(files, ",", files->n > 0, err)))
            st = fr_buffer_add(files, name, strlen(name), err);
    }
    return st;
}

// One for each of n folders, 100 in all.
static fr_status read_shares(fr_training *t, int n, fr_error *err) {
    int found, sum = 0;
    if (!t->args->shares) return FR_OK;
    const fr_status st = fr_cmd_numbers(t->args->shares, "--shares", 1, 100, t->shares,
                                        FR_DATASET_FOLDERS, &found, err);
    for (int i = 0; i < found && !st; i++)
        sum += t->shares[i];
    if (st || (found == n && sum == 100)) return st;
    return fr_fail(err, FR_EARG,
                   "--shares %s: expected %d numbers, one for each folder of --data, that are 100 "
                   "together",
                   t->args->shares, n);
}

static fr_status nothing_to_resume(const fr_training *t, fr_error *err) {
    return fr_fail(err, FR_EIO, "%s: there is nothing to resume", t->checkpoint);
}

// Files of conversations become a folder of shards beside the pack, made by process 0. A training
// that has come to a checkpoint has that folder; one that was interrupted before continues it.
static fr_status open_data(fr_training *t, fr_error *err) {
    fr_buffer files = {0};
    char folder[4096];
    fr_status st = list_data(t, &files, err);
    if (!st) st = read_shares(t, t->n_folders + (files.n > 0), err);
    if (!st && !files.n && t->args->given)
        st = fr_fail(err, FR_EARG,
                     "--given: expected files of conversations in --data, found "
                     "folders alone: their answers are those captured");
    if (!st && !files.n && t->args->enough)
        st = fr_fail(err, FR_EARG,
                     "--tokens: expected files of conversations in --data, found folders alone; "
                     "--limit-rows takes a part of what was captured");
    if (!st && !files.n && t->args->resume && !t->resumed) st = nothing_to_resume(t, err);
    if (!st && files.n) {
        snprintf(folder, sizeof folder, "%s.data", t->args->output);
        if (!t->resumed && !t->comm.rank) st = fr_training_answers(t, files.data, folder, err);
        if (!st) st = add_folder(t, folder, err);
    }
    const fr_status own = st;
    fr_comm_share(&t->comm, &st, sizeof st); // the others wait for the files
    fr_comm_share(&t->comm, &t->prepared, sizeof t->prepared);
    if (st && !own) fr_fail(err, st, "train: process 0 could not make the data");
    if (!st) st = own; // of this process alone
    if (!st) st = fr_sources_read(&t->sources, (const char *const *)t->folders, t->n_folders, err);
    fr_buffer_free(&files);
    return st;
}

// ---------------------------------------------------------------- the target
static fr_status open_target(fr_training *t, fr_error *err) {
    const fr_kern *kern;
    fr_status st;
    if ((st = fr_cmd_model(t->args, err))) return st;
    if ((st = fr_gguf_open(&t->gguf, t->args->model, err))) return st;
    fr_gguf_fingerprint(t->gguf, t->fingerprint);
    if ((st = fr_tokenizer_open(&t->tokenizer, t->gguf, err))) return st;
    if ((st = fr_kern_pick(&kern, "auto", err))) return st;
    // A pass and a product never run at once: the pool's threads sleep while those of products
    // work, and the other way round.
    const int all = t->args->threads > 0 ? t->args->threads : fr_pool_default_threads();
    if ((st = fr_pool_open(&t->pool, t->method->passes ? all : 1, err))) return st;
    // Where only single rows of the weights are read, the weights stay in the file.
    return fr_model_open(&t->target, t->gguf, kern, t->pool,
                         t->method->passes ? FR_WEIGHTS_PACKED : FR_WEIGHTS_IN_PLACE,
                         fr_cmd_progress, NULL, err);
}

// Refuses states that name this target but have other sizes.
static fr_status check_format(const fr_training *t, fr_error *err) {
    const fr_config *c = &t->target.config;
    const fr_shard_format *f = &t->data.format;
    if (f->d == c->d && f->n_vocab == c->n_vocab) return FR_OK;
    return fr_fail(err, FR_EDATA,
                   "%s: expected states of %d values and %d tokens, as the model has, found %d and "
                   "%d",
                   t->folders[0], c->d, c->n_vocab, f->d, f->n_vocab);
}

// ---------------------------------------------------------------- vocabulary and learner
// The pack that a training begins with, if there is one: of any drafter, for this target.
static fr_status open_init(fr_training *t, fr_error *err) {
    if (!t->args->init) return FR_OK;
    fr_error why = {0};
    fr_status st = fr_pack_open(&t->init, t->args->init, err);
    if (st || (st = fr_pack_fits(&t->init, &t->target, err))) return st;
    st = fr_pack_check_sum(&t->init, &why);
    return st ? fr_fail(err, st, "%s: %s", t->args->init, why.text) : FR_OK;
}

// The draft vocabulary is that of the pack that the training begins with, or the data's own.
fr_status fr_training_open_vocab(fr_training *t, fr_error *err) {
    const fr_pack *init = &t->init;
    if (init->gguf)
        return fr_draft_vocab_of(&t->vocab, &t->target, &t->data, init->ids, init->n_draft, err);
    return fr_draft_vocab_open(&t->vocab, &t->target, t->tokenizer, &t->data, t->args->vocab,
                               fr_cmd_progress, &t->phase, err);
}

// A pack of another drafter may have nothing but the draft vocabulary in common.
static bool gives_parameters(const fr_pack *init, const fr_learner *l) {
    return !strcmp(init->form->name, l->name) || fr_pack_shares(&l->params, init->gguf);
}

// Taking gigabytes of memory takes time, so Ctrl-C is looked at in between.
static fr_status heard(fr_error *err) {
    return fr_cmd_interrupted() ? fr_fail(err, FR_EINTR, "interrupted") : FR_OK;
}

// Of the block of a pack; 0: it has none.
static float rope_base_of(const fr_pack *p) {
    return p->form && p->form->block ? p->form->block(p)->rope_base : 0;
}

static fr_status make_learner(fr_training *t, const fr_draft_vocab *vocab,
                              const fr_shard_format *format, int max_rows, fr_error *err) {
    const fr_gguf *init = t->init.gguf;
    const fr_learner_config config = {.target = &t->target,
                                      .vocab = vocab,
                                      .format = format,
                                      .gemm = t->gemm,
                                      .depth = t->args->depth,
                                      .max_rows = max_rows,
                                      .seed = t->args->seed,
                                      .rope_base = rope_base_of(&t->init),
                                      .options = t->settings.item};
    fr_status st = heard(err);
    if (!st) st = t->method->open(&t->learner, &config, err);
    if (!st) st = heard(err);
    t->begun = !st && init && gives_parameters(&t->init, t->learner);
    return t->begun ? fr_pack_read(t->learner, init, err) : st;
}

static void close_learner(fr_training *t) {
    if (t->learner) t->learner->ops->close(t->learner);
    t->learner = NULL;
}

// Errors in the settings or in --init are found before answers are written, which may take an hour:
// a learner of one row and with any vocabulary is opened.
static fr_status try_settings(fr_training *t, fr_error *err) {
    const int all = t->target.config.n_vocab, wanted = t->args->vocab;
    fr_shard_format format = {.d = t->target.config.d, .top = FR_SHARD_TOP};
    fr_draft_vocab any = {.n = t->init.gguf ? t->init.n_draft : wanted < all ? wanted : all};
    fr_status st = fr_training_taps(t, format.taps, &format.n_taps, err);
    if (st) return st;
    any.ids = fr_alloc_zero((size_t)any.n * sizeof *any.ids);
    any.index = fr_alloc_zero((size_t)t->target.config.n_vocab * sizeof *any.index);
    any.head = fr_alloc_zero((size_t)any.n * (size_t)format.d * sizeof *any.head);
    st = any.ids && any.index && any.head
             ? make_learner(t, &any, &format, 1, err)
             : fr_fail(err, FR_ENOMEM, "train: no memory for a vocabulary of %d", any.n);
    if (!st) st = fr_training_check_room(t, t->learner, err);
    if (!st) t->room = fr_training_room(t, t->learner);
    close_learner(t);
    fr_draft_vocab_close(&any);
    return st;
}

static fr_status open_learner(fr_training *t, fr_error *err) {
    const fr_status st = fr_training_open_vocab(t, err);
    return st ? st : make_learner(t, &t->vocab, &t->data.format, t->batch_rows, err);
}

// ---------------------------------------------------------------- the loop
static bool watch(void *user, const fr_train *train) {
    if (train->phase.what)
        fr_training_tell_phase(user);
    else
        fr_training_tell(user);
    return !fr_cmd_interrupted();
}

fr_pack_facts fr_training_facts(const fr_training *t) {
    return (fr_pack_facts){.target_name = t->target.config.name,
                           .target = t->fingerprint,
                           .data = (const char *const *)t->sources.name,
                           .n_data = t->sources.n,
                           .answers = !t->sources.given ? "own"
                                      : !t->sources.own ? "given"
                                                        : "own and given",
                           .command = t->command};
}

fr_type fr_training_pack_type(const fr_training *t) {
    return fr_pack_type_at(t->args->pack_type);
}

static fr_status keep(void *user, const fr_train *train, fr_error *err) {
    const fr_training *t = user;
    const fr_train_state *s = &train->state;
    fr_pack_facts facts = fr_training_facts(t);
    facts.rows = s->best_rows;
    facts.steps = s->best_step;
    facts.seconds = s->best_seconds;
    facts.loss = s->best_loss;
    facts.judged = &s->best;
    return fr_pack_write(t->args->output, t->learner, &facts, fr_training_pack_type(t), err);
}

static fr_status open_loop(fr_training *t, fr_error *err) {
    const fr_cmd_args *a = t->args;
    fr_train_config config = {.steps = a->steps,
                              .seconds = t->seconds,
                              .prepared = t->prepared,
                              .rate = t->rate,
                              .rate_end = a->lr_end,
                              .average = a->average,
                              .batch_rows = t->batch_rows,
                              .accumulate = a->accumulate,
                              .judgements = a->judgements,
                              .patience = a->patience,
                              .seed = a->seed,
                              .identity = t->identity,
                              .checkpoint = t->checkpoint,
                              .checkpoint_every = a->every,
                              .resume = t->resumed,
                              .watch = watch,
                              .keep = keep,
                              .user = t};
    const fr_status st = fr_training_check_room(t, t->learner, err);
    for (int i = 0; a->shares && i < t->n_folders; i++)
        config.share[config.n_shares++] = t->shares[i] / 100.0;
    return st ? st : fr_train_open(&t->train, &config, t->learner, &t->data, &t->comm, err);
}

// Whether answers stand there that an interrupted run has begun.
static bool has_answers(const fr_training *t) {
    char folder[4096];
    struct stat s;
    snprintf(folder, sizeof folder, "%s.data", t->args->output);
    return !stat(folder, &s) && S_ISDIR(s.st_mode);
}

// A checkpoint that is there is never written over unasked: --resume continues it, or the user
// removes it.
static fr_status check_outputs(fr_training *t, fr_error *err) {
    struct stat s;
    if (!t->comm.rank) {
        const fr_status st = fr_outputs_lock(&t->locks, "train", t->args, err);
        if (st) return st;
    }
    const int n = snprintf(t->checkpoint, sizeof t->checkpoint, "%s.ckpt", t->args->output);
    if (n < 0 || n >= (int)sizeof t->checkpoint - 8)
        return fr_fail(err, FR_EARG, "-o: too long a path");
    const bool there = !stat(t->checkpoint, &s);
    t->resumed = t->args->resume && there;
    if (t->args->resume && !there && !has_answers(t)) return nothing_to_resume(t, err);
    if (!t->args->resume && there)
        return fr_fail(err, FR_EIO,
                       "%s: a training is kept there: go on with --resume, or remove it",
                       t->checkpoint);
    return t->comm.rank ? FR_OK : fr_save_check(t->args->output, err);
}

fr_status fr_training_begin(fr_training *t, const fr_cmd_args *args,
                            const fr_learner_method *method, fr_error *err) {
    fr_status st;
    t->args = args;
    t->method = method;
    if (args->time && (st = fr_cmd_duration(args->time, "--time", &t->seconds, err))) return st;
    t->batch_rows = args->batch_rows ? args->batch_rows : method->batch_rows;
    if ((st = fr_comm_open(&t->comm, err))) return st;
    if ((st = check_outputs(t, err))) return st;
    if ((st = open_target(t, err))) return st;
    if ((st = fr_gemm_open(&t->gemm, args->threads, FR_GEMM_AUTO, err))) return st;
    if ((st = open_init(t, err))) return st;
    fr_training_fill_settings(t);
    return FR_OK;
}

fr_status fr_training_read(fr_training *t, fr_error *err) {
    const fr_dataset_limits limits = {t->batch_rows, t->args->limit_rows, t->args->held_out};
    fr_status st = open_data(t, err);
    fr_training_open_phase(t, "texts");
    if (!st)
        st = fr_dataset_open(&t->data, (const char *const *)t->folders, t->n_folders,
                             t->fingerprint, &limits, fr_cmd_progress, &t->phase, err);
    return st ? st : check_format(t, err);
}

fr_status fr_training_open(fr_training *t, const fr_cmd_args *args, const char *method,
                           fr_error *err) {
    const fr_learner_method *found;
    fr_status st;
    if ((st = fr_learner_find(&found, method, err))) return st;
    if ((st = fr_training_begin(t, args, found, err))) return st;
    if ((st = try_settings(t, err))) return st;
    st = fr_training_read(t, err);
    if (!st) st = open_learner(t, err);
    fr_progress_clear(&t->phase);
    t->rope_base = rope_base_of(&t->init);
    fr_pack_close(&t->init);
    if (st) return st;
    if (t->rate < 0) t->rate = t->learner->rate;
    fr_training_name_identity(t);
    fr_training_name_command(t);
    return open_loop(t, err);
}

void fr_training_close(fr_training *t) {
    fr_train_close(&t->train);
    close_learner(t);
    fr_pack_close(&t->init);
    fr_gemm_close(t->gemm);
    fr_draft_vocab_close(&t->vocab);
    fr_dataset_close(&t->data);
    for (int i = 0; i < t->n_folders; i++)
        fr_free(t->folders[i]);
    fr_sources_close(&t->sources);
    fr_model_close(&t->target);
    fr_pool_close(t->pool);
    fr_tokenizer_close(t->tokenizer);
    fr_gguf_close(t->gguf);
    fr_outputs_unlock(&t->locks);
}
