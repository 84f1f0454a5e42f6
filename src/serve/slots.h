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
    const char *owner;   // whose text it holds; NULL: nobody's or a text without one
    bool busy;
    bool kept;    // what it holds is for those that come; not where a request reuses nothing
    int n_prompt; // tokens of the last prompt; behind them is its answer
    double used;  // when it was last
} fr_slot;

typedef struct fr_slots_options {
    const char *const *drafters;   // NULL-terminated SPECs, the usual one first
    const char *kv_type, *tree;    // as in fr_session_options
    bool no_adapt;                 // ...
    const char *const *draft_opts; // ... of the usual drafter; the others have none
    int n_ctx;                     // tokens of each
    float prompt_share;            // as in fr_group_options
    int ready, most; // contexts: opened at once, as opening one makes others wait; in all, up to
                     // FR_SLOTS_MOST
} fr_slots_options;

typedef struct fr_slots {
    fr_engine *engine;
    fr_group *group;
    fr_slots_options options;
    fr_slot slot[FR_SLOTS_MOST];
    int n; // that were opened so far
} fr_slots;

// FR_ENOMEM, and what fr_session_open says of a context with the first drafter. The drafters stay in
// place.
fr_status fr_slots_open(fr_slots *s, fr_engine *engine, const fr_slots_options *options,
                        fr_error *err);
void fr_slots_close(fr_slots *s); // a zeroed one is fine

// A context for this prompt, which is busy then; NULL where none is free (FR_OK), or it cannot be
// opened. `forget`: nothing is reused. `wanted`: the context asked for, or -1; where that is busy
// it is NULL. The owner stays in place while the context is open.
fr_status fr_slots_take(fr_slot **out, fr_slots *s, const int32_t *prompt, int n, int drafter,
                        const char *owner, bool forget, int wanted, fr_error *err);
// Whether the context asked for is there and busy: it has to be waited for.
bool fr_slots_is_taken(const fr_slots *s, int drafter, int wanted);
// Tokens of the prompt that some context of the owner has read.
int fr_slots_agree(fr_slots *s, const int32_t *prompt, int n, const char *owner);
// Whether a context is idle, or one more can be opened.
bool fr_slots_have_room(const fr_slots *s);
// Whether they may share what was read.
bool fr_slots_are_of_one(const char *owner, const char *other);
void fr_slots_give_back(fr_slot *slot); // its generation has ended

#endif
