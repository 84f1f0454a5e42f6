// preparer.h — the work of a request besides its passes: its body is parsed, translated, rendered
// and tokenized, and a large answer is built.
// The calling thread does the work of a small body at once. Large bodies have two threads of a
// lower priority than the passes; the shortest waiting body is next. So many or long bodies delay
// neither running answers nor short requests. Work that is not wanted any more ends soon, and
// leaves the queue if it waits there. This file contains neither HTTP nor JSON.
#ifndef FR_SERVE_PREPARER_H
#define FR_SERVE_PREPARER_H
#include "base/watch.h"

typedef struct fr_preparer fr_preparer;

fr_status fr_preparer_open(fr_preparer **out, fr_error *err); // FR_ENOMEM
void fr_preparer_close(fr_preparer *p); // after all work has ended; NULL is fine

enum { FR_PREPARER_LARGE = 64 << 10 }; // bytes; a body of this size or more is large

// Returns FR_EINTR when the watch ends the work.
typedef fr_status fr_prepare_fn(void *user, const fr_watch *watch, fr_error *err);

typedef struct fr_preparation {
    fr_prepare_fn *run;
    void *user;
    size_t bytes;                   // of the body
    bool (*is_wanted)(void *asker); // may take as long as a system call
    void *asker;
    double timeout, waited; // seconds of the request, 0: no limit; seconds that have passed
    bool ends;              // it ends a request that has begun; a draining server still does it
} fr_preparation;

// Runs it and waits for its end. Returns its status, or FR_EINTR and a sentence with the reason if
// it was stopped or never begun.
fr_status fr_preparer_run(fr_preparer *p, const fr_preparation *what, fr_error *err);

void fr_preparer_drain(fr_preparer *p); // refuses new work except `ends`
void fr_preparer_stop(fr_preparer *p);  // ... and stops all work
// Waits, at most so long, until no work waits or runs. True: that was reached.
bool fr_preparer_idle(fr_preparer *p, double seconds);
// Number of bodies that wait for one of the two threads.
int fr_preparer_waits(fr_preparer *p);

// The invariant in preparer.c, for asserts: with its lock held, or while no thread uses it.
bool fr_preparer_is_sound(const fr_preparer *p);

#endif
