// body_memory.h — a limit on the memory of all requests together: arriving bodies and the data
// made from them.
//
// Each request has a share. Requests with a small body may use all of the memory; large ones leave
// an eighth of it to small ones. When the memory runs out, one request is ended that sends its body
// or takes its answer slowly: the one that has held most bytes for longest. This file contains no
// HTTP, and allocates nothing for a share.
#ifndef FR_SERVE_BODY_MEMORY_H
#define FR_SERVE_BODY_MEMORY_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

enum { FR_BODY_SMALL = 64 << 10 }; // bytes of a small body

typedef struct fr_body_memory fr_body_memory;

typedef struct fr_body_share { // {0}: belongs to no memory
    fr_body_memory *of;
    struct fr_body_share *before, *after;
    size_t bytes;            // held by the request
    size_t come;             // bytes of the body received so far
    bool is_large;           // the body is large
    bool sends;              // the body still arrives
    bool waits;              // for memory; the body is not read meanwhile
    bool takes;              // the client takes the answer, which is all that is held
    bool ends;               // it was chosen to free its memory
    double since, last;      // when the body began, and when its last part arrived
    double second;           // when the current second of receiving began, ...
    size_t then;             // ... and the bytes received by then
    double rate;             // bytes received in the second before
    double late;             // when the answer should have been taken
    void (*end)(void *user); // ends the request's connection, soon
    void *user;
} fr_body_share;

// `most` bytes. FR_ENOMEM.
fr_status fr_body_memory_open(fr_body_memory **out, size_t most, fr_error *err);
void fr_body_memory_close(fr_body_memory *b); // after all shares have left; NULL is fine
size_t fr_body_memory_most(const fr_body_memory *b, bool large); // limit of one request

// A request begins to send its body. `now` is fr_seconds(). `end` is called with the lock held.
void fr_body_memory_enter(fr_body_memory *b, fr_body_share *s, void (*end)(void *user), void *user,
                          double now);
void fr_body_share_came(fr_body_share *s, size_t bytes, double now); // a part of the body arrived
void fr_body_share_arrived(fr_body_share *s);                        // the body is complete
void fr_body_share_answered(fr_body_share *s, size_t bytes,
                            double now);    // keeps at most so many
void fr_body_share_leave(fr_body_share *s); // frees the share; {0} is fine

// Takes bytes. False: not enough are free, and none were taken.
bool fr_body_share_take(fr_body_share *s, size_t bytes);
void fr_body_share_give(fr_body_share *s, size_t bytes);
// Ends a slow request to free memory for this one. False: there is none.
bool fr_body_share_displace(fr_body_share *s, double now);
// Takes bytes. If not enough are free, ends slow requests and waits up to `seconds` for free
// memory.
bool fr_body_share_claim(fr_body_share *s, size_t bytes, double seconds);

// Totals equal the sums of the shares, and no limit is exceeded. For asserts: with the lock held,
// or while no other thread uses it.
bool fr_body_memory_is_sound(const fr_body_memory *b);

#endif
