// accuracy.h — the files of `accuracy` among themselves.
#ifndef FR_CMD_ACCURACY_ACCURACY_H
#define FR_CMD_ACCURACY_ACCURACY_H
#include "cmd/accuracy/ask.h"

enum { FR_ACCURACY_DRAFTERS = 8 };

// JSON of the drafters; NULL: no memory.
json_t *fr_accuracy_json(const fr_asked *asked, int n);
fr_status fr_accuracy_print(const fr_asked *asked, int n, fr_error *err); // FR_ENOMEM
// The shares by distance into a file. FR_EDATA: no guess was right. FR_ENOMEM, FR_EIO.
fr_status fr_accuracy_plot(const fr_asked *asked, int n, const char *model, const char *path,
                           fr_error *err);

#endif
