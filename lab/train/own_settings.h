// own_settings.h — what a training of the lab takes besides the settings of the one that it is made from.
#ifndef LAB_TRAIN_OWN_SETTINGS_H
#define LAB_TRAIN_OWN_SETTINGS_H
#include "base/status.h"
#include <string.h>

// The list of settings in the sentence of an unknown one is made whole; other errors stay.
static inline fr_status lab_add_settings(fr_status st, const char *settings, fr_error *err) {
    if (st != FR_EARG || !err || !strstr(err->text, " knows ")) return st;
    const fr_error inner = *err;
    return fr_fail(err, st, "%s, %s", inner.text, settings);
}

#endif
