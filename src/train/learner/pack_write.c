#include "train/learner/pack_write.h"
#include "base/alloc.h"
#include "draft/pack/pack.h"
#include "kern/dequant.h"
#include "train/learner/tally.h"
#include <stdio.h>

// ---------------------------------------------------------------- writing
void fr_pack_matrix(fr_gguf_writer *w, const char *name, int64_t rows, int64_t cols,
                    const float *values, fr_type type) {
    const int64_t ne[] = {cols, rows};
    uint8_t *codes = fr_alloc_array((size_t)rows, (size_t)fr_qtype_row_bytes(type, cols));
    if (codes) fr_gguf_quantize(type, values, codes, rows * cols); // rows are whole blocks
    fr_gguf_writer_tensor_copy(w, name, type, 2, ne, codes);
    fr_free(codes);
}

fr_type fr_pack_type_at(int place) {
    static const fr_type types[] = {FR_TYPE_Q8_0, FR_TYPE_F32, FR_TYPE_Q6_K, FR_TYPE_Q4_K};
    return types[place];
}

const char *fr_pack_type_word(int place) {
    static const char *const words[] = {"q8_0", "f32", "q6_k", "q4_k"}; // FR_PACK_TYPES
    return words[place];
}

fr_type fr_pack_type_for(fr_type type, int64_t n) {
    if (n % fr_qtype_of((uint32_t)type)->block == 0) return type;
    return n % fr_qtype_of(FR_TYPE_Q8_0)->block ? FR_TYPE_F32 : FR_TYPE_Q8_0;
}

static fr_type type_of(const fr_param *item, fr_type type) {
    return item->decays ? fr_pack_type_for(type, item->cols) : FR_TYPE_F32;
}

void fr_pack_params(fr_gguf_writer *w, const fr_params *p, fr_type type) {
    for (int i = 0; i < p->n; i++) {
        const fr_param *item = &p->item[i];
        const fr_type as = type_of(item, type);
        if (as != FR_TYPE_F32)
            fr_pack_matrix(w, item->name, item->rows, item->cols, fr_param_w(p, i), as);
        else
            fr_gguf_writer_tensor(w, item->name, FR_TYPE_F32, item->rows > 1 ? 2 : 1,
                                  (int64_t[]){item->cols, item->rows}, fr_param_w(p, i));
    }
}

size_t fr_pack_bytes(const fr_learner *l, fr_type type) {
    size_t bytes = 4096 + sizeof(int32_t) * (size_t)l->vocab->n;
    for (int i = 0; i < l->params.n; i++) {
        const fr_param *item = &l->params.item[i];
        const fr_type as = l->halves && type != FR_TYPE_F32 ? FR_TYPE_F16 : type_of(item, type);
        bytes += (size_t)fr_qtype_row_bytes(as, item->cols) * (size_t)item->rows + 128;
    }
    return bytes;
}

static void write_accuracy(fr_gguf_writer *w, const fr_tally *judged, int depth) {
    float a[FR_DEPTHS * FR_RANKS];
    for (int k = 0; k < depth; k++)
        fr_tally_accuracy(judged, k, a + k * FR_RANKS);
    fr_gguf_writer_f32_array(w, "forerun.accuracy.depth_rank", a, (size_t)(depth * FR_RANKS));
    fr_gguf_writer_u32(w, "forerun.accuracy.positions", (uint32_t)judged->tried[0]);
}

static void write_facts(fr_gguf_writer *w, const fr_learner *l, const fr_pack_facts *f) {
    char name[64];
    snprintf(name, sizeof name, "forerun-%s", l->name);
    fr_gguf_writer_str(w, "general.architecture", name);
    fr_gguf_writer_str(w, "general.type", "forerun-pack");
    fr_gguf_writer_u32(w, "forerun.version", FR_PACK_VERSION);
    fr_gguf_writer_str(w, "forerun.target.fingerprint", f->target);
    fr_gguf_writer_str(w, "forerun.target.name", f->target_name);
    fr_gguf_writer_u32(w, "forerun.d", (uint32_t)l->target->config.d);
    fr_gguf_writer_u32(w, "forerun.n_vocab", (uint32_t)l->target->config.n_vocab);
    fr_gguf_writer_i32_array(w, "forerun.draft_vocab", l->vocab->ids, (size_t)l->vocab->n);
    write_accuracy(w, f->judged, l->depth);
    fr_gguf_writer_str_array(w, "forerun.train.data", f->data, (size_t)f->n_data);
    fr_gguf_writer_u64(w, "forerun.train.tokens", f->rows);
    fr_gguf_writer_u64(w, "forerun.train.steps", f->steps);
    fr_gguf_writer_f64(w, "forerun.train.seconds", f->seconds);
    fr_gguf_writer_f32(w, "forerun.train.loss", (float)f->loss);
    fr_gguf_writer_str(w, "forerun.train.answers", f->answers);
    fr_gguf_writer_str(w, "forerun.train.command", f->command);
}

fr_status fr_pack_write(const char *path, const fr_learner *l, const fr_pack_facts *facts,
                        fr_type type, fr_error *err) {
    fr_gguf_writer *w;
    fr_status st = fr_gguf_writer_open(&w, err);
    if (st) return st;
    write_facts(w, l, facts);
    l->ops->write(l, w, type);
    st = fr_gguf_writer_finish_summed(w, FR_PACK_CHECKSUM, path, err);
    fr_gguf_writer_close(w);
    return st;
}

// ---------------------------------------------------------------- reading
bool fr_pack_shares(const fr_params *p, const fr_gguf *pack) {
    for (int i = 0; i < p->n; i++)
        if (fr_gguf_tensor_find(pack, p->item[i].name)) return true;
    return false;
}

fr_status fr_pack_read_params(fr_params *p, const fr_gguf *pack, fr_error *err) {
    fr_error why = {0};
    if (!fr_pack_shares(p, pack))
        return fr_fail(err, FR_EDATA, "%s: expected tensors such as %s, found none",
                       fr_gguf_path(pack), p->item[0].name);
    for (int i = 0; i < p->n; i++) {
        fr_param *item = &p->item[i];
        const fr_gguf_tensor *t = fr_gguf_tensor_find(pack, item->name);
        if (!t) continue;
        item->given = true;
        if (t->ne[0] != item->cols || t->ne[1] != item->rows || t->ne[2] != 1 || t->ne[3] != 1)
            return fr_fail(err, FR_EDATA, "%s: %s: expected [%d,%d], found [%lld,%lld]",
                           fr_gguf_path(pack), item->name, item->cols, item->rows,
                           (long long)t->ne[0], (long long)t->ne[1]);
        fr_dequant_row(t->type, t->data, fr_param_w(p, i), (int64_t)item->cols * item->rows);
    }
    const fr_status st = fr_params_check(p, &why);
    return st ? fr_fail(err, st, "%s: %s", fr_gguf_path(pack), why.text) : FR_OK;
}

fr_status fr_pack_read(fr_learner *l, const fr_gguf *pack, fr_error *err) {
    const fr_status st =
        l->ops->read ? l->ops->read(l, pack, err) : fr_pack_read_params(&l->params, pack, err);
    l->fit_rows = l->ops->fit_rest && l->fit_rows ? l->ops->fit_rest(l) : 0;
    return st;
}
