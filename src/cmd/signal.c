// signal.c — Ctrl-C as a flag that the commands look at between two steps.
#define _GNU_SOURCE
#include "cmd/cmd.h"
#include <signal.h>

// A handler can reach nothing else.
static volatile sig_atomic_t interrupted;

static void note(int number) {
    (void)number;
    interrupted = 1;
}

static void catch_with(int flags) {
    // No SA_RESTART, so that waiting for input ends too.
    struct sigaction action = {.sa_handler = note, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void fr_cmd_catch_interrupts(void) {
    catch_with((int)SA_RESETHAND); // whoever presses twice wants out at once
    signal(SIGPIPE, SIG_IGN);      // a closed pipe is a write error, seen where it happens
}

void fr_cmd_clear_interrupt(void) {
    interrupted = 0;
    catch_with(0);
}

bool fr_cmd_interrupted(void) {
    return interrupted;
}
