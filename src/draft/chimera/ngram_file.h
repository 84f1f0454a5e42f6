// ngram_file.h — the file of an n-gram store: where it lies, and who may do what with it when.
//
// Two locks (flock) keep processes apart. The *door*, on the folder, is held while a process opens
// or closes the store. The *use*, on the file, is shared by all that have it open; who gets it
// alone behind the door knows that nobody has, and may check the file or empty it. The system gives
// both back when a process ends, however it ends.
#ifndef FR_DRAFT_CHIMERA_NGRAM_FILE_H
#define FR_DRAFT_CHIMERA_NGRAM_FILE_H
#include "base/status.h"
#include <limits.h>
#include <sys/types.h>

typedef struct fr_ngram_file {
    char path[PATH_MAX];
    int fd;   // of the file
    int door; // of the folder; -1: not held
    bool alone;
    dev_t device; // which file it is, by whatever path
    ino_t number;
} fr_ngram_file;

// Makes the folder and the file where they are missing. FR_EIO: they cannot be made or written to.
fr_status fr_ngram_file_open(fr_ngram_file *f, const char *folder, fr_error *err);
// Waits for the door, then takes the use; `alone` says how. FR_EIO where the file system has no
// locks.
fr_status fr_ngram_file_enter(fr_ngram_file *f, fr_error *err);
// LMDB writes to its lock file through a map, where a disk without room is a signal and no error:
// so the room is taken before. Only alone. FR_EIO
fr_status fr_ngram_file_take_lock_room(fr_ngram_file *f, int readers, fr_error *err);
fr_status fr_ngram_file_empty(fr_ngram_file *f, fr_error *err); // only alone. FR_EIO
void fr_ngram_file_share(fr_ngram_file *f); // the store is open: others may come in
void fr_ngram_file_leave(fr_ngram_file *f); // the door again, to close the store behind it
void fr_ngram_file_close(fr_ngram_file *f); // gives back file, use and door

#endif
