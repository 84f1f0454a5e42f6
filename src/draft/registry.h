// registry.h — drafters by name, and the drafter that a SPEC describes.
#ifndef FR_DRAFT_REGISTRY_H
#define FR_DRAFT_REGISTRY_H
#include "decode/drafter.h"
#include "text/tokenizer.h"

#define FR_DRAFTER_AUTO "prompt-lookup" // what "auto" stands for where no profile says better

typedef struct fr_drafter_config {
    const fr_model *model;         // the target
    const fr_tokenizer *tokenizer; // of the target; NULL only where no drafter has a vocabulary
    int n_ctx;
    bool no_adapt;
    const char *driver;         // SPEC of what drives its own model; NULL: nothing
    const char *const *options; // NULL-terminated KEY=VALUE list, or NULL
} fr_drafter_config;

// Whether SPEC can be read, before anything is loaded: names, and that files are named where they
// are needed. FR_EARG.
fr_status fr_drafter_check(const char *spec, fr_error *err);

// Opens what SPEC describes ("none" gives NULL: plain decoding; NULL or "auto": the best that this
// model has). `used` (64 bytes) becomes the names of what drafts. FR_EARG: no such drafter or
// option; else what a part's file or memory is at fault for.
fr_status fr_drafter_open(fr_drafter **out, char used[64], const char *spec,
                          const fr_drafter_config *config, fr_error *err);
void fr_drafter_close(fr_drafter *d); // NULL is fine

typedef struct fr_drafter_info {
    const char *name, *what;
    const char *file;    // what its FILE is; "": it takes none
    const char *options; // lines "KEY=VALUE what", or ""
    bool found;          // a FILE that is not named is looked for (pack_find.h)
} fr_drafter_info;
const fr_drafter_info *fr_drafter_info_at(int index); // NULL past the last
int fr_drafter_find(const char *name, size_t bytes);  // its index, or -1

// The number of an option KEY=N, from `least` (0 or more) to `most`. FR_EARG.
fr_status fr_drafter_number(int *to, const char *option, int least, int most, fr_error *err);
fr_status fr_drafter_real(float *to, const char *option, int least, int most, fr_error *err);

// One constructor a method. `file` is "" where the SPEC names none.
typedef fr_status fr_drafter_open_fn(fr_drafter **out, const char *file,
                                     const fr_drafter_config *config, fr_error *err);
fr_drafter_open_fn fr_prompt_lookup_open, fr_lookahead_open, fr_rest_open, fr_draft_model_open,
    fr_medusa_open, fr_eagle_open, fr_hidden_state_open, fr_ppd_open, fr_hidden_transfer_open,
    fr_chimera_open, fr_layer_skip_open, fr_early_exit_open,
    fr_driven_model_open; // of draft-model, where it has a driver

#endif
