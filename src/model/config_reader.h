// config_reader.h — reads the keys "ARCH.suffix" of a model file, and remembers which it has read.
//
// Internal to config*.c. The first failure stays: a list of reads is checked once, at its end.
#ifndef FR_MODEL_CONFIG_READER_H
#define FR_MODEL_CONFIG_READER_H
#include "model/config.h"

enum { FR_CONFIG_KEYS = 64 };

typedef struct fr_config_reader {
    const fr_gguf *g;
    const char *arch;
    fr_status status;
    fr_error *err;
    char key[96];                     // the last
    const char *read[FR_CONFIG_KEYS]; // suffixes that were looked for
    int n_read;
    int n_blocks; // of the file: how many numbers an array has that gives one a layer
} fr_config_reader;

// Notes the suffix (a string that stays) as read; returns the whole key, kept until the next.
const char *fr_config_key(fr_config_reader *r, const char *suffix);
// *value is the default where the key is absent. `other` (NULL: none): the name by which another
// program writes the same; it counts where `suffix` is absent.
typedef struct fr_config_name {
    const char *suffix, *other;
    bool required;
} fr_config_name;
void fr_config_int(fr_config_reader *r, fr_config_name name, int low, int high, int *value);
void fr_config_float(fr_config_reader *r, fr_config_name name, float low, float high, float *value);
// A number, or one for each layer: all layers have to have the same.
void fr_config_layers_int(fr_config_reader *r, fr_config_name name, int low, int high, int *value);

// The keys of RoPE.
void fr_config_rope(fr_config_reader *r, fr_config *c);
// Refuses a key that would change the text and that nothing here reads, by its name.
void fr_config_refuse_unread(fr_config_reader *r, const fr_config *c);

#endif
