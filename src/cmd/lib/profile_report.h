// profile_report.h — parts of a profile, as `tune` and `inspect` say them.
#ifndef FR_CMD_LIB_PROFILE_REPORT_H
#define FR_CMD_LIB_PROFILE_REPORT_H
#include "cmd/lib/cmd.h"
#include "tune/profile.h"
#include <jansson.h>

void fr_cmd_cost_print(const fr_cost *c); // a line; nothing where nothing was measured
json_t *fr_cmd_cost_json(const fr_cost *c);
json_t *fr_cmd_predicted_json(const fr_profile_drafter *d); // one drafter, what is predicted of it

#endif
