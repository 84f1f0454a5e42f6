// registry.h — drafters by name.
#ifndef FR_DRAFT_REGISTRY_H
#define FR_DRAFT_REGISTRY_H
#include "decode/drafter.h"

typedef struct fr_drafter_config {
    const fr_model *model;
    int n_ctx;
    bool no_adapt;
    const char *const *options; // NULL-terminated KEY=VALUE list, or NULL
} fr_drafter_config;

// Whether SPEC names a drafter, before anything is loaded. FR_EARG: it does not.
fr_status fr_drafter_check(const char *spec, fr_error *err);

// Opens the drafter that SPEC names ("none" gives NULL: plain decoding; NULL or "auto": the best
// that this model has). `used` (64 bytes) becomes the name of what drafts. FR_EARG: no such drafter
// or option.
fr_status fr_drafter_open(fr_drafter **out, char used[64], const char *spec,
                          const fr_drafter_config *config, fr_error *err);
void fr_drafter_close(fr_drafter *d); // NULL is fine

typedef struct fr_drafter_info {       // for help
    const char *name, *what, *options; // options: lines "KEY=VALUE what", or ""
} fr_drafter_info;
const fr_drafter_info *fr_drafter_info_at(int index); // NULL past the last

// One constructor a method.
fr_status fr_prompt_lookup_open(fr_drafter **out, const fr_drafter_config *config, fr_error *err);

#endif
