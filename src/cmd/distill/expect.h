// expect.h — the expected disk use of a capture, computed before it begins.
#ifndef FR_CMD_DISTILL_EXPECT_H
#define FR_CMD_DISTILL_EXPECT_H
#include "cmd/distill/jobs.h"

// FR_EIO where the disk of plan->capture has no room for about what will be captured, beyond the
// `before` tokens of answers that are there (as far as plan->tokens wants more), and for
// plan->besides bytes. Where a clock ends the work: for one file of shards.
fr_status fr_distill_check_room(const fr_distill_plan *plan, const fr_distill_jobs *jobs,
                                uint64_t before, const fr_shard_format *f, fr_error *err);

#endif
