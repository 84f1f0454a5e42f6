// conversation.h — one conversation as ids for the text batch, turn by turn.
//
// OWN: the user's turns one after another, each with the assistant's turn opened for the target to
// write. GIVEN: the whole conversation at once, with a mark on each id of an answer.
#ifndef FR_CMD_DISTILL_CONVERSATION_H
#define FR_CMD_DISTILL_CONVERSATION_H
#include "cmd/distill/jobs.h"
#include "cmd/lib/talk.h"

typedef struct fr_conversations { // what all of them have in common, lent
    const fr_distill_plan *plan;
    const fr_distill_jobs *jobs;
    const fr_cmd_text *text;
} fr_conversations;

typedef struct fr_conversation { // {0} at first, then used again for one job after another
    const fr_distill_job *job;
    fr_talk talk;      // so far
    int turn;          // the user's, counted from 0
    fr_ids ids, was;   // now, and before the last turn where answers are given
    uint8_t *marks[2]; // [0]: of ids, 1 on those of answers that are given; [1]: room
    size_t marks_cap;
} fr_conversation;

// The first text of a job; *text is lent until the next call. text->n is 0 where the answers are
// given and there is none. FR_EDATA: the chat template refuses it; FR_ENOMEM.
fr_status fr_conversation_start(fr_conversation *c, const fr_conversations *all,
                                const fr_distill_job *job, fr_batch_text *text, fr_error *err);
// Adds the target's answer, s->ids after the first n_prompt, as `run` prints it.
fr_status fr_conversation_answered(fr_conversation *c, const fr_conversations *all,
                                   const fr_sample *s, int n_prompt, fr_error *err);
// The user's next turn. *any: there is one that the template accepts, and its answer fits n_ctx
// tokens. Otherwise the conversation is unchanged.
fr_status fr_conversation_next(fr_conversation *c, const fr_conversations *all, int n_ctx,
                               fr_batch_text *text, bool *any, fr_error *err);
void fr_conversation_free(fr_conversation *c);

#endif
