// metadata.c — names of kinds and forms, and what the metadata of a pack says: numbers in
// range, ids, accuracies.
#include "draft/pack/parts.h"
#include <stdio.h>
#include <string.h>

enum { LARGEST = 1 << 20, RANKS = FR_ACCURACY_RANKS };

static const char *const KINDS[FR_PACK_KINDS] = {"medusa",     "eagle",           "hidden-state",
                                                 "ppd",        "hidden-transfer", "chimera",
                                                 "layer-skip", "early-exit"};
static const char *const ENCODERS[FR_PACK_ENCODERS] = {"wide", "residual", "layers"};
static const char *const VARIANTS[] = {"shared", "own-heads", "hydra", "exit"};
enum { N_VARIANTS = sizeof VARIANTS / sizeof *VARIANTS };

const char *fr_pack_kind_name(fr_pack_kind kind) {
    return KINDS[kind];
}

const char *fr_medusa_variant_name(fr_medusa_variant variant) {
    return VARIANTS[variant];
}

const char *fr_pack_encoder_name(fr_pack_encoder encoder) {
    return ENCODERS[encoder];
}

bool fr_pack_is(const fr_gguf *g) {
    const fr_gguf_kv *type = fr_gguf_find(g, "general.type");
    return type && type->type == FR_GGUF_STR &&
           fr_gguf_str_is(fr_gguf_item_str(type, 0), "forerun-pack");
}

bool fr_pack_is_file(const char *path) {
    fr_gguf *g;
    fr_error unsaid;
    if (fr_gguf_open(&g, path, &unsaid)) return false;
    const bool pack = fr_pack_is(g);
    fr_gguf_close(g);
    return pack;
}

static fr_status take_u32(const fr_gguf *g, const char *key, int least, int most, int *value,
                          fr_error *err) {
    uint32_t v;
    const fr_status st = fr_gguf_get_u32(g, key, &v, err);
    if (st) return st;
    if (v < (uint32_t)least || v > (uint32_t)most)
        return fr_fail(err, FR_EDATA, "%s: expected %d to %d, found %u", key, least, most, v);
    *value = (int)v;
    return FR_OK;
}

static fr_status take_kind(fr_pack *p, fr_error *err) {
    fr_gguf_str type, arch;
    fr_status st = fr_gguf_get_str(p->gguf, "general.type", &type, err);
    if (st) return st;
    if (!fr_gguf_str_is(type, "forerun-pack"))
        return fr_fail(err, FR_EDATA, "general.type: expected forerun-pack, found '%.*s'",
                       type.bytes < 40 ? (int)type.bytes : 40, type.data);
    if ((st = fr_gguf_get_str(p->gguf, "general.architecture", &arch, err))) return st;
    for (int k = 0; k < FR_PACK_KINDS; k++) {
        char name[40];
        snprintf(name, sizeof name, "forerun-%s", KINDS[k]);
        p->kind = (fr_pack_kind)k;
        if (fr_gguf_str_is(arch, name)) return FR_OK;
    }
    return fr_fail(err, FR_EUNSUP,
                   "general.architecture: expected forerun-medusa, forerun-eagle, "
                   "forerun-hidden-state, forerun-ppd, forerun-hidden-transfer, forerun-chimera, "
                   "forerun-layer-skip or forerun-early-exit, found '%.*s'",
                   arch.bytes < 40 ? (int)arch.bytes : 40, arch.data);
}

static fr_status take_version(fr_pack *p, fr_error *err) {
    uint32_t version = 1;
    const fr_status st = fr_gguf_opt_u32(p->gguf, "forerun.version", &version, err);
    if (st) return st;
    p->version = (int)version;
    if (version >= 1 && version <= FR_PACK_VERSION) return FR_OK;
    return fr_fail(err, FR_EUNSUP, "forerun.version: expected 1 to %d, found %u", FR_PACK_VERSION,
                   version);
}

static fr_status take_target(fr_pack *p, fr_error *err) {
    fr_gguf_str print, name = {"", 0};
    fr_status st = fr_gguf_get_str(p->gguf, "forerun.target.fingerprint", &print, err);
    if (st) return st;
    bool hex = print.bytes == FR_GGUF_FINGERPRINT - 1;
    for (size_t i = 0; hex && i < print.bytes; i++)
        hex = print.data[i] && strchr("0123456789abcdef", print.data[i]);
    if (!hex)
        return fr_fail(
            err, FR_EDATA, "forerun.target.fingerprint: expected %d hex digits, found '%.*s'",
            FR_GGUF_FINGERPRINT - 1, print.bytes < 40 ? (int)print.bytes : 40, print.data);
    memcpy(p->target, print.data, print.bytes);
    if ((st = fr_gguf_opt_str(p->gguf, "forerun.target.name", &name, err))) return st;
    snprintf(p->target_name, sizeof p->target_name, "%.*s",
             name.bytes < sizeof p->target_name ? (int)name.bytes : (int)sizeof p->target_name,
             name.data);
    if ((st = take_u32(p->gguf, "forerun.d", 1, LARGEST, &p->d, err))) return st;
    return take_u32(p->gguf, "forerun.n_vocab", 2, 1 << 24, &p->n_vocab, err);
}

// Checks that each id is in the vocabulary and stands there once.
static fr_status check_ids(const fr_pack *p, const fr_gguf_kv *ids, fr_error *err) {
    uint8_t *seen = fr_alloc_array((size_t)p->n_vocab / 8 + 1, 1);
    fr_status st = FR_OK;
    if (!seen) return fr_fail(err, FR_ENOMEM, "forerun.draft_vocab: no memory");
    for (int i = 0; i < p->n_draft && !st; i++) {
        const int64_t id = fr_gguf_item_i64(ids, (uint64_t)i);
        if (id < 0 || id >= p->n_vocab) {
            st = fr_fail(err, FR_EDATA,
                         "forerun.draft_vocab: expected ids below %d, found %lld at %d", p->n_vocab,
                         (long long)id, i);
        } else if (seen[id / 8] & 1 << id % 8) {
            st = fr_fail(err, FR_EDATA, "forerun.draft_vocab: %lld stands there twice, again at %d",
                         (long long)id, i);
        } else {
            seen[id / 8] |= (uint8_t)(1 << id % 8);
            p->ids_memory[i] = (int32_t)id;
        }
    }
    fr_free(seen);
    return st;
}

static fr_status take_ids(fr_pack *p, fr_error *err) {
    const fr_gguf_kv *ids;
    const fr_status st = fr_gguf_get_array(p->gguf, "forerun.draft_vocab", FR_GGUF_INTS, &ids, err);
    if (st) return st;
    if (ids->count < 1 || ids->count > (uint64_t)p->n_vocab)
        return fr_fail(err, FR_EDATA, "forerun.draft_vocab: expected 1 to %d ids, found %llu",
                       p->n_vocab, (unsigned long long)ids->count);
    p->n_draft = (int)ids->count;
    p->ids = p->ids_memory = fr_alloc_array((size_t)p->n_draft, sizeof *p->ids_memory);
    if (!p->ids) return fr_fail(err, FR_ENOMEM, "forerun.draft_vocab: no memory");
    return check_ids(p, ids, err);
}

// Which of n names a text is; `listed` are the same for the sentence.
static fr_status index_of(const char *key, fr_gguf_str name, const char *const *names, int n,
                          const char *listed, int *index, fr_error *err) {
    for (*index = 0; *index < n; ++*index)
        if (fr_gguf_str_is(name, names[*index])) return FR_OK;
    return fr_fail(err, FR_EUNSUP, "%s: expected %s, found '%.*s'", key, listed,
                   name.bytes < 40 ? (int)name.bytes : 40, name.data);
}

static fr_status take_variant(fr_pack *p, fr_error *err) {
    fr_gguf_str name = {"shared", 6};
    int v = 0;
    fr_status st = fr_gguf_opt_str(p->gguf, "forerun.variant", &name, err);
    if (!st)
        st = index_of("forerun.variant", name, VARIANTS, N_VARIANTS,
                      "shared, own-heads, hydra or exit", &v, err);
    if (st) return st;
    p->variant = (fr_medusa_variant)v;
    return v == FR_MEDUSA_EXIT ? take_u32(p->gguf, "forerun.tap", 0, FR_MAX_LAYERS, &p->tap, err)
                               : FR_OK;
}

// The layers whose residuals make a state, each above the one before.
static fr_status take_taps(fr_pack *p, fr_error *err) {
    const fr_gguf_kv *a = NULL;
    const fr_status st = fr_gguf_opt_array(p->gguf, "forerun.taps", FR_GGUF_INTS, &a, err);
    if (st || !a) return st;
    if (a->count < 1 || a->count > FR_PACK_TAPS)
        return fr_fail(err, FR_EDATA, "forerun.taps: expected 1 to %d layers, found %llu",
                       FR_PACK_TAPS, (unsigned long long)a->count);
    for (int i = 0; i < (int)a->count; i++) {
        const int64_t layer = fr_gguf_item_i64(a, (uint64_t)i);
        const int least = i ? p->taps[i - 1] + 1 : 0;
        if (layer < least || layer > FR_MAX_LAYERS)
            return fr_fail(err, FR_EDATA, "forerun.taps: expected %d to %d, found %lld at %d",
                           least, FR_MAX_LAYERS, (long long)layer, i);
        p->taps[p->n_taps++] = (int)layer;
    }
    return FR_OK;
}

static fr_status take_block(fr_pack *p, fr_error *err) {
    const fr_gguf *g = p->gguf;
    fr_status st;
    uint32_t rank = 0;
    p->rope_base = 10000;
    if ((st = take_u32(g, "forerun.n_head", 1, 4096, &p->n_head, err)) ||
        (st = take_u32(g, "forerun.n_kv", 1, 4096, &p->n_kv, err)) ||
        (st = take_u32(g, "forerun.head_dim", 2, 1024, &p->head_dim, err)) ||
        (st = take_u32(g, "forerun.d_ff", 1, LARGEST, &p->d_ff, err)) ||
        (st = fr_gguf_opt_f32(g, "forerun.rope_base", &p->rope_base, err)))
        return st;
    if (p->n_head % p->n_kv || p->head_dim % 2)
        return fr_fail(err, FR_EDATA,
                       "forerun.n_head: %d heads of %d values on %d of keys make no block",
                       p->n_head, p->head_dim, p->n_kv);
    if (!(p->rope_base >= 1))
        return fr_fail(err, FR_EDATA, "forerun.rope_base: expected 1 or more, found %g",
                       (double)p->rope_base);
    if (p->kind == FR_PACK_EAGLE) return take_taps(p, err);
    if (p->kind != FR_PACK_HIDDEN_STATE) return FR_OK;
    if ((st = fr_gguf_opt_u32(g, "forerun.rank", &rank, err)) ||
        (st = fr_gguf_opt_bool(g, "forerun.gate", &p->gate, err)) ||
        (st = fr_gguf_opt_bool(g, "forerun.pure", &p->pure, err)))
        return st;
    if (rank > FR_PACK_RANK)
        return fr_fail(err, FR_EDATA, "forerun.rank: expected 0 to %d, found %u", FR_PACK_RANK,
                       rank);
    p->rank = (int)rank;
    if (!p->rank) p->gate = false;
    return FR_OK;
}

// The layers of hidden transfer: 1 or more, none below the one before.
static fr_status take_layers(fr_pack *p, fr_error *err) {
    const fr_gguf_kv *a;
    const fr_status st = fr_gguf_get_array(p->gguf, "forerun.layers", FR_GGUF_INTS, &a, err);
    if (st) return st;
    if (a->count != (uint64_t)p->depth)
        return fr_fail(err, FR_EDATA, "forerun.layers: expected %d, one a step, found %llu",
                       p->depth, (unsigned long long)a->count);
    for (int i = 0; i < p->depth; i++) {
        const int64_t layer = fr_gguf_item_i64(a, (uint64_t)i);
        const int least = i ? p->layer[i - 1] : 1;
        if (layer < least || layer >= FR_MAX_LAYERS)
            return fr_fail(err, FR_EDATA, "forerun.layers: expected %d to %d, found %lld at %d",
                           least, FR_MAX_LAYERS - 1, (long long)layer, i);
        p->layer[i] = (int)layer;
    }
    return FR_OK;
}

// Of packs whose guesses are attached rows.
static fr_status take_attached(fr_pack *p, fr_error *err) {
    if (p->depth > FR_PACK_ATTACHED)
        return fr_fail(err, FR_EDATA, "forerun.heads: expected 1 to %d, found %d", FR_PACK_ATTACHED,
                       p->depth);
    p->ensemble = 1;
    return p->kind == FR_PACK_PPD
               ? take_u32(p->gguf, "forerun.ensemble", 1, FR_PACK_ENSEMBLE, &p->ensemble, err)
               : take_layers(p, err);
}

static fr_status take_encoder(fr_pack *p, fr_error *err) {
    fr_gguf_str name;
    int e = 0;
    fr_status st = fr_gguf_get_str(p->gguf, "forerun.encoder", &name, err);
    if (!st)
        st = index_of("forerun.encoder", name, ENCODERS, FR_PACK_ENCODERS,
                      "wide, residual or layers", &e, err);
    if (st) return st;
    p->encoder = (fr_pack_encoder)e;
    return FR_OK;
}

static fr_status take_chimera(fr_pack *p, fr_error *err) {
    fr_status st;
    p->residual = true;
    if ((st = take_block(p, err)) || (st = take_variant(p, err)) || (st = take_encoder(p, err)) ||
        (st = take_u32(p->gguf, "forerun.ngram", 1, FR_PACK_NGRAM, &p->ngram, err)) ||
        (st = take_u32(p->gguf, "forerun.hidden", 1, LARGEST, &p->hidden, err)) ||
        (st = fr_gguf_opt_bool(p->gguf, "forerun.residual", &p->residual, err)))
        return st;
    if (p->variant > FR_MEDUSA_OWN_HEADS)
        return fr_fail(err, FR_EDATA, "forerun.variant: expected shared or own-heads, found %s",
                       VARIANTS[p->variant]);
    if (p->encoder == FR_ENCODER_RESIDUAL && p->hidden != p->ngram * p->d)
        return fr_fail(err, FR_EDATA, "forerun.hidden: expected %d, found %d", p->ngram * p->d,
                       p->hidden);
    return FR_OK;
}

// Sublayers that a draft leaves out, ascending: 2 l is the attention of layer l, 2 l + 1 its
// feed-forward.
static fr_status take_skip(fr_pack *p, fr_error *err) {
    const fr_gguf_kv *a;
    fr_status st = fr_gguf_get_array(p->gguf, "forerun.skip", FR_GGUF_INTS, &a, err);
    if (st) return st;
    for (uint64_t i = 0; i < a->count; i++) {
        const int64_t at = fr_gguf_item_i64(a, i);
        if (at < p->skip_end || at >= 2 * FR_MAX_LAYERS)
            return fr_fail(err, FR_EDATA, "forerun.skip: expected %d to %d, found %lld at %llu",
                           p->skip_end, 2 * FR_MAX_LAYERS - 1, (long long)at,
                           (unsigned long long)i);
        p->skip[at] = 1;
        p->skip_end = (int)at + 1;
        p->n_skip++;
    }
    if (!p->n_skip) return fr_fail(err, FR_EDATA, "forerun.skip: expected sublayers, found none");
    if ((st = fr_gguf_get_f32(p->gguf, "forerun.share", &p->share, err))) return st;
    if (!(p->share > 0 && p->share <= 1))
        return fr_fail(err, FR_EDATA, "forerun.share: expected above 0 and up to 1, found %g",
                       (double)p->share);
    return FR_OK;
}

static fr_status take_own(fr_pack *p, fr_error *err) {
    switch (p->kind) {
    case FR_PACK_MEDUSA:
        return take_variant(p, err);
    case FR_PACK_PPD:
    case FR_PACK_HIDDEN_TRANSFER:
        return take_attached(p, err);
    case FR_PACK_CHIMERA:
        return take_chimera(p, err);
    case FR_PACK_LAYER_SKIP:
        return take_skip(p, err);
    case FR_PACK_EARLY_EXIT:
        return take_u32(p->gguf, "forerun.exit", 1, FR_MAX_LAYERS - 1, &p->exit, err);
    default:
        return take_block(p, err);
    }
}

// Turns rates into counts of so many tries.
static fr_status take_accuracy(fr_pack *p, fr_error *err) {
    enum { TRIES = 1 << 24 };
    const fr_gguf_kv *a = NULL;
    const fr_status st =
        fr_gguf_opt_array(p->gguf, "forerun.accuracy.depth_rank", FR_GGUF_FLOATS, &a, err);
    if (st || !a) return st;
    if (a->count != (uint64_t)(p->depth * RANKS))
        return fr_fail(err, FR_EDATA,
                       "forerun.accuracy.depth_rank: expected %d values for %d depths, found %llu",
                       p->depth * RANKS, p->depth, (unsigned long long)a->count);
    double sum = 0; // of a depth: one guess at most is right
    for (int i = 0; i < p->depth * RANKS; i++) {
        const double rate = fr_gguf_item_f64(a, (uint64_t)i);
        sum = i % RANKS ? sum + rate : rate;
        if (!(rate >= 0 && rate <= 1))
            return fr_fail(err, FR_EDATA,
                           "forerun.accuracy.depth_rank: expected 0 to 1, found %g at %d", rate, i);
        if (sum > 1 + 1e-3) // rounding aside
            return fr_fail(err, FR_EDATA,
                           "forerun.accuracy.depth_rank: expected rates of depth %d that are 1 "
                           "together at most, found %g",
                           i / RANKS + 1, sum);
        p->accuracy.tried[i / RANKS] = TRIES;
        p->accuracy.right[i / RANKS][i % RANKS] = (uint64_t)(rate * TRIES);
    }
    return FR_OK;
}

fr_status fr_pack_metadata(fr_pack *p, fr_error *err) {
    fr_status st;
    if ((st = take_kind(p, err))) return st;
    if ((st = take_version(p, err))) return st;
    if ((st = take_target(p, err))) return st;
    if ((st = take_ids(p, err))) return st;
    if ((st = take_u32(p->gguf, "forerun.heads", 1, FR_PACK_HEADS, &p->depth, err))) return st;
    if ((st = take_own(p, err))) return st;
    return take_accuracy(p, err);
}
