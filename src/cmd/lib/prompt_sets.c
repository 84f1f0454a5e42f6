#include "cmd/lib/prompt_sets.h"
#include "base/path.h"
#include <stdlib.h>
#include <string.h>

static void name_set(fr_prompt_set *s) {
    const char *name = fr_path_name(s->path);
    const size_t n = strlen(name);
    snprintf(s->name, sizeof s->name, "%.*s", (int)(fr_path_ends(name, ".jsonl") ? n - 6 : n),
             name);
}

// A repeated prompt would count twice, and is no test for a drafter that has seen it before. So
// each is taken at its first place only.
static fr_status read_set(fr_prompt_set *sets, int *n, const char *path, int limit, fr_error *err) {
    if (*n == FR_PROMPT_SETS)
        return fr_fail(err, FR_EARG, "--prompts: more than %d files", FR_PROMPT_SETS);
    for (int i = 0; i < *n; i++)
        if (!strcmp(sets[i].path, path))
            return fr_fail(err, FR_EARG, "--prompts: %s is there twice", path);
    fr_prompt_set *s = &sets[(*n)++];
    *s = (fr_prompt_set){.path = path};
    name_set(s);
    const fr_status st = fr_prompts_read(&s->prompts, path, limit, err);
    if (st) return st;
    s->repeated = fr_prompts_drop_known(&s->prompts, &s->prompts);
    for (int i = 0; i < *n - 1; i++)
        s->repeated += fr_prompts_drop_known(&s->prompts, &sets[i].prompts);
    return s->prompts.n
               ? FR_OK
               : fr_fail(err, FR_EDATA, "%s: every prompt stands in a file before it", path);
}

fr_status fr_prompt_sets_read(fr_prompt_set *sets, int *n, char **paths, const char *files,
                              int limit, fr_error *err) {
    fr_status st = FR_OK;
    *n = 0;
    if (!(*paths = strdup(files))) return fr_fail(err, FR_ENOMEM, "no memory");
    char *rest;
    for (char *s = strtok_r(*paths, ",", &rest); s && !st; s = strtok_r(NULL, ",", &rest))
        st = read_set(sets, n, s, limit, err);
    if (!st && !*n) st = fr_fail(err, FR_EARG, "--prompts: a FILE is needed");
    for (int i = 0, answers = 0; i < *n; i++) {
        sets[i].first_answer = answers;
        for (int k = 0; k < sets[i].prompts.n; k++)
            answers += sets[i].prompts.item[k].n_turns;
    }
    return st;
}
