// kv.h — keys and values of one sequence: committed slots, then scratch slots.
//
// Committed slot i holds position i. After them lie the scratch slots of the rows in flight, in
// topological order. Committing a path moves bytes and changes nothing else (RoPE was applied with
// the logical position). K and V lie by blocks of 16 slots, each in its form (kern.h, fr_kv_form).
// Opening may fail, nothing else does.
#ifndef FR_MODEL_KV_H
#define FR_MODEL_KV_H
#include "kern/kern.h"
#include "model/config.h"

// What a cache keeps K and V as. f16+q8_0: K in f16, V in q8_0.
typedef enum fr_kv_type { FR_KV_F16, FR_KV_Q8_0, FR_KV_F16_Q8_0, FR_KV_TYPES } fr_kv_type;

typedef struct fr_kv {
    fr_kv_type type;
    fr_kv_form k_form, v_form; // that the type has
    int n_layer, n_kv, head_dim;
    int n_ctx;       // most committed slots
    int max_scratch; // slots after them, fr_most_rows; all rounded up to 16
    int n_committed, n_scratch;
    bool stretched;               // keys are rotated by the model's long table (model.h)
    uint8_t *k, *v;               // [layer][kv head][plane]
    size_t k_plane, v_plane;      // bytes of one head's K, of its V
    size_t bytes;                 // of k and v together
    int32_t pos[FR_MAX_SCRATCH];  // logical position of a scratch slot
    int16_t join[FR_MAX_SCRATCH]; // first layer whose K and V the slot holds
    uint64_t ancestors[FR_MAX_SCRATCH][FR_MAX_SCRATCH / 64]; // bit set: itself and its ancestors
} fr_kv;
// Invariant: 0 <= n_committed <= n_ctx, with room for all scratch slots after; 0 <= n_scratch <=
// max_scratch; a scratch slot is its own ancestor, its others have lower numbers.

const char *fr_kv_type_name(fr_kv_type type); // "f16", "q8_0", "f16+q8_0"
// NULL is f16. FR_EARG: no type has that name.
fr_status fr_kv_type_of(fr_kv_type *type, const char *name, fr_error *err);
bool fr_kv_holds(fr_kv_type type, int head_dim);                    // q8_0: groups of 32 values
size_t fr_kv_bytes(const fr_config *c, int n_ctx, fr_kv_type type); // memory of K and V
// FR_EUNSUP: `type` does not hold heads of this size; FR_ENOMEM.
fr_status fr_kv_open(fr_kv *kv, const fr_config *c, int n_ctx, fr_kv_type type, fr_error *err);
void fr_kv_close(fr_kv *kv);

// Takes the next scratch slot for a row under scratch slot `parent` (-1: the committed end) at
// position pos.
int fr_kv_scratch(fr_kv *kv, int parent, int pos, int join);
// Scratch slots path[0..n) (each a child of the one before) become committed; all others are
// dropped.
void fr_kv_commit(fr_kv *kv, const int *path, int n);
void fr_kv_drop_scratch(fr_kv *kv);
void fr_kv_keep_scratch(fr_kv *kv, int n); // the first n (0..n_scratch) scratch slots
// Grows the committed part to n slots by repeating it: a long context for timing passes.
void fr_kv_repeat(fr_kv *kv, int n);
void fr_kv_truncate(fr_kv *kv, int n_committed); // keeps the first slots; drops scratch
// Which table the keys of this sequence are rotated by. Where that changes, all slots are dropped:
// the text has to be read again.
void fr_kv_stretch(fr_kv *kv, bool stretched);
// The first n committed slots of `from`, of the same model and type, become all of kv's: where a
// session takes over another's text (fr_decoder_adopt).
void fr_kv_copy(fr_kv *kv, const fr_kv *from, int n);
// Slots after the committed ones, up to the n-th, are copied from `from` and committed; scratch
// slots are dropped. Of the same model, type and table (asserted).
void fr_kv_copy_more(fr_kv *kv, const fr_kv *from, int n);
bool fr_kv_is_sound(const fr_kv *kv); // the invariant above, for asserts
// K and V of slots [first, first + n) in one layer as floats, k and v [n][n_kv * head_dim]. Of f16
// alone (asserted).
void fr_kv_read(const fr_kv *kv, int layer, int first, int n, float *k, float *v);

static inline void *fr_kv_k(const fr_kv *kv, int layer, int head) {
    return kv->k + ((size_t)layer * kv->n_kv + head) * kv->k_plane;
}
static inline void *fr_kv_v(const fr_kv *kv, int layer, int head) {
    return kv->v + ((size_t)layer * kv->n_kv + head) * kv->v_plane;
}

#endif
