// group.h — decoders that share each pass.
//
// A step of a group: every member that decodes proposes; rows are chosen over all of them by what
// they bring and cost together (budget.h); members that still read a prompt add the rows of a
// chunk; one pass; every member verifies, emits, commits, and its drafter observes the result. All
// members have verified before any proposes again, because logits and hidden states are in their
// shared workspace. A row's bits do not depend on its company, so a member's text is the same as
// alone.
#ifndef FR_DECODE_GROUP_H
#define FR_DECODE_GROUP_H
#include "decode/decoder.h"

enum {
    FR_GROUP_MEMBERS = 64,
    FR_GROUP_TAPS = 12,
    FR_GROUP_MAPS = 64,
    FR_GROUP_ROOMS =
        4, // limit of threads that verify: each needs some 50 bytes a token of the vocabulary
};

typedef enum fr_step_phase { // of a step, in this order
    FR_STEP_PROPOSE,         // drafters, with passes of their own
    FR_STEP_ROWS,            // plan and rows, with what drafters attach
    FR_STEP_PASS,            // forward
    FR_STEP_VERIFY,          // draws, and scores of prompts
    FR_STEP_TAKE,            // commit, observe, learn
    FR_STEP_PHASES
} fr_step_phase;

struct fr_decoder_group {
    const fr_model *model;
    fr_forward *forward;
    fr_budget budget;  // of the passes
    double read_times; // plain passes that a pass which reads may take
    int max_taps;
    fr_verify_room room[FR_GROUP_ROOMS];
    int n_rooms;
    fr_decoder *member[FR_GROUP_MEMBERS];
    int n_members;
    // State of the current step.
    fr_row rows[FR_MAX_ROWS];
    int n_rows;
    fr_kv *kv[FR_GROUP_MEMBERS];
    int taps[FR_GROUP_TAPS]; // of all members' drafters, ascending
    int n_taps;
    fr_matrix maps[FR_GROUP_MAPS]; // end to end
    int n_maps;
    fr_extra_rows read; // rows of prompts; before its own are made, those of the step before
    int context;        // committed slots of members that decode, on average
    double seconds_pass, seconds_predicted;
    unsigned float_mode;                   // of the program that called the step
    double since, seconds[FR_STEP_PHASES]; // the end of the phase before; of all steps so far
};

// For decoders of up to n_ctx tokens. FR_ENOMEM.
fr_status fr_decoder_group_open(fr_decoder_group **out, const fr_model *m, int n_ctx,
                                fr_error *err);
// The same with the capacity that one decoder with these needs uses.
fr_status fr_decoder_group_open_one(fr_decoder_group **out, const fr_model *m, int n_ctx,
                                    const fr_needs *needs, fr_error *err);
void fr_decoder_group_close(fr_decoder_group *g); // without members; NULL is fine

// Opens a decoder as a member; fr_decoder_close removes it. FR_ENOMEM; FR_EUNSUP: the group is
// full, or its drafters read more layers, or have more maps, than a pass can hold.
fr_status fr_decoder_join(fr_decoder *d, fr_decoder_group *g, int n_ctx, fr_kv_type kv_type,
                          const fr_needs *needs, fr_error *err);

// What passes of a model cost about, in passes of one row, by the bytes that they read.
fr_cost fr_guessed_cost(const fr_model *m);
// The cost of passes by which trees are sized; NULL or without points: the guessed one.
void fr_decoder_group_cost(fr_decoder_group *g, const fr_cost *cost);

// Allocates memory for scores of tokens (fr_decoder.scores). FR_ENOMEM.
fr_status fr_decoder_group_score(fr_decoder_group *g, fr_error *err);

// For decoder.c: a member comes, begins a text, and goes.
fr_status fr_decoder_group_add(fr_decoder_group *g, fr_decoder *d, const fr_needs *needs,
                               fr_error *err);
void fr_decoder_group_begin(fr_decoder *d);
void fr_decoder_group_remove(fr_decoder_group *g, fr_decoder *d);

// The invariant between steps: members are sound and refer to their group.
bool fr_decoder_group_is_sound(const fr_decoder_group *g);

// Runs one pass of all members that have a turn, and uses up their turns. go_on says of each
// whether it has more to do. False: no member had a turn.
bool fr_decoder_group_step(fr_decoder_group *g);

#endif
