#include "lab/draft/options.h"
#include <string.h>

static bool is_of(const fr_drafter_option *table, const char *option) {
    for (const fr_drafter_option *o = table; o->key; o++)
        if (fr_drafter_option_value(o, option)) return true;
    return false;
}

fr_status lab_read_options(void *self, const char *name, const fr_drafter_option *own,
                           const char *const *all, const char *rest[LAB_OPTIONS], fr_error *err) {
    int n = 0;
    fr_status st = FR_OK;
    for (int i = 0; all && all[i] && !st; i++)
        if (is_of(own, all[i]))
            st = fr_drafter_read(self, name, own, all[i], err);
        else if (n < LAB_OPTIONS - 1 - LAB_OPTIONS_ADDED)
            rest[n++] = all[i];
        else
            st = fr_fail(err, FR_EARG, "draft options: expected at most %d",
                         LAB_OPTIONS - 1 - LAB_OPTIONS_ADDED);
    rest[n] = NULL;
    return st;
}
