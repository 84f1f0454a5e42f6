#include "engine/engine.h"
#include "base/clock.h"
#include "base/sized.h"

FR_SIZED_ENDS_WITH(fr_engine_options, progress_user);

fr_status fr_engine_open(fr_engine **out, const char *model_path, const fr_engine_options *options,
                         fr_error *err) {
    fr_engine_options o;
    const fr_kern *kern;
    double start = fr_seconds();
    *out = NULL;
    fr_status st = fr_sized_read(&o, sizeof o, options, "fr_engine_options", err);
    if (st || (st = fr_kern_pick(&kern, o.isa, err))) return st;
    if (o.threads < 0 || o.threads > FR_MAX_THREADS)
        return fr_fail(err, FR_EARG, "threads: expected 1 to %d, found %d", FR_MAX_THREADS,
                       o.threads);
    fr_engine *e = fr_alloc_zero(sizeof *e);
    if (!e) return fr_fail(err, FR_ENOMEM, "engine: cannot get %zu bytes", sizeof *e);
    atomic_init(&e->n_keepers, 1);
    fr_shared_open(&e->shared);
    if ((st = fr_gguf_open(&e->gguf, model_path, err))) goto fail;
    if ((st = fr_model_judge(&e->tokenizer, e->gguf, err))) goto fail;
    if ((st = fr_text_lend(&e->text, e->gguf, e->tokenizer, err))) goto fail;
    e->text->engine = e;
    fr_gguf_release_all(e->gguf); // vocabulary and merges: the tokenizer has its own copy
    if ((st = fr_pool_open(&e->pool, o.threads ? o.threads : fr_pool_default_threads(), err)))
        goto fail;
    if ((st = fr_model_open(&e->model, e->gguf, kern, e->pool,
                            o.low_memory ? FR_WEIGHTS_IN_PLACE : FR_WEIGHTS_PACKED, o.progress,
                            o.progress_user, err)))
        goto fail;
    fr_pool_adapt(e->pool, true);
    fr_engine_take_facts(e, fr_seconds() - start);
    *out = e;
    return FR_OK;
fail:
    fr_engine_close(e);
    return st;
}

void fr_engine_keep(fr_engine *e) {
    atomic_fetch_add(&e->n_keepers, 1);
}

void fr_engine_close(fr_engine *e) {
    if (!e || atomic_fetch_sub(&e->n_keepers, 1) > 1) return;
    fr_free(e->profile);
    fr_shared_close(&e->shared);
    fr_model_close(&e->model);
    fr_pool_close(e->pool);
    fr_text_close(e->text);
    fr_tokenizer_close(e->tokenizer);
    fr_gguf_close(e->gguf);
    fr_free(e);
}
