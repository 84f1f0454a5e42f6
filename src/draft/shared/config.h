// config.h — what every drafter is opened with: its configuration, and the reading of its options.
#ifndef FR_DRAFT_SHARED_CONFIG_H
#define FR_DRAFT_SHARED_CONFIG_H
#include "decode/drafter.h"
#include "draft/pack/form.h"
#include "text/tokenizer.h"

typedef struct fr_drafter_config fr_drafter_config;
typedef struct fr_shared fr_shared;               // shared.h
typedef struct fr_draft_batches fr_draft_batches; // kit/draft_batch.h

enum { FR_DRAFTER_NAME = 64 }; // room for what a SPEC is called in reports

// Opens what SPEC describes (registry.h: fr_drafter_open).
typedef fr_status fr_drafter_open_spec_fn(fr_drafter **out, char used[FR_DRAFTER_NAME],
                                          const char *spec, const fr_drafter_config *config,
                                          fr_error *err);

struct fr_drafter_config {
    const fr_model *model;         // the target
    const fr_tokenizer *tokenizer; // of the target; NULL only where no drafter has a vocabulary
    int n_ctx;
    fr_shared *shared; // what others on this engine have opened; NULL: everything is opened anew
    fr_draft_batches *batches; // passes that the drafters of its group share; NULL: it has its own
    bool no_adapt;
    const char *driver;                 // SPEC of what drives its own model; NULL: nothing
    fr_drafter_open_spec_fn *open_spec; // opens the driver; set by the registry
    const char *const *options;         // NULL-terminated KEY=VALUE list, or NULL
};

// `file` is "" where the SPEC names none.
typedef fr_status fr_drafter_open_fn(fr_drafter **out, const char *file,
                                     const fr_drafter_config *config, fr_error *err);

// ---------------------------------------------------------------- options

typedef enum fr_drafter_option_kind {
    FR_DRAFT_INT,  // int
    FR_DRAFT_REAL, // float
    FR_DRAFT_WORD, // int or enum: the place among `words`
    FR_DRAFT_TEXT, // const char *: into the option, valid while the drafter opens
} fr_drafter_option_kind;

typedef struct fr_drafter_option {
    const char *key, *value, *help; // as in "depth", "N", "tokens drafted ahead"; lines of `help`
    fr_drafter_option_kind kind;
    size_t offset;            // of its member in the method's struct
    int least, most;          // of INT (least 0 or more) and REAL
    const char *const *words; // NULL-terminated
} fr_drafter_option;

// Rows of a table: `member` of struct `type`.
#define FR_OPTION_INT(key_, value_, type, member, least_, most_, help_)                            \
    {                                                                                              \
        .key = key_, .value = value_, .help = help_, .kind = FR_DRAFT_INT,                         \
        .offset = offsetof(type, member), .least = least_, .most = most_                           \
    }
#define FR_OPTION_REAL(key_, value_, type, member, least_, most_, help_)                           \
    {                                                                                              \
        .key = key_, .value = value_, .help = help_, .kind = FR_DRAFT_REAL,                        \
        .offset = offsetof(type, member), .least = least_, .most = most_                           \
    }
#define FR_OPTION_WORD(key_, value_, type, member, words_, help_)                                  \
    {                                                                                              \
        .key = key_, .value = value_, .help = help_, .kind = FR_DRAFT_WORD,                        \
        .offset = offsetof(type, member), .words = words_                                          \
    }
#define FR_OPTION_TEXT(key_, value_, type, member, help_)                                          \
    {                                                                                              \
        .key = key_, .value = value_, .help = help_, .kind = FR_DRAFT_TEXT,                        \
        .offset = offsetof(type, member)                                                           \
    }

// The VALUE of KEY=VALUE where KEY is this option's, else NULL.
const char *fr_drafter_option_value(const fr_drafter_option *o, const char *option);
// Writes the value of KEY=VALUE into `self`, by the rows of `table` (ended by one without a key).
// FR_EARG: an unknown key or a wrong value; the sentence lists the options of `name`.
fr_status fr_drafter_read(void *self, const char *name, const fr_drafter_option *table,
                          const char *option, fr_error *err);

// ---------------------------------------------------------------- methods

// The static description of a method: one for each method, in its own file.
typedef struct fr_drafter_method {
    const char *name, *what;
    const char *file;                 // what its FILE is; "": it takes none
    const fr_drafter_option *options; // up to a row without a key
    // The form of its FILE; one that is not named is looked for (pack/find.h). NULL: FILE is no pack.
    const fr_pack_form *pack;
    const char *in_auto; // the SPEC by which `auto` takes a pack that it finds; NULL: it takes none
    int cost;            // of a proposal: the cheaper part of a SPEC proposes first
    fr_drafter_open_fn *open;
} fr_drafter_method;

fr_drafter_open_fn fr_driven_model_open; // of draft-model, where it has a driver

#endif
