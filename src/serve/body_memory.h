// body_memory.h — the bytes that all requests hold together: bodies while they come, and what is
// made of them.
//
// A request has a share. Requests with a small body may use all of it, large ones leave an eighth
// of it to them. Where there is no room, one of the requests ends that send a body slowly or take
// an answer slowly: the one that has held most bytes for longest. Knows no HTTP and allocates
// nothing for a share.
#ifndef FR_SERVE_BODY_MEMORY_H
#define FR_SERVE_BODY_MEMORY_H
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

enum { FR_BODY_SMALL = 64 << 10 }; // bytes of a small body

typedef struct fr_body_memory fr_body_memory;

typedef struct fr_body_share { // {0} is of none
    fr_body_memory *of;
    struct fr_body_share *before, *after;
    size_t bytes;       // that are held
    size_t come;        // of the body
    bool is_large;      // the body is
    bool sends;         // the body still comes
    bool waits;         // for room: no part of the body is read meanwhile
    bool takes;         // the answer is there, and all that is held
    bool ends;          // it makes room
    double since, last; // when it began, and when a part came last
    double second;      // when the present second of its coming began, ...
    size_t then;        // ... what had come by then, and how much a second came in the one before
    double rate;
    double late;             // when the answer should have been taken
    void (*end)(void *user); // ends what sends the body, soon
    void *user;
} fr_body_share;

// `most` bytes. FR_ENOMEM.
fr_status fr_body_memory_open(fr_body_memory **out, size_t most, fr_error *err);
void fr_body_memory_close(fr_body_memory *b); // all shares have left; NULL is fine
size_t fr_body_memory_most(const fr_body_memory *b, bool large); // that one request may hold

// A request begins to send its body; `now` is of fr_seconds. `end` is called with all locked.
void fr_body_memory_enter(fr_body_memory *b, fr_body_share *s, void (*end)(void *user), void *user,
                          double now);
void fr_body_share_came(fr_body_share *s, size_t bytes, double now); // so much more of the body
void fr_body_share_arrived(fr_body_share *s);                        // the body is there
void fr_body_share_answered(fr_body_share *s, size_t bytes,
                            double now);    // ... and keeps so many at most
void fr_body_share_leave(fr_body_share *s); // gives all back; {0} is fine

// Takes bytes, or nothing: false.
bool fr_body_share_take(fr_body_share *s, size_t bytes);
void fr_body_share_give(fr_body_share *s, size_t bytes);
// Ends a slow one for this one. False: there is none.
bool fr_body_share_displace(fr_body_share *s, double now);
// Takes bytes; where there is no room, displaces others and waits so long for theirs or any.
bool fr_body_share_claim(fr_body_share *s, size_t bytes, double seconds);

// Sums are those of the shares, and none is beyond its limit. For asserts: locked, or unused.
bool fr_body_memory_is_sound(const fr_body_memory *b);

#endif
