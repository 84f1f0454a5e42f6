#include "train/learner/setting.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// What stands after "KEY="; NULL: the word is another key's.
static const char *value_of(const char *word, const char *key) {
    const size_t n = strlen(key);
    return !strncmp(word, key, n) && word[n] == '=' ? word + n + 1 : NULL;
}

bool fr_setting_int(const char *word, const char *key, int min, int max, int *value) {
    const char *text = value_of(word, key);
    char *end;
    if (!text) return false;
    const long number = strtol(text, &end, 10);
    if (end == text || *end || number < min || number > max) return false;
    *value = (int)number;
    return true;
}

bool fr_setting_float(const char *word, const char *key, float min, float max, float *value) {
    const char *text = value_of(word, key);
    char *end;
    if (!text) return false;
    const double number = strtod(text, &end);
    if (end == text || *end || !(number >= (double)min && number <= (double)max)) return false;
    *value = (float)number;
    return true;
}

bool fr_setting_list(const char *word, const char *key, int min, int max, int *value, int room,
                     int *n) {
    const char *at = value_of(word, key);
    for (*n = 0; at && *n < room; at++) {
        char *end;
        const long number = strtol(at, &end, 10);
        if (end == at || number < min || number > max) return false;
        value[(*n)++] = (int)number;
        if (!*end) return true;
        if (*end != ',') return false;
        at = end;
    }
    return false;
}

bool fr_setting_switch(const char *word, const char *key, bool *value) {
    int number = 0;
    if (!fr_setting_int(word, key, 0, 1, &number)) return false;
    *value = number;
    return true;
}
