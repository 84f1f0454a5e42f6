#include "draft/registry.h"
#include <stdio.h>
#include <string.h>

typedef fr_status open_fn(fr_drafter **out, const fr_drafter_config *config, fr_error *err);

static const struct {
    fr_drafter_info info;
    open_fn *open; // NULL: plain decoding
} DRAFTERS[] = {
    {{"none", "plain decoding, one token a pass: the reference", ""}, NULL},
    {{"prompt-lookup", "n-gram match in the text so far",
      "min-score=P   least estimated probability of a candidate, 0 to 1 (default 0.01)\n"
      "matches=N     earlier places looked at, 1 to 16 (default 8)\n"},
     fr_prompt_lookup_open},
};
enum { N_DRAFTERS = sizeof DRAFTERS / sizeof *DRAFTERS };

const fr_drafter_info *fr_drafter_info_at(int index) {
    return index >= 0 && index < N_DRAFTERS ? &DRAFTERS[index].info : NULL;
}

// Its place in the table, or -1.
static int find(const char *spec) {
    if (!spec || !strcmp(spec, "auto")) spec = "prompt-lookup";
    for (int i = 0; i < N_DRAFTERS; i++)
        if (!strcmp(spec, DRAFTERS[i].info.name)) return i;
    return -1;
}

fr_status fr_drafter_check(const char *spec, fr_error *err) {
    if (find(spec) >= 0) return FR_OK;
    return fr_fail(err, FR_EARG, "drafter '%.80s': expected auto, none or prompt-lookup", spec);
}

fr_status fr_drafter_open(fr_drafter **out, char used[64], const char *spec,
                          const fr_drafter_config *config, fr_error *err) {
    *out = NULL;
    fr_status st = fr_drafter_check(spec, err);
    if (st) return st;
    int i = find(spec);
    snprintf(used, 64, "%s", DRAFTERS[i].info.name);
    return DRAFTERS[i].open ? DRAFTERS[i].open(out, config, err) : FR_OK;
}

void fr_drafter_close(fr_drafter *d) {
    if (d) d->ops->close(d);
}
