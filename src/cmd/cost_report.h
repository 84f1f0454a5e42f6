// cost_report.h — the measured cost of passes, in a sentence and as JSON.
#ifndef FR_CMD_COST_REPORT_H
#define FR_CMD_COST_REPORT_H
#include "cmd/cmd.h"
#include "tree/cost.h"
#include <jansson.h>

void fr_cost_print(const fr_cost *c); // a line; nothing where nothing was measured
json_t *fr_cost_json(const fr_cost *c);

#endif
