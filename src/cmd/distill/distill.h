// distill.h — runs conversations through a target, many at once: its own answers, and captured
// states.
//
// Two ways: the target answers the user's turns itself (OWN), or the answers in the files are read
// (GIVEN). Answers go to a file of JSON lines, states to a folder of shards; either may be left
// out. Both can be continued: finished work in them is not repeated. Answers that were written but
// not captured when a run ended are read again for their states.
#ifndef FR_CMD_DISTILL_DISTILL_H
#define FR_CMD_DISTILL_DISTILL_H
#include "cmd/lib/generate.h"
#include "train/data/text_batch.h"

typedef enum fr_answers_kind { FR_ANSWERS_OWN, FR_ANSWERS_GIVEN } fr_answers_kind;

typedef struct fr_distill_plan {
    const char *files; // conversations, "FILE,FILE,...", each as prompts.h has them
    int limit;         // of each file; 0: all
    fr_answers_kind answers;
    int width;      // texts at once
    int n_predict;  // most tokens of an answer
    int turns;      // most of the user's turns of a conversation
    int most;       // tokens of a whole text, and never more than the model's context; longer
                    // ones are left out
    double sampled; // share of OWN answers drawn at random; the others are greedy
    double temp;    // of those
    uint64_t seed;
    uint64_t tokens;     // enough: stop when about so many tokens of answers are there, those
                         // of earlier runs among them; 0: no such end
    double seconds;      // ... or so long; 0: no such end
    const char *output;  // JSON lines; NULL: none
    const char *capture; // a folder; NULL: none
    int taps[FR_SHARD_TAPS], n_taps; // layers whose residual is captured
    uint64_t besides; // bytes of disk that what follows needs beside the captured; 0: no room is
                      // asked for
} fr_distill_plan;

typedef struct fr_distill_stats {
    fr_text_batch_stats members;
    int texts, known, doubles;         // done now; there before; left out as another is the same
    int too_long, unanswered, refused; // left out; unanswered: of given answers, without one;
                                       // refused: by the chat template
    char refusal[1024];                // of the first of these, and where it stands
    int dropped;                       // begun when it was interrupted, and not kept
    int most;                          // tokens of a text
    double pass_seconds;               // of a pass of one row in each member
    double seconds_one;                // of a pass of one row
} fr_distill_stats;

// Says on stderr what it will take (unless args->quiet) and does it. FR_EINTR: everything that was
// done is on disk, as after any other error but that of a failed write. FR_EDATA: no text gave a
// result; the sentence has the reason.
fr_status fr_distill_run(fr_engine *engine, const fr_cmd_args *args, const fr_distill_plan *plan,
                         fr_distill_stats *stats, fr_error *err);

#endif
