// lab.h — the commands that forerun-lab has and forerun has not, or has otherwise.
#ifndef LAB_CMD_LAB_H
#define LAB_CMD_LAB_H
#include "cmd/lib/cmd.h"

extern const fr_cmd lab_cmd_adopt, lab_cmd_hits, lab_cmd_replay, lab_cmd_requantize,
    lab_cmd_similarity, lab_cmd_train;

#endif
