// ngram_writer.h — n-gram vectors on their way to the disk: a bounded queue, and the one thread
// that empties it.
//
// Adding never waits for the disk: an entry is refused if the queue is full. The thread commits the
// gathered entries when a quarter of the queue is full, a second has passed or a caller waits. So
// one synchronisation of the disk serves many entries.
#ifndef FR_DRAFT_CHIMERA_NGRAM_WRITER_H
#define FR_DRAFT_CHIMERA_NGRAM_WRITER_H
#include "base/alloc.h"
#include "draft/chimera/ngram.h"
#include <pthread.h>

// On the writer's thread: n entries, vectors [n][d]. They are done with when it returns.
typedef void fr_ngram_commit(void *arg, const fr_ngram *keys, const float *vectors, int n);

typedef struct fr_ngram_writer {
    fr_ngram_commit *commit;
    void *arg;
    int d, room;
    fr_ngram *key;  // [room], a ring
    float *vector;  // [room][d]
    fr_arena arena; // of both
    pthread_t thread;
    pthread_mutex_t lock;             // of all below; entries [first, first + n) are the thread's
    pthread_cond_t gathered, emptied; // for the thread; for callers that wait for it
    int first, n;
    uint64_t added, done, wanted; // entries ever; a caller waits until `wanted` are done
    bool closing;
} fr_ngram_writer;

// FR_ENOMEM: no memory or no thread. *w must not move afterwards.
fr_status fr_ngram_writer_open(fr_ngram_writer *w, int d, fr_ngram_commit *commit, void *arg,
                               fr_error *err);
void fr_ngram_writer_close(fr_ngram_writer *w); // commits the queued entries; only an open one

// Copies the entry into the queue; false: it is full.
bool fr_ngram_writer_add(fr_ngram_writer *w, const fr_ngram *key, const float *vector);
// The same, but waits until the queue has space.
void fr_ngram_writer_wait_add(fr_ngram_writer *w, const fr_ngram *key, const float *vector);
void fr_ngram_writer_sync(fr_ngram_writer *w); // until all that was added before is done
// With the lock held: the ring is within its room, and what was added is done or in it.
bool fr_ngram_writer_is_sound(const fr_ngram_writer *w);

#endif
