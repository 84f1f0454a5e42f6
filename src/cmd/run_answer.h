// run_answer.h — what `run` prints about an answer of any request.
#ifndef FR_CMD_RUN_ANSWER_H
#define FR_CMD_RUN_ANSWER_H
#include "cmd/lib/generate.h"

typedef struct fr_run_answer {
    const fr_engine *engine;
    const fr_result *result;
    const fr_printer *printer;
    double load;         // seconds
    uint64_t seed;       // of its draws
    bool sampled;        // they were draws
    const char *drafter; // the SPEC as given
    json_t *more;        // members that the document has besides, or NULL; the caller's
} fr_run_answer;

// Prints the document (--json), or the statistics after the text that was streamed. The exit code
// of an answer that is there, in part or whole.
int fr_run_report(const fr_cmd_args *args, const fr_run_answer *answer);

#endif
