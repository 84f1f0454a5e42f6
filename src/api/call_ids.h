// call_ids.h — ids of calls that every template accepts: nine letters and digits, as some
// require.
#ifndef FR_API_CALL_IDS_H
#define FR_API_CALL_IDS_H
#include "json/value.h"

enum { FR_API_ID_LETTERS = 9 };
typedef struct fr_api_call_id {
    char text[FR_API_ID_LETTERS + 1];
} fr_api_call_id;

// The id of call i (below 62) of a choice. `tag` names the answer; NULL: it has no name. Within a
// choice all ids differ.
fr_api_call_id fr_api_new_call_id(const char *tag, int choice, int i);

// Gives the calls and results of a conversation ids of this kind. Equal ids stay equal, different
// ones stay different, and an id of this kind stays as it is. A missing one is made from its place;
// a result without an id has that of the next call. `foreign` false: only missing ids are made. The
// same beginning of a conversation gets the same ids, whatever follows. FR_ENOMEM.
fr_status fr_api_map_call_ids(json_t *root, bool foreign, fr_error *err);

#endif
