// slots.c — finds the context with the longest common prefix, among idle ones first. If no
// context agrees, opens one or takes the oldest, and copies what another context has read.
#include "serve/slots.h"
#include "base/clock.h"
#include "decode/group.h"
#include <assert.h>
#include <string.h>

_Static_assert((int)FR_SLOTS_MOST <= (int)FR_GROUP_MEMBERS, "one group holds every context");

enum { FEW = 16 }; // tokens that are not worth another context's loss, or a copy

static fr_status open_slot(fr_slots *s, fr_slot *slot, int drafter, fr_error *err) {
    const fr_session_options o = {.size = sizeof o,
                                  .n_ctx = s->options.n_ctx,
                                  .kv_type = s->options.kv_type,
                                  .drafter = s->options.drafters[drafter],
                                  .tree = s->options.tree,
                                  .no_adapt = s->options.no_adapt,
                                  .draft_opts = drafter ? NULL : s->options.draft_opts,
                                  .group = s->group};
    *slot = (fr_slot){.drafter = drafter};
    return fr_session_open(&slot->session, s->engine, &o, err);
}

fr_status fr_slots_open(fr_slots *s, fr_engine *engine, const fr_slots_options *options,
                        fr_error *err) {
    assert(options->ready >= 1 && options->ready <= options->most &&
           options->most <= FR_SLOTS_MOST);
    const fr_group_options o = {
        .size = sizeof o, .n_ctx = options->n_ctx, .prompt_share = options->prompt_share};
    *s = (fr_slots){.engine = engine, .options = *options};
    fr_status st = fr_group_open(&s->group, engine, &o, err);
    for (; s->n < options->ready && !st; s->n += !st)
        st = open_slot(s, &s->slot[s->n], 0, err);
    if (st) fr_slots_close(s);
    return st;
}

void fr_slots_close(fr_slots *s) {
    for (int i = 0; i < s->n; i++)
        fr_session_close(s->slot[i].session);
    fr_group_close(s->group);
    *s = (fr_slots){0};
}

// ---------------------------------------------------------------- what agrees

bool fr_slots_are_of_one(const char *owner, const char *other) {
    return owner && other ? !strcmp(owner, other) : owner == other;
}

static bool is_owners(const fr_slot *slot, const char *owner) {
    return fr_slots_are_of_one(slot->owner, owner);
}

// Tokens of the prompt that the context has read; 0 where they are another owner's.
static int agrees(const fr_slot *slot, const int32_t *prompt, int n, const char *owner) {
    int known, same = 0;
    const int32_t *ids = fr_session_context(slot->session, &known);
    if (!is_owners(slot, owner)) return 0;
    while (same < n && same < known && ids[same] == prompt[same])
        same++;
    return same;
}

typedef struct found {
    fr_slot *slot;
    int same;
} found;

// The context that agrees longest; of idle ones with this drafter, or of all.
static found longest(fr_slots *s, const int32_t *prompt, int n, const char *owner, bool all,
                     int drafter) {
    found best = {NULL, -1};
    for (int i = 0; i < s->n; i++) {
        fr_slot *slot = &s->slot[i];
        if (!slot->session || (!all && (slot->busy || slot->drafter != drafter))) continue;
        const int same = agrees(slot, prompt, n, owner);
        if (same > best.same) best = (found){slot, same};
    }
    return best;
}

int fr_slots_agree(fr_slots *s, const int32_t *prompt, int n, const char *owner) {
    const int same = longest(s, prompt, n, owner, true, 0).same;
    return same > 0 ? same : 0;
}

bool fr_slots_have_room(const fr_slots *s) {
    for (int i = 0; i < s->n; i++)
        if (!s->slot[i].session || !s->slot[i].busy) return true;
    return s->n < s->options.most;
}

typedef enum which { ANY, SPENT } which; // SPENT: contexts whose text is not reused

// The idle one that was not used for longest; drafter -1: of any.
static fr_slot *oldest(fr_slots *s, int drafter, which of) {
    fr_slot *best = NULL;
    for (int i = 0; i < s->n; i++) {
        fr_slot *slot = &s->slot[i];
        if (!slot->session || slot->busy || (of == SPENT && slot->kept)) continue;
        if (drafter >= 0 && slot->drafter != drafter) continue;
        if (!best || slot->used < best->used) best = slot;
    }
    return best;
}

// ---------------------------------------------------------------- taking one

// A place for one more context; NULL: all are taken.
static fr_slot *place(fr_slots *s) {
    for (int i = 0; i < s->n; i++)
        if (!s->slot[i].session) return &s->slot[i];
    return s->n < s->options.most ? &s->slot[s->n++] : NULL;
}

// A context whose text is not reused, or a further one, or the oldest idle one. It is opened again
// if it has another drafter. NULL: all are busy.
static fr_status fresh(fr_slot **out, fr_slots *s, int drafter, fr_error *err) {
    fr_slot *slot;
    if ((*out = oldest(s, drafter, SPENT))) return FR_OK;
    if ((slot = place(s))) {
        const fr_status st = open_slot(s, slot, drafter, err);
        if (!st) *out = slot;
        if (st != FR_ENOMEM || !oldest(s, -1, ANY)) return st; // else what there is has to do
    }
    if ((slot = oldest(s, drafter, ANY))) {
        *out = slot;
        return FR_OK;
    }
    if (!(slot = oldest(s, -1, ANY))) return FR_OK;
    fr_session_close(slot->session);
    const fr_status st = open_slot(s, slot, drafter, err);
    if (!st) *out = slot;
    return st;
}

static void occupy(fr_slot *slot, const char *owner, bool kept, int n_prompt) {
    slot->owner = owner;
    slot->busy = true;
    slot->kept = kept;
    slot->n_prompt = n_prompt;
    slot->used = fr_seconds();
}

// Whether little is lost, or much agrees and the lost text is not needed: it is not kept, or it is
// an answer that is generated again or continued without its thinking.
static bool is_worth_it(const found *f) {
    int known = 0;
    if (f->same < 1) return false;
    fr_session_context(f->slot->session, &known);
    if (known - f->same < FEW) return true;
    return f->same >= FEW && (!f->slot->kept || f->same + FEW > f->slot->n_prompt);
}

// A context for the prompt, with the part of it copied that other contexts have read.
static fr_status take_any(fr_slot **out, fr_slots *s, const int32_t *prompt, int n, int drafter,
                          const char *owner, fr_error *err) {
    const found idle = longest(s, prompt, n, owner, false, drafter);
    const found any = longest(s, prompt, n, owner, true, drafter);
    fr_session *from = any.slot ? any.slot->session : NULL;
    *out = idle.slot;
    if (is_worth_it(&idle) && idle.same + FEW >= any.same) return FR_OK;
    const fr_status st = fresh(out, s, drafter, err);
    if (st || !*out) return st;
    // The context that was closed for this one may be the one that agreed.
    for (int i = 0; i < s->n; i++)
        if (any.same >= FEW && s->slot[i].session == from && &s->slot[i] != *out)
            return fr_session_adopt((*out)->session, from, err);
    return is_owners(*out, owner) ? FR_OK : fr_session_forget((*out)->session, err);
}

// Whether the named context is open, with this drafter. Otherwise any context may be used.
static bool is_there(const fr_slots *s, int drafter, int wanted) {
    return wanted >= 0 && wanted < s->n && s->slot[wanted].session &&
           s->slot[wanted].drafter == drafter;
}

bool fr_slots_is_taken(const fr_slots *s, int drafter, int wanted) {
    return is_there(s, drafter, wanted) && s->slot[wanted].busy;
}

fr_status fr_slots_take(fr_slot **out, fr_slots *s, const int32_t *prompt, int n, int drafter,
                        const char *owner, bool forget, int wanted, fr_error *err) {
    fr_status st = FR_OK;
    *out = NULL;
    if (fr_slots_is_taken(s, drafter, wanted)) return FR_OK;
    const bool there = is_there(s, drafter, wanted);
    if (there)
        *out = &s->slot[wanted];
    else
        st =
            forget ? fresh(out, s, drafter, err) : take_any(out, s, prompt, n, drafter, owner, err);
    if (st || !*out) return st;
    if (forget || (there && !is_owners(*out, owner))) st = fr_session_forget((*out)->session, err);
    if (!st) occupy(*out, owner, !forget, n);
    return st;
}

void fr_slots_give_back(fr_slot *slot) {
    slot->busy = false;
    slot->used = fr_seconds();
}
