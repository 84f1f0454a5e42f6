// token_bias.c — takes the maps of the pack and sorts the draft vocabulary. A score adds to each
// logit of a shortlist the product of its row, the gate of the state and the part of the token
// before.
#include "draft/hidden_state/token_bias.h"
#include "base/lanes.h"
#include "draft/hidden_state/hidden_state_pack.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

// The order of this sum is free: drafts may differ by rounding between machines.
static float dot(const float *a, const float *b, int n) {
    fr_f32x4 sum[4] = {0};
    float rest = 0;
    int i = 0;
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 4; k++)
            sum[k] += fr_f32x4_load(a + i + 4 * k) * fr_f32x4_load(b + i + 4 * k);
    for (; i < n; i++)
        rest += a[i] * b[i];
    const fr_f32x4 all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    return rest + (all[0] + all[1]) + (all[2] + all[3]);
}

// ---------------------------------------------------------------- open

static int by_id(const void *a, const void *b) {
    const int32_t x = ((const int32_t *)a)[0], y = ((const int32_t *)b)[0];
    return (x > y) - (x < y);
}

static fr_status sort_vocabulary(fr_token_bias *j, const int32_t *ids, fr_error *err) {
    const size_t n = (size_t)j->n_draft;
    int32_t(*pair)[2] = fr_alloc_array(n, sizeof *pair);
    if (!pair) return fr_fail(err, FR_ENOMEM, "token bias: no memory for %zu tokens", n);
    for (size_t i = 0; i < n; i++) {
        pair[i][0] = ids[i];
        pair[i][1] = (int32_t)i;
    }
    qsort(pair, n, sizeof *pair, by_id);
    for (size_t i = 0; i < n; i++) {
        j->sorted[i] = pair[i][0];
        j->sorted_index[i] = pair[i][1];
    }
    fr_free(pair);
    return FR_OK;
}

static float *take_floats(fr_arena *a, int rows, int columns) {
    return fr_arena_take(a, (size_t)rows * (size_t)columns * sizeof(float));
}

static fr_status take_memory(fr_token_bias *j, fr_error *err) {
    const size_t n = (size_t)j->n_draft, r = (size_t)j->rank, d = (size_t)j->d;
    const size_t kept = FR_ARENA_ROUND(n * r * sizeof(float));
    const size_t ids = 2 * FR_ARENA_ROUND(n * sizeof(int32_t)) + FR_ARENA_ROUND(n);
    const size_t vectors = FR_ARENA_ROUND(d * sizeof(float)) + FR_ARENA_ROUND(r * sizeof(float));
    fr_status st = fr_arena_open(&j->arena, kept + ids + vectors, "token bias", err);
    if (st) return st;
    j->kept = take_floats(&j->arena, j->n_draft, j->rank);
    j->sorted = fr_arena_take(&j->arena, n * sizeof(int32_t));
    j->sorted_index = fr_arena_take(&j->arena, n * sizeof(int32_t));
    j->is_kept = fr_arena_take(&j->arena, n);
    j->embedding = take_floats(&j->arena, 1, j->d);
    j->token = take_floats(&j->arena, 1, j->rank);
    return FR_OK;
}

static fr_status take_maps(fr_token_bias *j, fr_pack_weights *w, fr_error *err) {
    fr_status st = fr_pack_weights_values(w, "inject.token.weight", &j->of_token, err);
    if (!st && fr_hidden_state_pack_of(&w->pack)->gate)
        st = fr_pack_weights_values(w, "inject.gate.weight", &j->of_state, err);
    return st ? st : fr_pack_weights_values(w, "inject.out.weight", &j->out, err);
}

fr_status fr_token_bias_open(fr_token_bias *j, fr_pack_weights *w, fr_error *err) {
    const fr_pack *pack = &w->pack;
    *j = (fr_token_bias){.target = w->target,
                         .rank = fr_hidden_state_pack_of(pack)->rank,
                         .d = pack->d,
                         .n_draft = pack->n_draft};
    fr_status st = take_memory(j, err);
    if (!st) st = take_maps(j, w, err);
    if (!st) st = sort_vocabulary(j, pack->ids, err);
    if (st) fr_token_bias_close(j);
    return st;
}

void fr_token_bias_close(fr_token_bias *j) {
    fr_arena_close(&j->arena);
    *j = (fr_token_bias){0};
}

// ---------------------------------------------------------------- the token before

static void map_token(fr_token_bias *j, int32_t id, float *to) {
    double squares = 0;
    fr_model_embed(j->target, id, j->embedding);
    for (int i = 0; i < j->rank; i++) {
        to[i] = dot(j->of_token + (size_t)i * (size_t)j->d, j->embedding, j->d);
        squares += (double)to[i] * to[i];
    }
    const float scale = (float)(1 / sqrt(squares / j->rank + FR_PACK_EPS));
    for (int i = 0; i < j->rank; i++)
        to[i] *= scale;
}

// Where id stands in the draft vocabulary, or -1.
static int index_of(const fr_token_bias *j, int32_t id) {
    int low = 0, high = j->n_draft;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (j->sorted[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < j->n_draft && j->sorted[low] == id ? j->sorted_index[low] : -1;
}

static const float *token_part(fr_token_bias *j, int32_t id) {
    const int index = index_of(j, id);
    if (index < 0) {
        map_token(j, id, j->token);
        return j->token;
    }
    float *kept = j->kept + (size_t)index * (size_t)j->rank;
    if (!j->is_kept[index]) map_token(j, id, kept);
    j->is_kept[index] = true;
    return kept;
}

// ---------------------------------------------------------------- scores

void fr_token_bias_gate(const fr_token_bias *j, const float *state, float *gate) {
    for (int i = 0; i < j->rank; i++)
        gate[i] = j->of_state
                      ? 1 / (1 + expf(-dot(j->of_state + (size_t)i * (size_t)j->d, state, j->d)))
                      : 1;
}

void fr_token_bias_score(fr_token_bias *j, const fr_shortlist *list, const float *gate, int32_t id,
                         float *score) {
    float known[FR_PACK_RANK];
    const float *token = token_part(j, id);
    assert(j->rank <= FR_PACK_RANK);
    for (int i = 0; i < j->rank; i++)
        known[i] = token[i] * gate[i];
    for (int i = 0; i < list->n; i++)
        score[i] =
            list->z[i] + dot(j->out + (size_t)list->index[i] * (size_t)j->rank, known, j->rank);
}
