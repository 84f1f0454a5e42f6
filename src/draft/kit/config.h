// config.h — what every drafter is opened with: its configuration, and the reading of its options.
#ifndef FR_DRAFT_KIT_CONFIG_H
#define FR_DRAFT_KIT_CONFIG_H
#include "decode/drafter.h"
#include "text/tokenizer.h"

typedef struct fr_drafter_config fr_drafter_config;

// Opens what SPEC describes (registry.h: fr_drafter_open).
typedef fr_status fr_drafter_open_spec_fn(fr_drafter **out, char used[64], const char *spec,
                                          const fr_drafter_config *config, fr_error *err);

struct fr_drafter_config {
    const fr_model *model;         // the target
    const fr_tokenizer *tokenizer; // of the target; NULL only where no drafter has a vocabulary
    int n_ctx;
    bool no_adapt;
    const char *driver;                 // SPEC of what drives its own model; NULL: nothing
    fr_drafter_open_spec_fn *open_spec; // opens the driver; set by the registry
    const char *const *options;         // NULL-terminated KEY=VALUE list, or NULL
};

// One constructor a method. `file` is "" where the SPEC names none.
typedef fr_status fr_drafter_open_fn(fr_drafter **out, const char *file,
                                     const fr_drafter_config *config, fr_error *err);
fr_drafter_open_fn fr_prompt_lookup_open, fr_lookahead_open, fr_rest_open, fr_draft_model_open,
    fr_medusa_open, fr_eagle_open, fr_hidden_state_open, fr_ppd_open, fr_hidden_transfer_open,
    fr_chimera_open, fr_layer_skip_open, fr_early_exit_open,
    fr_driven_model_open; // of draft-model, where it has a driver

// The number of an option KEY=N, from `least` (0 or more) to `most`. FR_EARG.
fr_status fr_drafter_number(int *to, const char *option, int least, int most, fr_error *err);
fr_status fr_drafter_real(float *to, const char *option, int least, int most, fr_error *err);

#endif
