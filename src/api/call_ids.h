// call_ids.h — ids of calls that every template takes: nine letters and digits, as some insist on.
#ifndef FR_API_CALL_IDS_H
#define FR_API_CALL_IDS_H
#include "json/value.h"

enum { FR_API_ID_LETTERS = 9 };
typedef struct fr_api_call_id {
    char text[FR_API_ID_LETTERS + 1];
} fr_api_call_id;

// Of call i (below 62) of a choice of the answer with that tag (NULL: none): within one choice all
// differ.
fr_api_call_id fr_api_new_call_id(const char *tag, int choice, int i);

// Gives calls and results of a conversation ids of this kind: equal ones stay equal, different ones
// different, and those that are of this kind stay. A missing one is made of its place; a result
// without is that of the next call. `foreign` false: only what is missing is made. The same
// beginning of a conversation gets the same ids, whatever follows. FR_ENOMEM.
fr_status fr_api_map_call_ids(json_t *root, bool foreign, fr_error *err);

#endif
