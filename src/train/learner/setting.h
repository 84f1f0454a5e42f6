// setting.h — KEY=VALUE words of `--set`: each function returns whether a word has its key and a
// value in range, and then reads the value.
#ifndef FR_TRAIN_LEARNER_SETTING_H
#define FR_TRAIN_LEARNER_SETTING_H
#include <stdbool.h>

bool fr_setting_int(const char *word, const char *key, int min, int max, int *value);
bool fr_setting_float(const char *word, const char *key, float min, float max, float *value);
// Up to `room` numbers, "1,2,3".
bool fr_setting_list(const char *word, const char *key, int min, int max, int *value, int room,
                     int *n);
bool fr_setting_switch(const char *word, const char *key, bool *value); // KEY=0 or 1

#endif
