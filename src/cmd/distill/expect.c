// expect.c — rows and answers of a capture, estimated from its conversations.
#include "cmd/distill/expect.h"
#include "base/room.h"
#include <string.h>

typedef struct expected {   // tokens that will be captured
    uint64_t rows, answers; // answers: those of answers, among them
} expected;

// An answer is half as long as it may be, and a question half as long as its answer.
static expected expect_own(const fr_distill_plan *p, const fr_distill_jobs *jobs) {
    uint64_t answers = 0;
    for (int i = 0; i < jobs->n; i++) {
        const int turns = fr_distill_prompt(jobs, &jobs->job[i])->n_turns;
        answers += (uint64_t)(p->n_predict * (turns < p->turns ? turns : p->turns)) / 2;
    }
    return (expected){answers + answers / 2, answers};
}

// A token of the text that stands there has about four bytes.
static expected expect_given(const fr_distill_plan *p, const fr_distill_jobs *jobs) {
    expected e = {0};
    for (int i = 0; i < jobs->n; i++) {
        const json_t *messages = json_object_get(fr_distill_line(jobs, &jobs->job[i]), "messages");
        int turns = 0;
        for (size_t k = 0; k < json_array_size(messages); k++) {
            const json_t *m = json_array_get(messages, k);
            const uint64_t n = json_string_length(json_object_get(m, "content")) / 4 + 1;
            const char *role = json_string_value(json_object_get(m, "role"));
            turns += role && !strcmp(role, "user");
            if (turns > p->turns) break;
            e.rows += n;
            if (role && !strcmp(role, "assistant")) e.answers += n;
        }
    }
    return e;
}

fr_status fr_distill_check_room(const fr_distill_plan *plan, const fr_distill_jobs *jobs,
                                uint64_t before, const fr_shard_format *f, fr_error *err) {
    const uint64_t limit = plan->tokens > before ? plan->tokens - before : 0;
    expected e =
        plan->answers == FR_ANSWERS_OWN ? expect_own(plan, jobs) : expect_given(plan, jobs);
    if (plan->tokens && limit < e.answers) {
        e.rows = (uint64_t)((double)e.rows * (double)limit / (double)e.answers);
        e.answers = limit;
    }
    uint64_t bytes = fr_shard_bytes(f, e.rows, e.answers);
    const uint64_t file = bytes < FR_SHARD_BYTES ? bytes : FR_SHARD_BYTES;
    if (plan->seconds > 0) bytes = file; // that amount is not known before
    return fr_room_check(plan->capture, bytes + plan->besides, file, err);
}
