// pack.c — opens a pack: metadata, then tensors, and for a drafter also form, target and checksum.
// Then it gives tensors by name.
#include "draft/pack/pack.h"
#include "draft/pack/parts.h"
#include <string.h>

fr_status fr_pack_take(fr_pack *p, const fr_gguf *g, fr_error *err) {
    *p = (fr_pack){.gguf = g};
    fr_status st = fr_pack_metadata(p, err);
    if (!st) st = fr_pack_check_tensors(p, err);
    if (st) fr_pack_close(p);
    return st;
}

fr_status fr_pack_open(fr_pack *p, const char *path, fr_error *err) {
    fr_gguf *g;
    fr_error why = {0};
    *p = (fr_pack){0};
    fr_status st = fr_gguf_open(&g, path, err);
    if (st) return st;
    if ((st = fr_pack_take(p, g, &why))) {
        fr_gguf_close(g);
        return fr_fail(err, st, "%s: %s", path, why.text);
    }
    p->own = g;
    return FR_OK;
}

void fr_pack_close(fr_pack *p) {
    fr_free(p->ids_memory);
    fr_free(p->settings);
    fr_gguf_close(p->own);
    *p = (fr_pack){0};
}

fr_status fr_pack_check_sum(const fr_pack *p, fr_error *err) {
    const bool has = p->version >= 2 || fr_gguf_find(p->gguf, FR_PACK_CHECKSUM);
    return has ? fr_gguf_check_sum(p->gguf, FR_PACK_CHECKSUM, err) : FR_OK;
}

fr_status fr_pack_fits(const fr_pack *p, const fr_model *target, fr_error *err) {
    char print[FR_GGUF_FINGERPRINT];
    fr_gguf_fingerprint(target->gguf, print);
    if (strcmp(print, p->target) != 0)
        return fr_fail(err, FR_EUNSUP,
                       "the pack was trained for another model: expected fingerprint %s, this "
                       "model's, found %s%s%s%s",
                       print, p->target, *p->target_name ? " (" : "", p->target_name,
                       *p->target_name ? ")" : "");
    const fr_config *c = &target->config;
    if (p->d != c->d || p->n_vocab != c->n_vocab)
        return fr_fail(err, FR_EDATA,
                       "the pack is of %d values and %d tokens, the model of %d and %d", p->d,
                       p->n_vocab, c->d, c->n_vocab);
    return p->form->fits ? p->form->fits(p, c->n_layer, err) : FR_OK;
}

fr_status fr_pack_is_of(const fr_pack *p, const fr_pack_form *form, fr_error *err) {
    if (p->form == form) return FR_OK;
    return fr_fail(err, FR_EUNSUP, "expected a pack of %s, found one of %s", form->name,
                   p->form->name);
}

fr_status fr_pack_open_for(fr_pack *p, const char *path, const fr_pack_form *form,
                           const fr_model *target, fr_error *err) {
    fr_error why = {0};
    fr_status st = fr_pack_open(p, path, err);
    if (st) return st;
    st = fr_pack_is_of(p, form, &why);
    if (!st) st = fr_pack_fits(p, target, &why);
    if (!st) st = fr_pack_check_sum(p, &why);
    if (!st) return FR_OK;
    fr_pack_close(p);
    return fr_fail(err, st, "%s: %s", path, why.text);
}

const fr_gguf_tensor *fr_pack_tensor(const fr_pack *p, const char *name) {
    return fr_gguf_tensor_find(p->gguf, name);
}
