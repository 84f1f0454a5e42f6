// config_reader.h — reads the keys "ARCH.suffix" of a model file, and remembers which it has read.
//
// Internal to config*.c. The first failure stays: a list of reads is checked once, at its end.
#ifndef FR_MODEL_CONFIG_READER_H
#define FR_MODEL_CONFIG_READER_H
#include "model/config.h"

enum { FR_CONFIG_KEYS = 96 };

typedef struct fr_config_reader {
    const fr_gguf *g;
    const char *arch;
    fr_status status;
    fr_error *err;
    char key[96];                     // the last
    const char *read[FR_CONFIG_KEYS]; // suffixes that were looked for
    int n_read;
    int n_blocks; // of the file, those that guess ahead too: items of an array with one for each
} fr_config_reader;

// Notes the suffix, a string that stays, as read. Returns the whole key, in place until the next call.
const char *fr_config_key(fr_config_reader *r, const char *suffix);

// A key by two names. The second (NULL: none) is that of another program, for files without the first.
typedef struct fr_config_name {
    const char *suffix, *other;
    bool required; // one of them has to be there
} fr_config_name;
// *value keeps its default where the key is absent. FR_EDATA: it is required, no number or outside
// low..high.
void fr_config_int(fr_config_reader *r, fr_config_name name, int low, int high, int *value);
void fr_config_float(fr_config_reader *r, fr_config_name name, float low, float high, float *value);
// A number, or an array of one for each block. FR_EUNSUP: they differ.
void fr_config_layers_int(fr_config_reader *r, fr_config_name name, int low, int high, int *value);

// The keys of RoPE.
void fr_config_rope(fr_config_reader *r, fr_config *c);
// The keys of scales, caps and windows; then the plan of every layer.
void fr_config_plans(fr_config_reader *r, fr_config *c);
// The keys of experts; then which layers have some, by their tensors.
void fr_config_experts(fr_config_reader *r, fr_config *c);
// FR_EUNSUP: a key that would change the text and that no call has read. The sentence names it.
void fr_config_refuse_unread(fr_config_reader *r, const fr_config *c);

#endif
