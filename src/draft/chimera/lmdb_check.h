// lmdb_check.h — whether LMDB may be let near a file.
//
// LMDB follows the numbers that it finds in its pages without a doubt, so that a damaged file can
// crash the process that reads it, and one that seems to read well can lose pages when it is
// written. This walks a file that nobody has open, as LMDB would, but with every number checked
// first: both trees (values and free pages), each page read with pread, used once and of the right
// kind, the nodes inside their page and not over one another, keys in order, every free page free.
// What passes is what LMDB would have written. Knows data files of LMDB 0.9 with one plain table.
#ifndef FR_DRAFT_CHIMERA_LMDB_CHECK_H
#define FR_DRAFT_CHIMERA_LMDB_CHECK_H
#include "base/status.h"

// Called for every entry, in the order of keys. `value` stands at any address. What it returns ends
// the walk unless FR_OK.
typedef fr_status fr_lmdb_visit(void *arg, const void *key, size_t key_bytes, const void *value,
                                size_t bytes, fr_error *err);

// The file of `fd`, whose entries are of at most `most` bytes. FR_EDATA: not sound; FR_EIO: cannot
// be read; FR_ENOMEM; or what `visit` returned. The sentence begins with the part of the file.
fr_status fr_lmdb_check(int fd, size_t most, fr_lmdb_visit *visit, void *arg, fr_error *err);

#endif
