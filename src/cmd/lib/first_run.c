#include "cmd/lib/first_run.h"
#include "cmd/lib/generate.h"
#include "decode/counts.h"
#include <unistd.h>

enum { PASSES = 8 }; // an answer of fewer shows nothing about drafting

void fr_cmd_say_measuring(const fr_engine *e) {
    fputs(e->profile_found ? "Measuring the passes of this model on this machine again.\n"
                           : "First run of this model on this machine: measuring its passes for "
                             "some seconds, so that only guesses that pay are checked.\n",
          stderr);
}

double fr_cmd_gain(const fr_stats *s) {
    // Drafting was timed by the clock and passes are predicted, so the clock is scaled: the machine
    // was as fast or slow in one as in the other.
    const double scale = fr_cmd_rate(s->predicted, fr_pass_seconds(s->seconds_by_rows));
    return fr_cmd_rate(s->predicted_plain, s->predicted + s->seconds_draft * scale);
}

void fr_cmd_say_first_run(const fr_engine *e, const fr_stats *s) {
    if (!e->profile || e->profile_found || access(e->profile_path, R_OK)) return;
    const double gain = s->passes < PASSES ? 0 : fr_cmd_gain(s);
    fputs("First run: ", stderr);
    if (gain > 0)
        fprintf(stderr, "drafting gave %.1f times the speed of plain decoding for this answer; ",
                gain);
    fr_cmd_print(stderr, "the measurements are stored in %s\n", e->profile_path);
}
