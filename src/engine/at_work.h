// at_work.h — a session or a group within a call of its own, which may call the user's `stream`.
//
// What that calls back is told so (FR_EARG), and a close waits for the call's end.
#ifndef FR_ENGINE_AT_WORK_H
#define FR_ENGINE_AT_WORK_H
#include <stdbool.h>

typedef struct fr_at_work {
    bool inside; // a call that may call `stream`
    int holds;   // calls made of several such, which need the object until their own end
    bool closed; // meanwhile: the object is freed when the outermost call ends
} fr_at_work;

#endif
