// train.h — a training as the command line describes it: everything opened, in the order needed.
#ifndef FR_CMD_TRAIN_TRAIN_H
#define FR_CMD_TRAIN_TRAIN_H
#include "cmd/output/outputs.h"
#include "draft/pack/pack.h"
#include "train/data/draft_vocab.h"
#include "train/data/sources.h"
#include "train/learner/pack_write.h"
#include "train/method/learners.h"
#include "train/train.h"

// Defaults of options that a pack's command leaves out where they are so.
#define FR_TRAINING_LR_END     0.1
#define FR_TRAINING_JUDGEMENTS 20
#define FR_TRAINING_PATIENCE   6

typedef struct fr_training {
    const fr_cmd_args *args;
    const fr_learner_method *method;
    fr_comm comm;
    fr_output_locks locks;
    fr_gguf *gguf;
    fr_pool *pool;
    fr_tokenizer *tokenizer;
    fr_model target;
    char fingerprint[FR_GGUF_FINGERPRINT];
    char *folders[FR_DATASET_FOLDERS]; // of shards
    int n_folders;
    int shares[FR_DATASET_FOLDERS]; // ... per cent of the way of each; all 0: all at once
    fr_sources sources;             // of these
    fr_dataset data;
    fr_draft_vocab vocab;
    fr_gemm *gemm;
    fr_pack init;        // that of --init, while it opens
    fr_learner *learner; // NULL: the drafter has no learned parameters
    bool begun;          // with the parameters of another pack
    float rope_base;     // ... of its block; 0: it has none
    bool resumed;        // from a checkpoint
    uint64_t room;       // bytes of disk that pack and checkpoint take
    fr_train train;
    char identity[16384], command[8192], checkpoint[4096];
    int batch_rows;
    fr_strings settings; // --set, and the best values for settings that it lacks
    char defaults[FR_LEARNER_DEFAULTS][FR_LEARNER_DEFAULT]; // ... text of these
    double rate;            // --lr; negative on opening: the learner's own
    bool vocab_asked;       // --vocab was given
    double seconds;         // --time; 0: --steps
    double prepared;        // ... of which answers took
    fr_progress bar, phase; // of steps; of what takes long besides
    const char *phase_told; // what
    size_t points_told;
} fr_training;

// The options of `train`, for its table.
extern const fr_option_group fr_training_options, fr_training_learning, fr_training_model;
int fr_training_check_line(const fr_cmd_args *args); // 0, or the exit code
fr_word_at fr_training_word;                         // the methods that are learned

// Opens all of it; `method` is the name on the command line. An error leaves what fr_training_close
// takes away.
fr_status fr_training_open(fr_training *t, const fr_cmd_args *args, const char *method,
                           fr_error *err);
void fr_training_close(fr_training *t);
// Its parts, for a method that learns nothing: target and pack of --init; then the data, answered
// first where files were given; then the draft vocabulary.
fr_status fr_training_begin(fr_training *t, const fr_cmd_args *args,
                            const fr_learner_method *method, fr_error *err);
fr_status fr_training_read(fr_training *t, fr_error *err);
fr_status fr_training_open_vocab(fr_training *t, fr_error *err);
// What every pack says of how it came to be.
fr_pack_facts fr_training_facts(const fr_training *t);

// What the line says of the pack's matrices.
fr_type fr_training_pack_type(const fr_training *t);

// ---------------------------------------------------------------- name.c
// Fills t->identity: what a checkpoint must agree with, and how long the training was to be
// (train/identity.h). What says most of a difference comes first.
void fr_training_name_identity(fr_training *t);
// Fills t->command: the line that makes this pack, with names of files alone, as it goes to other
// machines.
void fr_training_name_command(fr_training *t);

// ---------------------------------------------------------------- recipe.c
enum { FR_TRAIN_MOST_LAYERS = 512 };
// Fills t->settings. Method, target and pack of --init are there.
void fr_training_fill_settings(fr_training *t);
// Layers whose residuals the settings ask for; a target's last one is its final state.
fr_status fr_training_taps(const fr_training *t, int32_t *taps, int *n_taps, fr_error *err);

// ---------------------------------------------------------------- data.c
enum { FR_TRAINING_PATH = 4096 };
// The next of what --data names, of "NAME,NAME,...", which continues after it; false: there is
// none.
bool fr_training_next_data(const char **rest, char name[FR_TRAINING_PATH]);
// Makes shards in `folder` of the conversations in "FILE,FILE,...": answered by the target, within
// its part of t->seconds (0: by tokens), or with the answers that the files hold (--given). Sets
// t->prepared. Continues what an earlier run left.
fr_status fr_training_answers(fr_training *t, const char *files, const char *folder, fr_error *err);

// ---------------------------------------------------------------- room.c
// Bytes of disk that checkpoint and pack of a learner will take, beyond what is there.
uint64_t fr_training_room(const fr_training *t, const fr_learner *l);
// Whether they are free. FR_EIO.
fr_status fr_training_check_room(const fr_training *t, const fr_learner *l, fr_error *err);

// ---------------------------------------------------------------- report.c
void fr_training_announce(const fr_training *t); // prints it and its cost, on stderr
void fr_training_tell(fr_training *t);           // progress, and new points of the curve
void fr_training_tell_phase(fr_training *t);     // how far the loop's phase has come
void fr_training_open_phase(fr_training *t, const char *unit); // a new one, silent for 2 s
json_t *fr_training_json(const fr_training *t);
void fr_training_print(const fr_training *t);

#endif
