// metadata.c — reads what every pack has, then has the form read its own settings.
#include "base/alloc.h"
#include "draft/pack/parts.h"
#include <stdio.h>
#include <string.h>

enum { LARGEST = 1 << 20, RANKS = FR_ACCURACY_RANKS };

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

fr_status fr_pack_u32(const fr_pack *p, const char *key, int least, int most, int *value,
                      fr_error *err) {
    uint32_t v;
    const fr_status st = fr_gguf_get_u32(p->gguf, key, &v, err);
    if (st) return st;
    if (v < (uint32_t)least || v > (uint32_t)most)
        return fr_fail(err, FR_EDATA, "%s: expected %d to %d, found %u", key, least, most, v);
    *value = (int)v;
    return FR_OK;
}

fr_status fr_pack_word(const fr_pack *p, const char *key, const char *missing,
                       const char *const *names, int n, const char *listed, int *place,
                       fr_error *err) {
    fr_gguf_str word = {missing, missing ? strlen(missing) : 0};
    const fr_status st = missing ? fr_gguf_opt_str(p->gguf, key, &word, err)
                                 : fr_gguf_get_str(p->gguf, key, &word, err);
    if (st) return st;
    for (*place = 0; *place < n; ++*place)
        if (fr_gguf_str_is(word, names[*place])) return FR_OK;
    return fr_fail(err, FR_EUNSUP, "%s: expected %s, found '%.*s'", key, listed,
                   word.bytes < 40 ? (int)word.bytes : 40, word.data);
}

static fr_status fail_unknown(fr_gguf_str arch, fr_error *err) {
    char known[512] = "";
    size_t n = 0;
    const fr_pack_form *f;
    for (int i = 0; (f = fr_pack_form_at(i)) && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%sforerun-%s",
                              !i                       ? ""
                              : fr_pack_form_at(i + 1) ? ", "
                                                       : " or ",
                              f->name);
    return fr_fail(err, FR_EUNSUP, "general.architecture: expected %s, found '%.*s'", known,
                   arch.bytes < 40 ? (int)arch.bytes : 40, arch.data);
}

static fr_status take_form(fr_pack *p, fr_error *err) {
    fr_gguf_str type, arch;
    fr_status st = fr_gguf_get_str(p->gguf, "general.type", &type, err);
    if (st) return st;
    if (!fr_gguf_str_is(type, "forerun-pack"))
        return fr_fail(err, FR_EDATA, "general.type: expected forerun-pack, found '%.*s'",
                       type.bytes < 40 ? (int)type.bytes : 40, type.data);
    if ((st = fr_gguf_get_str(p->gguf, "general.architecture", &arch, err))) return st;
    const char prefix[] = "forerun-";
    const size_t skip = strlen(prefix);
    const fr_gguf_str name = {arch.data + skip, arch.bytes - skip};
    const bool ours = arch.bytes > skip && !memcmp(arch.data, prefix, skip);
    for (int i = 0; ours && (p->form = fr_pack_form_at(i)); i++)
        if (fr_gguf_str_is(name, p->form->name)) return FR_OK;
    return fail_unknown(arch, err);
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
    if ((st = fr_pack_u32(p, "forerun.d", 1, LARGEST, &p->d, err))) return st;
    return fr_pack_u32(p, "forerun.n_vocab", 2, 1 << 24, &p->n_vocab, err);
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

static fr_status take_settings(fr_pack *p, fr_error *err) {
    if (p->form->bytes && !(p->settings = fr_alloc_zero(p->form->bytes)))
        return fr_fail(err, FR_ENOMEM, "pack: cannot get %zu bytes", p->form->bytes);
    return p->form->read ? p->form->read(p, err) : FR_OK;
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
    if ((st = take_form(p, err))) return st;
    if ((st = take_version(p, err))) return st;
    if ((st = take_target(p, err))) return st;
    if ((st = take_ids(p, err))) return st;
    if ((st = fr_pack_u32(p, "forerun.heads", 1, FR_PACK_HEADS, &p->depth, err))) return st;
    if ((st = take_settings(p, err))) return st;
    return take_accuracy(p, err);
}
