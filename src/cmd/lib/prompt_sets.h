// prompt_sets.h — the prompts of several files, of which each conversation is taken once.
#ifndef FR_CMD_LIB_PROMPT_SETS_H
#define FR_CMD_LIB_PROMPT_SETS_H
#include "cmd/lib/prompts.h"

enum { FR_PROMPT_SETS = 32 };

typedef struct fr_prompt_set { // the prompts of one file
    const char *path;
    char name[64]; // the file's, without folder and ending
    fr_prompts prompts;
    int first_answer; // its turns have numbers from here on
    int repeated;     // prompts left out because they had been seen
} fr_prompt_set;

// Reads "FILE,FILE..." into sets[FR_PROMPT_SETS], of each file at most `limit` prompts (0: all). *n
// counts those that are to be freed, whatever the result; *paths (for free) is the memory after
// their paths. FR_EARG: none, too many, or a file twice; FR_EDATA: a file without a prompt of its
// own.
fr_status fr_prompt_sets_read(fr_prompt_set *sets, int *n, char **paths, const char *files,
                              int limit, fr_error *err);

#endif
