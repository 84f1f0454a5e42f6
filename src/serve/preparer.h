// preparer.h — the work of a request besides its passes: its body is parsed, translated, rendered
// and tokenized, and a large answer is built.
//
// What comes of a small body is done at once by the thread that asks. For large ones there are two
// threads of a lower priority than the passes have, and the shortest is next: however many come,
// and however long, answers go on and short requests are not held up. Work that is not wanted any
// more ends soon, and leaves the queue if it waits there. Knows neither HTTP nor JSON.
#ifndef FR_SERVE_PREPARER_H
#define FR_SERVE_PREPARER_H
#include "base/watch.h"

typedef struct fr_preparer fr_preparer;

fr_status fr_preparer_open(fr_preparer **out, fr_error *err); // FR_ENOMEM
void fr_preparer_close(fr_preparer *p); // nothing is prepared any more; NULL is fine

enum { FR_PREPARER_LARGE = 64 << 10 }; // bytes of a body from which on it is large

// FR_EINTR where the watch said no.
typedef fr_status fr_prepare_fn(void *user, const fr_watch *watch, fr_error *err);

typedef struct fr_preparation {
    fr_prepare_fn *run;
    void *user;
    size_t bytes;                   // of the body
    bool (*is_wanted)(void *asker); // may take as long as a system call
    void *asker;
    double timeout, waited; // seconds of the request, 0: no limit; how many of them are over
    bool ends;              // the end of what was begun, which a draining server still does
} fr_preparation;

// Runs it and waits for its end. What it returned; FR_EINTR, and a sentence why, where it was
// stopped or never begun.
fr_status fr_preparer_run(fr_preparer *p, const fr_preparation *what, fr_error *err);

void fr_preparer_drain(fr_preparer *p); // takes no more, but for ends
void fr_preparer_stop(fr_preparer *p);  // ... and stops what there is
// Waits until nothing waits or is run, at most so long. Whether that is so.
bool fr_preparer_idle(fr_preparer *p, double seconds);
// How many wait for one of the two threads.
int fr_preparer_waits(fr_preparer *p);

// The invariant in preparer.c, for asserts: with its lock held, or while no thread uses it.
bool fr_preparer_is_sound(const fr_preparer *p);

#endif
