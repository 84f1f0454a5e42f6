// slots.h — the contexts of a server: sessions of one group. Some run a request, the others keep
// what they have read for a later request with the same prefix.
//
// A request gets the idle context with the longest common prefix if that is its own conversation,
// so that at most the last answer is overwritten. If the longest common prefix is elsewhere (in
// another conversation, in a busy context, in one of another drafter), it is copied into another
// context (fr_session_adopt), and the original stays. Some contexts are opened at the start, others
// when they are needed, up to options.most; after that the least recently used idle one is
// replaced. Contexts left by requests that reuse nothing are replaced before a further one is
// opened. Not thread-safe: for the scheduler's thread only.
#ifndef FR_SERVE_SLOTS_H
#define FR_SERVE_SLOTS_H
#include "forerun.h"

enum { FR_SLOTS_MOST = 64 };

typedef struct fr_slot { // one context
    fr_session *session; // NULL: not open
    int drafter;         // that it was opened with
    const char *owner;   // owner of its text; NULL: no text, or a text without an owner
    bool busy;
    bool kept;    // later requests may reuse its text; false after a request that reuses nothing
    int n_prompt; // tokens of the last prompt; its answer follows them
    double used;  // when it was last used
} fr_slot;

typedef struct fr_slots_options {
    const char *const *drafters;   // NULL-terminated SPECs, the usual one first
    const char *kv_type, *tree;    // as in fr_session_options
    bool no_adapt;                 // ...
    const char *const *draft_opts; // options of the usual drafter; the others have none
    int n_ctx;                     // tokens of each
    float prompt_share;            // as in fr_group_options
    int ready, most; // contexts: opened at the start, because opening one makes others wait; in
                     // all, up to FR_SLOTS_MOST
} fr_slots_options;

typedef struct fr_slots {
    fr_engine *engine;
    fr_group *group;
    fr_slots_options options;
    fr_slot slot[FR_SLOTS_MOST];
    int n; // contexts opened so far
} fr_slots;

// Errors: FR_ENOMEM, and those of fr_session_open for a context with the first drafter. The
// drafters' strings are borrowed.
fr_status fr_slots_open(fr_slots *s, fr_engine *engine, const fr_slots_options *options,
                        fr_error *err);
void fr_slots_close(fr_slots *s); // a zeroed one is fine

// Takes a context for this prompt and marks it busy. NULL with FR_OK: none is free; NULL with an
// error: it cannot be opened. `forget`: nothing is reused. `wanted`: the number of the only context
// allowed (NULL if it is busy); -1: any. `owner` is borrowed while the context is open.
fr_status fr_slots_take(fr_slot **out, fr_slots *s, const int32_t *prompt, int n, int drafter,
                        const char *owner, bool forget, int wanted, fr_error *err);
// Whether the wanted context exists and is busy, so that the request must wait for it.
bool fr_slots_is_taken(const fr_slots *s, int drafter, int wanted);
// The most tokens of the prompt that one context of the owner has read.
int fr_slots_agree(fr_slots *s, const int32_t *prompt, int n, const char *owner);
// Whether a context is idle, or one more can be opened.
bool fr_slots_have_room(const fr_slots *s);
// Whether two owners are the same and may reuse each other's texts.
bool fr_slots_are_of_one(const char *owner, const char *other);
void fr_slots_give_back(fr_slot *slot); // its generation has ended

#endif
