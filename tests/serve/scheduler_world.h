// scheduler_world.h — a scheduler on a tiny model, jobs for it, and what is right for each.
#ifndef FR_TESTS_SERVE_SCHEDULER_WORLD_H
#define FR_TESTS_SERVE_SCHEDULER_WORLD_H
#include "engine/engine.h"
#include "serve/schedule.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CTX = 160, PROMPT = 100, SPECS = 3 };

typedef struct world {
    fr_engine *engine;
    fr_scheduler *scheduler;
    char model[64], pack[32], spec[64];
    const char *drafters[SPECS + 1];
    void (*act)(void *user);
    void *user;
} world;

typedef struct asked { // a request, and what came of it
    int32_t prompt[PROMPT];
    fr_sampling sampling;
    fr_request request;
    fr_job job;
    bool pinned; // to context 0
    bool usual;  // with the first drafter
} asked;

void world_open(world *w);
void world_schedule(world *w, int slots, int kept, int queue); // opens the scheduler
void world_close(world *w);
// Has `act` called within steps, by the scheduler's thread, as often as a text has rows there.
// Before anything is submitted.
void world_watch(world *w, void (*act)(void *user), void *user);

// A job of any kind.
void fill(asked *a, unsigned *seed, int clients_text);
// Of a prompt that is in place, with what stands in a->job already; and of n letters from `first`
// on.
void prepare_prompt(asked *a, int n, int n_predict);
void submit_prompt(world *w, asked *a, int n, int n_predict);
void prepare_text(asked *a, int32_t first, int n, int n_predict);
void submit_text(world *w, asked *a, int32_t first, int n, int n_predict);
void wait_for_end(asked *a);
// Whether the answer is that of plain decoding of the same request, or its beginning where it was
// broken off.
bool is_right(const world *w, const asked *a);

#endif
