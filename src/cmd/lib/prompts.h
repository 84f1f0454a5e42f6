// prompts.h — prompt files: JSON lines {"id","task","messages":[{"role":"user","content"}…]},
// the id a text, a whole number or left out.
//
// Only the user's turns count; a system message in front is kept. The answers between them come
// from the model. Read whole and checked at once.
#ifndef FR_CMD_LIB_PROMPTS_H
#define FR_CMD_LIB_PROMPTS_H
#include "cmd/lib/cmd.h"

typedef struct fr_prompt {
    char *id;           // a whole number's digits where it is one; "": none
    const char *system; // NULL: none
    size_t system_bytes;
    const char **turns; // the user's messages
    size_t *turn_bytes;
    int n_turns; // 1 or more
} fr_prompt;

typedef struct fr_prompts { // {0} is empty
    fr_prompt *item;
    int n, cap;
    json_t *lines; // the memory after the strings
} fr_prompts;

// At most `limit` prompts (0: all). FR_EDATA with the line's number; also where there is none.
fr_status fr_prompts_read(fr_prompts *p, const char *path, int limit, fr_error *err);
// The same from texts, each a user's turn; `texts` ends with NULL and must live as long.
fr_status fr_prompts_from(fr_prompts *p, const char *const *texts, int limit, fr_error *err);
void fr_prompts_free(fr_prompts *p);
// Drops prompts of p that are equal (system and turns; ids may differ) to a prompt of `known` or,
// with known == p, to an earlier one. Returns the number of dropped prompts.
int fr_prompts_drop_known(fr_prompts *p, const fr_prompts *known);

#endif
