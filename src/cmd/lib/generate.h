// generate.h — options to engine, session and request; statistics to words and JSON.
#ifndef FR_CMD_LIB_GENERATE_H
#define FR_CMD_LIB_GENERATE_H
#include "cmd/lib/cmd.h"
#include "cmd/lib/text.h"

// Opens the engine that the options describe, with a progress bar on stderr unless --quiet.
fr_status fr_cmd_engine_open(fr_engine **out, const fr_cmd_args *args, fr_error *err);

// Checks --accept and --tree before anything is loaded. 0 or the exit code.
int fr_cmd_check_drafting(const char *command, const fr_cmd_args *args);
// The sampling options; a seed that was not given is drawn at random.
fr_sampling fr_cmd_sampling(const fr_cmd_args *args, bool seed_given);

// Where profiles are kept: forerun/ below $XDG_CACHE_HOME or ~/.cache. False: nowhere.
enum { FR_CMD_PATH = 4096 };
bool fr_cmd_cache_dir(char *dir, size_t room);
// The engine's profile, measured with a progress bar where there is none yet; what was wrong with
// an old one goes to stderr. rounds > 0: passes are measured anew in any case, each that many
// times.
fr_status fr_cmd_profile(fr_engine *engine, const fr_cmd_args *args, int rounds, fr_error *err);

// A session for `spec` (whose profile is taken first, unless it is `none`) whose context holds
// n_tokens, or what --ctx-size says; n_tokens 0: all that the model has. FR_ECONTEXT when a prompt
// of n_prompt tokens does not fit.
fr_status fr_cmd_session_open(fr_session **out, fr_engine *engine, const fr_cmd_args *args,
                              const char *spec, int64_t n_tokens, size_t n_prompt, fr_error *err);

// A stream callback that prints to stdout at once, also after Ctrl-C, and is false then or after a
// write error. user: fr_printer.
typedef struct fr_printer {
    bool colored; // drafted tokens in the colour of their drafter
    bool silent;
} fr_printer;
bool fr_cmd_print_piece(void *user, const fr_piece *piece);

// Rates, 0 where nothing was measured.
double fr_cmd_rate(double count, double seconds);
double fr_cmd_tokens_per_pass(const fr_stats *stats);
double fr_cmd_prompt_rate(
    const fr_stats *stats); // without the last token: it is read with the first answer
const char *fr_cmd_finish(fr_finish finish); // "stop", "length", "interrupted"
// {"DRAFTER": {"NAME": value, ...}, ...}; null is a mean of nothing.
json_t *fr_cmd_draft_counts(const fr_draft_counts *counts);
json_t *fr_cmd_depths(const int64_t *accepted, const int64_t *offered); // shares by depth
// One line on stderr. load < 0: leaves the load time out.
void fr_cmd_print_stats(const fr_stats *stats, double load, uint64_t seed, bool sampled);

#endif
