// replay.h — tokens a pass where the answers are known: what is replayed, between reading
// (replay.c), playing (play.h), the two files (lines.h) and showing (show.c).
//
// Plain decoding answers every conversation once, many at a time. Then, some conversations after
// the other, the target reads the whole text once, and each drafter goes over it: no pass is run
// where it attaches no rows, else passes leave out the rows that the answer contradicts
// (known_answer.h). It proposes and observes what it would without that, so it takes as
// many passes. A share of the conversations is decoded for real too.
#ifndef LAB_CMD_REPLAY_REPLAY_H
#define LAB_CMD_REPLAY_REPLAY_H
#include "cmd/lib/bootstrap.h"
#include "cmd/lib/cmd.h"
#include "cmd/lib/progress.h"
#include "cmd/lib/prompt_sets.h"
#include "engine/engine.h"
#include "lab/cmd/replay/known_text.h"

enum { LAB_REPLAY_DRAFTERS = 64, LAB_KEY = 17, LAB_DAY = 11 };
// Raise it where a drafter begins to propose other trees: results of before are measured again.
enum { LAB_DRAFTING = 2 };

typedef struct lab_turn { // of an answer
    uint64_t prompt;      // hash of the ids before it
    int32_t *ids;         // [n]
    int n;
} lab_turn;

typedef struct lab_conversation {
    const fr_prompt *prompt;
    int set;
    const char *task;  // NULL: the file names none
    char key[LAB_KEY]; // of its text
    lab_turn *turn;    // [prompt->n_turns]
    bool answered;
    fr_known_text text; // the current turn, read
    bool wrong;         // the answer is not the target's: no text serves
} lab_conversation;

typedef struct lab_copied { // of the passes that begin in the copied head of an answer (copied.h)
    int64_t tokens, passes;
} lab_copied;

typedef struct lab_score { // of a conversation by a drafter; all its turns
    bool there, checked;
    bool broken; // other bytes than the answer's, or other numbers than the real run's
    int64_t tokens, passes, rows;
    lab_copied copied; // a part of these
    int64_t accepted[FR_MAX_DEPTH], offered[FR_MAX_DEPTH];
    char date[LAB_DAY]; // when it was measured, 2026-01-31
} lab_score;

typedef struct lab_drafter {
    const char *spec;
    json_t *setup;    // what its results depend on, as setup.c lists it
    lab_score *score; // [n] of the conversations
    int surely;       // the conversation that is checked whatever the share
} lab_drafter;

typedef struct lab_seconds { // that took, in this run
    double answers, replay, check;
    double replayed, checked; // tokens
} lab_seconds;

typedef struct lab_replay {
    const fr_cmd_args *args;
    fr_engine *engine;
    fr_sampling sampling;
    char *paths, *specs; // memory after names
    fr_prompt_set set[FR_PROMPT_SETS];
    int n_sets;
    lab_conversation *item;
    int n;
    lab_drafter drafter[LAB_REPLAY_DRAFTERS];
    int n_drafters;
    fr_progress bar;     // of the current work
    int played, to_play; // its conversations
    int differences;     // real runs and replays that are not the same
    lab_seconds seconds;
} lab_replay;

// Begins a piece of work of so many conversations, which the bar shows.
void lab_replay_begin(lab_replay *r, int to_play);

// ---------------------------------------------------------------- answers.c
// What the answer to a prompt depends on, for both files. NULL: no memory.
json_t *lab_replay_settings(const lab_replay *r);
// Takes the answers of the file, if it is one of this model and these settings, and has plain
// decoding give those that are missing, which are added to it. FR_EDATA, FR_EIO, FR_EINTR, ...
fr_status lab_replay_answer(lab_replay *r, fr_error *err);

// ---------------------------------------------------------------- setup.c
// What results of a drafter depend on, which stands in *setup for the caller to drop, also after an
// error. FR_EIO, FR_ENOMEM, and what opening the drafter says.
fr_status lab_replay_setup(const lab_replay *r, const char *spec, json_t **setup, fr_error *err);

// ---------------------------------------------------------------- results.c
// Takes the results of the file that are wanted here, goes over all others and adds them to it.
fr_status lab_replay_run(lab_replay *r, fr_error *err);
// One result, without what it depends on. NULL: no memory.
json_t *lab_score_json(const lab_replay *r, const lab_drafter *d, int conversation);

// ---------------------------------------------------------------- show.c
json_t *lab_replay_json(const lab_replay *r); // NULL: no memory
void lab_replay_print(const lab_replay *r);   // on stdout

#endif
