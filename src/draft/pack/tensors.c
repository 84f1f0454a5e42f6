// tensors.c — compares the tensors that a form lists with those of the file.
#include "draft/pack/parts.h"

struct fr_pack_tensors {
    fr_pack *p;
    size_t n; // found
    fr_status status;
    fr_error *err;
};

void fr_pack_expect(fr_pack_tensors *c, const char *name, int k, int m) {
    if (c->status) return;
    const fr_gguf_tensor *t = fr_gguf_tensor_find(c->p->gguf, name);
    const int n_dims = m ? 2 : 1;
    if (!t) {
        c->status = fr_fail(c->err, FR_EDATA, "%s: expected a tensor, found none", name);
        return;
    }
    if (t->n_dims != n_dims || t->ne[0] != k || t->ne[1] != (m ? m : 1)) {
        c->status =
            fr_fail(c->err, FR_EDATA, "%s: expected [%d,%d], found %d dimensions, [%lld,%lld]",
                    name, k, m ? m : 1, t->n_dims, (long long)t->ne[0], (long long)t->ne[1]);
        return;
    }
    c->n++;
    c->p->n_params += (uint64_t)k * (uint64_t)(m ? m : 1);
    c->p->bytes += t->bytes;
}

fr_status fr_pack_check_tensors(fr_pack *p, fr_error *err) {
    fr_pack_tensors c = {.p = p, .err = err};
    if (p->form->tensors) p->form->tensors(p, &c);
    if (!c.status && c.n != fr_gguf_n_tensors(p->gguf))
        c.status = fr_fail(err, FR_EDATA, "a pack of %s has %zu tensors, found %zu", p->form->name,
                           c.n, fr_gguf_n_tensors(p->gguf));
    return c.status;
}
