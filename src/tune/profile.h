// profile.h — the measurements of one model on one machine, and their file.
//
// A profile holds the cost of passes and, for each drafter that was tuned, the speed predicted from
// this cost and from the acceptance seen on tuning's prompts. It is good for one model file,
// processor, instruction set and number of threads, and for this version of the format. Any other
// profile is refused, the difference is named, and its values are measured anew. The same applies
// to a profile that is damaged in any byte, or names a drafter that this program does not have. The
// file is a GGUF with only metadata and a checksum (`forerun inspect` shows it), written whole or
// not at all.
#ifndef FR_TUNE_PROFILE_H
#define FR_TUNE_PROFILE_H
#include "forerun.h"
#include "gguf/gguf.h"
#include "tree/cost.h"

enum {
    FR_PROFILE_VERSION = 7,   // also counts kernels that change what passes cost
    FR_PROFILE_DRAFTERS = 16, // tuned drafters at most
    FR_PROFILE_SPEC = 512,
};

typedef struct fr_profile_key { // what a profile belongs to
    char model[FR_GGUF_FINGERPRINT];
    char cpu[96], isa[16];
    int threads;
} fr_profile_key;

typedef struct fr_profile_drafter {
    char spec[FR_PROFILE_SPEC];
    double tok_s, plain_tok_s; // predicted
    double tokens_per_pass;    // predicted
    bool gone;                 // found since that it cannot be opened any more; not kept
    bool tuned_here;           // by this process; of others the file has the newest; not kept
} fr_profile_drafter;

typedef struct fr_profile {
    fr_profile_key key;
    fr_cost cost; // n 0: not measured
    int n_drafters;
    fr_profile_drafter drafter[FR_PROFILE_DRAFTERS];
} fr_profile;

// The key of a model in use here. `g` is read at both ends of every tensor.
void fr_profile_key_of(fr_profile_key *key, const fr_gguf *g, const char *isa, int threads);

// The file of a key in folder `dir`, another one for every key, so that machines that share the
// folder keep theirs: 0, or FR_EARG where the path is too long.
fr_status fr_profile_path(const fr_profile_key *key, const char *dir, char *path, size_t room,
                          fr_error *err);

// Reads the profile of `key`. FR_EIO: there is none; FR_EDATA: it is broken; FR_EUNSUP: it is of
// another machine, model or version, which the sentence names. *p is then empty but for its key.
fr_status fr_profile_read(fr_profile *p, const fr_profile_key *key, const char *path,
                          fr_error *err);
// The same from an open file; after an error *p may hold a part.
fr_status fr_profile_take(fr_profile *p, const fr_profile_key *key, const fr_gguf *g,
                          fr_error *err);
// Whether the file's metadata has the mark of a profile.
bool fr_profile_is(const fr_gguf *g);
// The profile of whatever model and machine. FR_EDATA, FR_EUNSUP: broken, of another version; *p
// may then hold a part.
fr_status fr_profile_load(fr_profile *p, const fr_gguf *g, fr_error *err);

// Takes over from the file what other processes have tuned since it was read. A file that cannot be
// read gives nothing.
void fr_profile_merge(fr_profile *p, const char *path);
// The folder is made if it is not there. FR_EIO, FR_ENOMEM; nothing is left half-written.
fr_status fr_profile_write(const fr_profile *p, const char *path, fr_error *err);

// The entry of `spec`, or NULL.
const fr_profile_drafter *fr_profile_find(const fr_profile *p, const char *spec);
// Puts an entry in, over one of the same SPEC or over the slowest where there is no room.
void fr_profile_put(fr_profile *p, const fr_profile_drafter *entry);
// Predicted: times plain decoding's speed; 0 where that is unknown.
double fr_profile_speedup(const fr_profile_drafter *d);
// The drafter predicted to be fastest; NULL where plain decoding is, or nothing was tuned.
const fr_profile_drafter *fr_profile_best(const fr_profile *p);
// Whether there is one that is not gone.
bool fr_profile_holds(const fr_profile *p);

#endif
