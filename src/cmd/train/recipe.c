// recipe.c — settings of the drafter: those of the line, and what is best where it says nothing.
#include "cmd/train/train.h"
#include <string.h>
#include <sys/stat.h>

// Residuals of a low, a middle and a high layer [EAGLE-3, Li et al. 2025, §3]; what is captured
// anew has them, folders of shards may not.
static int default_taps(int n_layer, int *taps) {
    if (n_layer < 8) return 0;
    taps[0] = 2, taps[1] = n_layer / 2, taps[2] = n_layer - 3;
    return 3;
}

static bool names(const fr_strings *settings, const char *key) {
    const size_t n = strlen(key);
    for (int i = 0; i < settings->n; i++)
        if (!strncmp(settings->item[i], key, n)) return true;
    return false;
}

static void append(fr_strings *settings, const char *setting) {
    if (settings->n == FR_OPT_LIST_MAX) return;
    settings->item[settings->n++] = setting;
    settings->item[settings->n] = NULL;
}

static bool files_alone(const char *data) {
    char name[FR_TRAINING_PATH];
    struct stat s;
    while (fr_training_next_data(&data, name))
        if (stat(name, &s) || S_ISDIR(s.st_mode)) return false;
    return true;
}

static bool begins_with(const fr_training *t, fr_pack_kind kind) {
    return t->init.gguf && t->init.kind == kind;
}

// An eagle that goes on from another keeps its layers.
static int wanted_taps(const fr_training *t, int *taps) {
    const fr_pack *init = &t->init;
    if (begins_with(t, FR_PACK_EAGLE)) {
        memcpy(taps, init->taps, (size_t)init->n_taps * sizeof *taps);
        return init->n_taps;
    }
    return files_alone(t->args->data) ? default_taps(t->target.config.n_layer, taps) : 0;
}

static void fill_taps(fr_training *t) {
    int taps[FR_PACK_TAPS];
    const int n = wanted_taps(t, taps);
    if (!n) return;
    size_t at = (size_t)snprintf(t->taps, sizeof t->taps, "taps=%d", taps[0]);
    for (int i = 1; i < n; i++)
        at += (size_t)snprintf(t->taps + at, sizeof t->taps - at, ",%d", taps[i]);
    append(&t->settings, t->taps);
}

// A chain that has learned all its steps would forget the later ones if few were trained again.
static bool begins_with_chain(const fr_training *t) {
    return begins_with(t, FR_PACK_EAGLE) || begins_with(t, FR_PACK_HIDDEN_STATE);
}

void fr_training_fill_settings(fr_training *t) {
    fr_strings *s = &t->settings;
    *s = t->args->settings;
    if (strcmp(t->method->name, "eagle") != 0) return;
    if (!names(s, "taps=")) fill_taps(t);
    if (!names(s, "steps-rise=") && !begins_with_chain(t)) append(s, "steps-rise=1");
}

// tap=LAYER, taps=LAYER,... or exit=LAYER.
fr_status fr_training_taps(const fr_training *t, int32_t *taps, int *n_taps, fr_error *err) {
    const fr_strings *settings = &t->settings;
    *n_taps = 0;
    for (int i = 0; i < settings->n; i++) {
        const char *word = settings->item[i];
        const bool many = !strncmp(word, "taps=", 5);
        if (!many && strncmp(word, "tap=", 4) != 0 && strncmp(word, "exit=", 5) != 0) continue;
        if (!strcmp(word, "taps=none")) continue;
        const fr_status st =
            fr_cmd_numbers(strchr(word, '=') + 1, "--set tap, taps or exit", 0,
                           FR_TRAIN_MOST_LAYERS, taps, many ? FR_SHARD_TAPS : 1, n_taps, err);
        if (st) return st;
        if (many && *n_taps && taps[*n_taps - 1] == t->target.config.n_layer) --*n_taps;
    }
    return FR_OK;
}
