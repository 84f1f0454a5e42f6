// recipe.c — settings of the drafter: those of the command line, and the best defaults for the
// others.
#include "cmd/train/train.h"
#include <string.h>
#include <sys/stat.h>

// Whether one of them has the KEY= that `setting` begins with.
static bool names(const fr_strings *settings, const char *setting) {
    const size_t n = strcspn(setting, "=") + 1;
    for (int i = 0; i < settings->n; i++)
        if (!strncmp(settings->item[i], setting, n)) return true;
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

void fr_training_fill_settings(fr_training *t) {
    const fr_learner_start start = {.n_layer = t->target.config.n_layer,
                                    .init = t->init.gguf ? &t->init : NULL,
                                    .captures = files_alone(t->args->data)};
    fr_strings *s = &t->settings;
    *s = t->args->settings;
    const int n = t->method->defaults ? t->method->defaults(&start, t->defaults) : 0;
    for (int i = 0; i < n; i++)
        if (!names(&t->args->settings, t->defaults[i])) append(s, t->defaults[i]);
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
