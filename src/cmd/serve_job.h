// serve_job.h — what `serve` has open, and how it is opened. Internal to serve*.c.
#ifndef FR_CMD_SERVE_JOB_H
#define FR_CMD_SERVE_JOB_H
#include "cmd/lib/generate.h"
#include "cmd/lib/text.h"
#include "serve/server.h"

enum { FR_SERVE_DRAFTERS = 16, FR_SERVE_KEYS = 256 }; // at most

typedef struct fr_serve_job { // everything that is open
    const fr_cmd_args *args;
    fr_cmd_text text;
    fr_server server;
    fr_api_shown shown;
    fr_http *http;
    char *list; // --drafters, cut up
    const char *drafters[FR_SERVE_DRAFTERS + 2];
    fr_buffer key_file, key_line;
    const char *keys[FR_SERVE_KEYS + 2];
    int n_keys;
    char name[256];
} fr_serve_job;

// Reads --drafters, --api-key and --api-key-file. FR_EARG, FR_EIO, FR_ENOMEM.
fr_status fr_serve_take_lists(fr_serve_job *j, fr_error *err);
// Opens the model, the scheduler and the preparer, and tries the drafters. After an error too the
// caller closes what is open.
fr_status fr_serve_open(fr_serve_job *j, const fr_parsed *parsed, fr_error *err);
void fr_serve_close(fr_serve_job *j); // {0} is fine

#endif
