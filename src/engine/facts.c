// facts.c — facts about an engine for its callers.
#include "engine/engine.h"

void fr_engine_take_facts(fr_engine *e, double load_seconds) {
    const fr_config *c = &e->model.config;
    fr_model_quantization(e->gguf, e->quantization);
    e->info = (fr_engine_info){.name = c->name,
                               .architecture = c->arch_name,
                               .isa = e->model.kern->name,
                               .threads = fr_pool_threads(e->pool),
                               .n_layer = c->n_layer,
                               .n_vocab = c->n_vocab,
                               .n_ctx_train = c->n_ctx_train,
                               .n_embd = c->d,
                               .parameters = fr_model_parameters(e->gguf),
                               .quantization = e->quantization,
                               .file_bytes = fr_gguf_file_bytes(e->gguf),
                               .weights_bytes = e->model.row_bytes,
                               .macs_per_row = e->model.macs_per_row,
                               .load_seconds = load_seconds,
                               .memory_bytes = e->model.weights_bytes};
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
