// fuzz_pack.c — any bytes as a pack. What is taken keeps its promises: ids in the vocabulary, every
// tensor where the kind has one.
#include "kern/dequant.h"
#include "support/pack_forms.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Reads a vector of n floats, which the kind has.
static void read_vector(const fr_pack *p, const char *name, float *to, int n) {
    const fr_gguf_tensor *t = fr_pack_tensor(p, name);
    if (!t || t->n_dims != 1 || t->ne[0] != n) abort();
    fr_dequant_row(t->type, t->data, to, n);
}

// What those who bind the tensors ask without looking.
static void bind(const fr_pack *p) {
    float *v = malloc(sizeof *v * (size_t)p->d);
    for (int i = 0; i < p->n_draft; i++)
        if (p->ids[i] < 0 || p->ids[i] >= p->n_vocab) abort();
    for (int k = 1; v && k <= p->depth && p->form == &fr_medusa_form; k++) {
        char name[40];
        snprintf(name, sizeof name, "medusa.%d.bias", k);
        read_vector(p, name, v, p->d);
        snprintf(name, sizeof name, "medusa.%d.weight", k);
        if (!fr_pack_tensor(p, name)) abort();
    }
    if (p->form == &fr_ppd_form && !fr_pack_tensor(p, "ppd.vectors")) abort();
    for (int k = 0; k < p->depth && p->form == &fr_hidden_transfer_form; k++)
        if (fr_attached_pack_of(p)->layer[k] < (k ? fr_attached_pack_of(p)->layer[k - 1] : 1))
            abort();
    if (v && (p->form == &fr_eagle_form || p->form == &fr_hidden_state_form)) {
        read_vector(p, "fc_state.norm", v, p->d);
        read_vector(p, "output_norm.weight", v, p->d);
        if (!fr_pack_tensor(p, "blk.0.ffn_down.weight")) abort();
        const fr_pack_block *b = p->form->block(p);
        if (b->n_head % b->n_kv || b->head_dim % 2) abort();
    }
    if (p->form == &fr_hidden_state_form && fr_hidden_state_pack_of(p)->rank &&
        !fr_pack_tensor(p, "inject.out.weight"))
        abort();
    if (v && p->form == &fr_chimera_form) {
        read_vector(p, "output_norm.weight", v, p->d);
        const fr_chimera_pack *s = fr_chimera_pack_of(p);
        if (s->ngram < 1 || s->ngram > FR_PACK_NGRAM || s->hidden < 1) abort();
        if (!fr_pack_tensor(p, "ngram.out.weight")) abort();
        if (!fr_pack_tensor(p, "chimera.1.chain.weight")) abort();
    }
    if (v && p->form == &fr_early_exit_form) {
        read_vector(p, "exit.norm", v, p->d);
        read_vector(p, "exit.bias", v, p->d);
        if (fr_early_exit_pack_of(p)->exit < 1 || !fr_pack_tensor(p, "exit.weight")) abort();
    }
    if (p->form == &fr_layer_skip_form) {
        const fr_layer_skip_pack *s = fr_layer_skip_pack_of(p);
        int n = 0;
        for (int i = 0; i < 2 * FR_MAX_LAYERS; i++)
            n += s->skip[i];
        if (n != s->n_skip || n < 1 || !s->skip[s->skip_end - 1]) abort();
    }
    free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    void *copy = malloc(size ? size : 1);
    fr_gguf *g = NULL;
    fr_error err = {0};
    fr_pack p;
    if (copy) {
        if (size) memcpy(copy, data, size);
        if (!fr_gguf_open_memory(&g, copy, size, "input", &err)) {
            const fr_status st = fr_pack_take(&p, g, &err);
            if (st && !err.text[0]) abort();
            if (!st) {
                bind(&p);
                fr_pack_close(&p);
            }
        }
    }
    fr_gguf_close(g);
    free(copy);
    return 0;
}
