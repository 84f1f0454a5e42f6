// signals.h — signals for the program's own threads: threads that the library starts take none.
#ifndef FR_BASE_SIGNALS_H
#define FR_BASE_SIGNALS_H
#include <signal.h>

// Blocks all signals of this thread, which threads that it starts inherit, but those of faults: where a
// thread blocks the signal of its own fault, as SIGBUS of a mapped file that became shorter, the system
// ends the process and calls no handler. *before, which may be NULL, is what fr_signals_restore takes.
static inline void fr_signals_hold(sigset_t *before) {
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGSYS, SIGTRAP};
    sigset_t all;
    sigfillset(&all);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

static inline void fr_signals_restore(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

#endif
