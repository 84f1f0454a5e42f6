// play.h — conversations through sessions of a drafter: many in shared passes, or one for itself.
//
// Every conversation has a session of its own, whose turns follow each other as `bench` plays them:
// the answer to one turn stands before the next.
#ifndef LAB_CMD_REPLAY_PLAY_H
#define LAB_CMD_REPLAY_PLAY_H
#include "lab/cmd/replay/replay.h"

typedef struct lab_played { // a turn that is over
    int conversation, turn;
    uint64_t prompt; // its hash
    const fr_result *result;
    lab_copied copied; // where the answer was known
} lab_played;

// Called for every turn that is over. An error ends all.
typedef fr_status lab_turn_fn(void *user, const lab_played *turn, fr_error *err);

// The n conversations of todo[], `width` at a time. known: their answers are there, and passes
// leave out what these contradict. FR_EINTR; FR_EDATA: a prompt is not the one that was answered.
fr_status lab_play_shared(lab_replay *r, const char *spec, const int *todo, int n, bool known,
                          lab_turn_fn *ended, void *user, fr_error *err);
// One conversation as any user decodes it: whole trees, passes of its own.
fr_status lab_play_alone(lab_replay *r, const char *spec, int conversation, lab_turn_fn *ended,
                         void *user, fr_error *err);

#endif
