// first_run.h — messages about the measurement at a model's first run on a machine.
//
// Messages go to stderr. Callers print them unless --quiet or --json was given.
#ifndef FR_CMD_LIB_FIRST_RUN_H
#define FR_CMD_LIB_FIRST_RUN_H
#include "engine/engine.h"

// One line, while passes are measured: what for.
void fr_cmd_say_measuring(const fr_engine *engine);

// Plain decoding's time over that of what was generated, both by the measured cost of passes, the
// drafter's own time included; 0 where that is unknown.
double fr_cmd_gain(const fr_stats *stats);

// One line after the first answer: what drafting gained and where the measured costs are kept.
// Nothing where there was a profile before, or none could be kept: then every run is a first one.
void fr_cmd_say_first_run(const fr_engine *engine, const fr_stats *stats);

#endif
