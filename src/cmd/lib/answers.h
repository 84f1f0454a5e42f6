// answers.h — a drafter over a file of prompts, for commands that look at how it drafts.
//
// Answers are greedy. Only the first turn of a conversation is played. One session serves all
// prompts; every prompt starts a context of its own.
#ifndef FR_CMD_LIB_ANSWERS_H
#define FR_CMD_LIB_ANSWERS_H
#include "cmd/lib/generate.h"
#include "cmd/lib/prompts.h"
#include "cmd/lib/talk.h"

typedef struct fr_answers {
    const fr_cmd_args *args; // n_predict
    fr_engine *engine;       // borrowed
    fr_cmd_text text;
    const fr_prompts *prompts; // borrowed
    const char *what;          // for the progress bar
    uint64_t done, total;      // answers, over all runs
    fr_progress bar;           // of them
    fr_talk talk;
    fr_ids ids;
    int64_t most; // tokens that the longest prompt and its answer need
} fr_answers;

// FR_EDATA where a prompt cannot be put through the template. The arguments must outlive *a.
fr_status fr_answers_open(fr_answers *a, const fr_cmd_args *args, fr_engine *engine,
                          const fr_prompts *prompts, fr_error *err);
void fr_answers_close(fr_answers *a);

// Called for every answer with its prompt's ids, the result, and its session.
typedef void fr_answer_fn(void *user, const fr_ids *prompt, const fr_result *r);
// Opens a session for `spec`, shows it to `opened` (or NULL), answers all prompts,
// each of which it shows to `answered`. FR_EINTR.
fr_status fr_answers_run(fr_answers *a, const char *spec, void (*opened)(void *user, fr_session *s),
                         fr_answer_fn *answered, void *user, fr_error *err);

#endif
