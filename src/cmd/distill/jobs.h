// jobs.h — which conversations are to be gone through, and in what order.
//
// A conversation is known by its id, or by its system message and first question where it has none
// or another one has the same id; of those that are the same the first is done. Those that the
// output or the shards hold already are left out; an answer that was written but not captured is
// listed again, to be read for its states.
#ifndef FR_CMD_DISTILL_JOBS_H
#define FR_CMD_DISTILL_JOBS_H
#include "cmd/distill/distill.h"
#include "cmd/lib/prompts.h"

enum { FR_DISTILL_FILES = 64 };

typedef struct fr_distill_job { // a conversation to come
    uint64_t key;               // what the conversation is known by
    uint64_t text;              // of id and question, never the same where the key is not
    uint64_t order;
    int set, item;
    bool given; // its answers are read, not written
} fr_distill_job;

typedef struct fr_distill_jobs {          // {0} at first
    fr_prompts set[FR_DISTILL_FILES + 1]; // the last: answers of an earlier run
    int n_sets;
    const char *path[FR_DISTILL_FILES + 1]; // of them
    char *paths;                            // the memory after those
    fr_distill_job *job;
    int n, next;
    int known;    // there before
    int doubles;  // left out as another is the same
    int same_ids; // conversations whose id another one has
} fr_distill_jobs;

// Reads the plan's files. FR_EIO, FR_EDATA, FR_ENOMEM; FR_EARG: too many.
fr_status fr_distill_jobs_read(fr_distill_jobs *d, const fr_distill_plan *plan, fr_error *err);
// Lists the work to do, given the output of an earlier run; target: the model's fingerprint;
// present: the captured samples, or NULL. FR_EDATA: the output is another model's, or damaged;
// FR_EIO, FR_ENOMEM.
fr_status fr_distill_jobs_list(fr_distill_jobs *d, const fr_distill_plan *plan, const char *target,
                               const fr_shards *present, fr_error *err);
// Tokens of the answers that the output holds, listed before. FR_ENOMEM.
fr_status fr_distill_jobs_written(const fr_distill_jobs *d, const fr_tokenizer *t, uint64_t *tokens,
                                  fr_error *err);
void fr_distill_jobs_close(fr_distill_jobs *d);

const fr_prompt *fr_distill_prompt(const fr_distill_jobs *d, const fr_distill_job *job);
const json_t *fr_distill_line(const fr_distill_jobs *d, const fr_distill_job *job); // as it stands
// "FILE, prompt N (ID)", for a sentence.
void fr_distill_place(const fr_distill_jobs *d, const fr_distill_job *job, char *text, size_t room);

#endif
