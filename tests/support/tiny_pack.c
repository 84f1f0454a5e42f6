#include "support/tiny_pack.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct maker {
    fr_gguf_writer *w;
    const fr_tiny_pack *o;
    uint64_t state;
} maker;

static const fr_pack_form *form_of(const fr_tiny_pack *o) {
    return o->form ? o->form : &fr_medusa_form;
}

static float dice(maker *m) { // -1..1
    m->state = m->state * 6364136223846793005u + 1442695040888963407u;
    return (float)((int)(m->state >> 40) - (1 << 23)) / (1 << 23);
}

static bool left_out(const maker *m, const char *name) {
    return m->o->leave_out && !strcmp(m->o->leave_out, name);
}

static void add_u32(maker *m, const char *key, int value) {
    if (!left_out(m, key)) fr_gguf_writer_u32(m->w, key, (uint32_t)value);
}

static void add_str(maker *m, const char *key, const char *value) {
    if (!left_out(m, key)) fr_gguf_writer_str(m->w, key, value);
}

// Around `middle`, so spread that sums of k products stay near 1.
static void add_tensor(maker *m, const char *name, int k, int rows, float middle) {
    const int64_t n = (int64_t)k * (rows ? rows : 1), ne[2] = {k, rows};
    float *x = malloc(sizeof *x * (size_t)n);
    assert_non_null(x);
    const float spread = rows ? 1.7f / sqrtf((float)k) : 0.3f;
    for (int64_t i = 0; i < n; i++)
        x[i] = middle + spread * dice(m);
    const bool small = rows && m->o->type == FR_TYPE_Q8_0;
    if (small) {
        void *q = malloc((size_t)n / 32 * 34);
        assert_non_null(q);
        fr_gguf_quantize_q8_0(x, q, n);
        if (!left_out(m, name)) fr_gguf_writer_tensor_copy(m->w, name, FR_TYPE_Q8_0, 2, ne, q);
        free(q);
    } else if (!left_out(m, name)) {
        for (int64_t i = 0; i < n && m->o->broken; i++)
            x[i] = NAN;
        fr_gguf_writer_tensor_copy(m->w, name, FR_TYPE_F32, rows ? 2 : 1, ne, x);
    }
    free(x);
}

static void add_heads(maker *m, int d, int depth, int n_draft) {
    for (int k = 1; k <= depth; k++) {
        char name[40];
        snprintf(name, sizeof name, "medusa.%d.weight", k);
        add_tensor(m, name, m->o->variant == FR_MEDUSA_HYDRA ? (k + 1) * d : d, d, 0);
        snprintf(name, sizeof name, "medusa.%d.bias", k);
        add_tensor(m, name, d, 0, 0);
        snprintf(name, sizeof name, "medusa.%d.head", k);
        if (m->o->variant == FR_MEDUSA_OWN_HEADS) add_tensor(m, name, d, n_draft, 0);
    }
}

static void add_block(maker *m, const fr_config *c, int d_ff) {
    const int d = c->d, nq = c->n_head * c->head_dim, nkv = c->n_kv * c->head_dim;
    add_tensor(m, "blk.0.attn_norm.weight", d, 0, 1);
    add_tensor(m, "blk.0.attn_q.weight", d, nq, 0);
    add_tensor(m, "blk.0.attn_k.weight", d, nkv, 0);
    add_tensor(m, "blk.0.attn_v.weight", d, nkv, 0);
    add_tensor(m, "blk.0.attn_output.weight", nq, d, 0);
    add_tensor(m, "blk.0.ffn_norm.weight", d, 0, 1);
    add_tensor(m, "blk.0.ffn_gate.weight", d, d_ff, 0);
    add_tensor(m, "blk.0.ffn_up.weight", d, d_ff, 0);
    add_tensor(m, "blk.0.ffn_down.weight", d_ff, d, 0);
    add_tensor(m, "output_norm.weight", d, 0, 1);
}

static void add_chimera(maker *m, const fr_config *c, int depth, int n_draft) {
    static const char *const what[] = {"chain", "state"};
    const fr_tiny_pack *o = m->o;
    const int ngram = o->ngram ? o->ngram : 2, t = ngram * c->d;
    const int hidden = o->encoder == FR_ENCODER_RESIDUAL ? t : o->hidden ? o->hidden : 64;
    const bool own = o->variant == FR_MEDUSA_OWN_HEADS;
    add_u32(m, "forerun.ngram", ngram);
    add_u32(m, "forerun.hidden", hidden);
    add_str(m, "forerun.encoder", fr_pack_encoder_name(o->encoder));
    add_str(m, "forerun.variant", fr_medusa_variant_name(o->variant));
    if (!left_out(m, "forerun.residual"))
        fr_gguf_writer_bool(m->w, "forerun.residual", !o->no_residual);
    add_tensor(m, "ngram.hidden.weight", t, hidden, 0);
    add_tensor(m, "ngram.hidden.bias", hidden, 0, 0);
    add_tensor(m, "ngram.out.weight", hidden, c->d, 0);
    if (o->encoder == FR_ENCODER_WIDE) add_tensor(m, "ngram.skip.weight", t, c->d, 0);
    for (int k = 1; k <= depth; k++) {
        char name[40];
        for (int i = 0; i < (o->no_residual ? 1 : 2); i++) {
            snprintf(name, sizeof name, "chimera.%d.%s.weight", k, what[i]);
            add_tensor(m, name, c->d, own ? n_draft : c->d, 0);
        }
        snprintf(name, sizeof name, "chimera.%d.norm", k);
        if (!own) add_tensor(m, name, c->d, 0, 1);
    }
}

static void add_chain(maker *m, const fr_config *c, int d_ff, int n_draft) {
    const int d = c->d;
    const fr_tiny_pack *o = m->o;
    add_tensor(m, "fc_state.weight", d, d, 0);
    add_tensor(m, "fc_state.norm", d, 0, 1);
    add_tensor(m, "fc.bias", d, 0, 0);
    if (!o->pure) {
        add_tensor(m, "fc_token.weight", d, d, 0);
        add_tensor(m, "fc_token.norm", d, 0, 1);
    }
    if (form_of(o) == &fr_hidden_state_form && !o->pure) add_tensor(m, "null", d, 0, 0);
    if (o->n_taps) {
        add_tensor(m, "fc_taps.weight", o->n_taps * d, d, 0);
        add_tensor(m, "fc_taps.norm", o->n_taps * d, 0, 1);
        if (!left_out(m, "forerun.taps"))
            fr_gguf_writer_i32_array(m->w, "forerun.taps", o->taps, (size_t)o->n_taps);
    }
    add_block(m, c, d_ff);
    if (o->rank) {
        add_tensor(m, "inject.token.weight", d, o->rank, 0);
        add_tensor(m, "inject.out.weight", o->rank, n_draft, 0);
        if (o->gate) add_tensor(m, "inject.gate.weight", d, o->rank, 0);
    }
}

static void add_shape(maker *m, const fr_config *c, int d_ff) {
    add_u32(m, "forerun.n_head", c->n_head);
    add_u32(m, "forerun.n_kv", c->n_kv);
    add_u32(m, "forerun.head_dim", c->head_dim);
    add_u32(m, "forerun.d_ff", d_ff);
    if (!left_out(m, "forerun.rope_base")) fr_gguf_writer_f32(m->w, "forerun.rope_base", 500);
    add_u32(m, "forerun.rank", m->o->rank);
    if (!left_out(m, "forerun.gate")) fr_gguf_writer_bool(m->w, "forerun.gate", m->o->gate);
    if (!left_out(m, "forerun.pure")) fr_gguf_writer_bool(m->w, "forerun.pure", m->o->pure);
}

// Vectors of the size of embeddings are small; here they are not, so that they matter.
static void add_riders(maker *m, int d, int depth) {
    const fr_tiny_pack *o = m->o;
    const int ensemble = o->ensemble ? o->ensemble : 1;
    int32_t layers[FR_PACK_HEADS];
    if (form_of(o) == &fr_ppd_form) {
        add_u32(m, "forerun.ensemble", ensemble);
        add_tensor(m, "ppd.vectors", d, depth * ensemble, 0);
        return;
    }
    for (int k = 0; k < depth; k++) {
        char name[40];
        layers[k] = o->layers ? o->layers[k] : 1;
        snprintf(name, sizeof name, "transfer.%d.weight", k + 1);
        add_tensor(m, name, d, d, 0);
    }
    if (!left_out(m, "forerun.layers"))
        fr_gguf_writer_i32_array(m->w, "forerun.layers", layers, (size_t)depth);
}

static void add_skip(maker *m) {
    const uint32_t skip = m->o->skip ? m->o->skip : 1;
    int32_t list[32];
    size_t n = 0;
    for (int i = 0; i < 32; i++)
        if (skip >> i & 1) list[n++] = i;
    if (!left_out(m, "forerun.skip")) fr_gguf_writer_i32_array(m->w, "forerun.skip", list, n);
    if (!left_out(m, "forerun.share")) fr_gguf_writer_f32(m->w, "forerun.share", 0.5f);
}

static void add_ids(maker *m, int n_draft, int n_vocab) {
    int32_t *ids = malloc(sizeof *ids * (size_t)n_draft);
    assert_non_null(ids);
    for (int i = 0; i < n_draft; i++)
        ids[i] = (int32_t)((int64_t)(n_draft - 1 - i) * n_vocab / n_draft);
    if (!left_out(m, "forerun.draft_vocab"))
        fr_gguf_writer_i32_array(m->w, "forerun.draft_vocab", ids, (size_t)n_draft);
    free(ids);
}

static void add_accuracy(maker *m, int depth) {
    float a[FR_PACK_HEADS * FR_ACCURACY_RANKS];
    for (int i = 0; i < depth * FR_ACCURACY_RANKS; i++)
        a[i] = 0.3f / (float)(1 + i / FR_ACCURACY_RANKS) / (float)(1 + i % FR_ACCURACY_RANKS);
    if (!left_out(m, "forerun.accuracy.depth_rank"))
        fr_gguf_writer_f32_array(m->w, "forerun.accuracy.depth_rank", a,
                                 (size_t)(depth * FR_ACCURACY_RANKS));
}

void fr_tiny_pack_add(fr_gguf_writer *w, const fr_tiny_pack *o, const fr_model *target) {
    maker m = {w, o, o->seed + 12345};
    const fr_config *c = &target->config;
    const int depth = o->depth ? o->depth : 3, n_draft = o->n_draft ? o->n_draft : 40;
    const int d_ff = o->d_ff ? o->d_ff : 96;
    char arch[40], print[FR_GGUF_FINGERPRINT];
    snprintf(arch, sizeof arch, "forerun-%s", form_of(o)->name);
    fr_gguf_fingerprint(target->gguf, print);
    add_str(&m, "general.type", "forerun-pack");
    add_str(&m, "general.architecture", arch);
    add_str(&m, "forerun.target.fingerprint", o->print ? o->print : print);
    add_str(&m, "forerun.target.name", "tiny");
    add_u32(&m, "forerun.d", c->d);
    add_u32(&m, "forerun.n_vocab", c->n_vocab);
    add_u32(&m, "forerun.heads", depth);
    add_ids(&m, n_draft, c->n_vocab);
    add_accuracy(&m, depth);
    if (form_of(o) == &fr_medusa_form) {
        add_str(&m, "forerun.variant", fr_medusa_variant_name(o->variant));
        if (o->variant == FR_MEDUSA_EXIT) add_u32(&m, "forerun.tap", o->tap);
        add_heads(&m, c->d, depth, n_draft);
    } else if (form_of(o) == &fr_ppd_form || form_of(o) == &fr_hidden_transfer_form) {
        add_riders(&m, c->d, depth);
    } else if (form_of(o) == &fr_chimera_form) {
        add_shape(&m, c, d_ff);
        add_block(&m, c, d_ff);
        add_chimera(&m, c, depth, n_draft);
    } else if (form_of(o) == &fr_layer_skip_form) {
        add_skip(&m);
    } else if (form_of(o) == &fr_early_exit_form) {
        add_u32(&m, "forerun.exit", o->exit ? o->exit : 1);
        add_tensor(&m, "exit.norm", c->d, 0, 1);
        add_tensor(&m, "exit.weight", c->d, c->d, 0);
        add_tensor(&m, "exit.bias", c->d, 0, 0);
    } else {
        add_shape(&m, c, d_ff);
        add_chain(&m, c, d_ff, n_draft);
    }
}

void fr_tiny_pack_write(char *path, const fr_tiny_pack *o, const fr_model *target) {
    fr_error err;
    fr_gguf_writer *w;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    if (fr_gguf_writer_open(&w, &err)) fail_msg("%s", err.text);
    fr_tiny_pack_add(w, o, target);
    fr_gguf_writer_u32(w, "forerun.version", FR_PACK_VERSION);
    if (fr_gguf_writer_finish_summed(w, FR_PACK_CHECKSUM, path, &err)) fail_msg("%s", err.text);
    fr_gguf_writer_close(w);
}
