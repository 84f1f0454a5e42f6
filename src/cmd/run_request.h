// run_request.h — `run --request`: the answer that a server gives to a body.
#ifndef FR_CMD_RUN_REQUEST_H
#define FR_CMD_RUN_REQUEST_H
#include "cmd/lib/cmd.h"

// Exit code. Of the command line, --request is given and drafting was checked.
int fr_run_request(const fr_cmd_args *args, const fr_parsed *parsed);

#endif
