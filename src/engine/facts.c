// facts.c — what an engine says of itself.
#include "engine/engine.h"
#include <ctype.h>
#include <stdio.h>

// The names that files go by, at the numbers of general.file_type in the file format.
static const char *const FILE_TYPES[] = {
    [0] = "F32",     [1] = "F16",     [2] = "Q4_0",    [3] = "Q4_1",    [7] = "Q8_0",
    [8] = "Q5_0",    [9] = "Q5_1",    [10] = "Q2_K",   [11] = "Q3_K_S", [12] = "Q3_K_M",
    [13] = "Q3_K_L", [14] = "Q4_K_S", [15] = "Q4_K_M", [16] = "Q5_K_S", [17] = "Q5_K_M",
    [18] = "Q6_K",   [21] = "Q2_K_S", [25] = "IQ4_NL", [30] = "IQ4_XS", [32] = "BF16"};

static void name_quantization(fr_engine *e, fr_type most) {
    enum { KNOWN = sizeof FILE_TYPES / sizeof *FILE_TYPES };
    uint32_t type = KNOWN;
    if (!fr_gguf_get_u32(e->gguf, "general.file_type", &type, NULL) && type < KNOWN &&
        FILE_TYPES[type]) {
        e->info.quantization = FILE_TYPES[type];
        return;
    }
    snprintf(e->quantization, sizeof e->quantization, "%s", fr_qtype_name((uint32_t)most));
    for (char *c = e->quantization; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    e->info.quantization = e->quantization;
}

void fr_engine_take_facts(fr_engine *e, double load_seconds) {
    const fr_config *c = &e->model.config;
    uint64_t by_type[FR_TYPE_LIMIT] = {0}, parameters = 0;
    int most = 0;
    for (size_t i = 0; i < fr_gguf_n_tensors(e->gguf); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(e->gguf, i);
        parameters += (uint64_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
        by_type[t->type] += t->bytes;
        if (by_type[t->type] > by_type[most]) most = (int)t->type;
    }
    e->info = (fr_engine_info){.name = c->name,
                               .architecture = c->arch_name,
                               .isa = e->model.kern->name,
                               .threads = fr_pool_threads(e->pool),
                               .n_layer = c->n_layer,
                               .n_vocab = c->n_vocab,
                               .n_ctx_train = c->n_ctx_train,
                               .n_embd = c->d,
                               .parameters = parameters,
                               .file_bytes = fr_gguf_file_bytes(e->gguf),
                               .weights_bytes = e->model.weights_bytes,
                               .macs_per_row = e->model.macs_per_row,
                               .load_seconds = load_seconds};
    name_quantization(e, (fr_type)most);
}

const fr_engine_info *fr_engine_describe(const fr_engine *e) {
    return &e->info;
}

const fr_text *fr_engine_text(const fr_engine *e) {
    return e->text;
}

const char *fr_version(void) {
    return FR_VERSION;
}
