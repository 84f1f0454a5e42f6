// file_id.h — which file a path means: the same for all its names, through links too.
#ifndef FR_BASE_FILE_ID_H
#define FR_BASE_FILE_ID_H
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct fr_file_id {
    dev_t device;
    ino_t number;
    char name[NAME_MAX + 1]; // "" if the file exists; if not: its name, `number` being its folder's
} fr_file_id;

// False: neither the file nor the folder that it would be in exists.
bool fr_file_id_of(fr_file_id *id, const char *path);
bool fr_file_id_same(const fr_file_id *a, const fr_file_id *b);
// Whether two paths mean one file, which may not be there yet.
bool fr_same_file(const char *a, const char *b);

#endif
