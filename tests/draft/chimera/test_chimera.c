// Chimera's parts: n-gram states are what their formula says, the same bits however they were come
// by; what was computed is there in a later run.
#include "decode/counts.h"
#include "draft/chimera/ngram_encoder.h"
#include "draft/drafting.h"
#include "draft/naive.h"
#include "kern/dequant.h"
#include "support/tiny_pack.h"
#include "support/weights.h"
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { CTX = 160, PROMPT = 71, TOKENS = 60, GRAMS = 200 };

static void open_pair(pair *p, const fr_tiny_pack *pack) {
    const fr_tiny_options target = {.arch = "qwen2", .type = FR_TYPE_Q8_0, .n_layer = 2};
    open_target(p, &target, 2, CTX);
    strcpy(p->path, "pack-XXXXXX");
    fr_tiny_pack_write(p->path, pack, &p->target.model);
}

static void close_pair(pair *p) {
    unlink(p->path);
    close_target(p);
}

// ---------------------------------------------------------------- states
// y (+)= the named matrix times x.
static void add_product(const fr_pack *p, const char *name, const double *x, double *y) {
    const fr_gguf_tensor *t = fr_pack_tensor(p, name);
    const float *w = t->data; // of packs in f32
    for (int64_t r = 0; r < t->ne[1]; r++)
        for (int64_t c = 0; c < t->ne[0]; c++)
            y[r] += (double)w[r * t->ne[0] + c] * x[c];
}

static void state_by_hand(const fr_pack *p, const fr_model *target, const int32_t *ids, int n_ids,
                          double *g) {
    enum { MOST = 1024 };
    double t[MOST] = {0}, h[MOST] = {0};
    float e[MOST], bias[MOST];
    const fr_chimera_pack *s = fr_chimera_pack_of(p);
    assert_true(s->ngram * p->d <= MOST && s->hidden <= MOST);
    for (int i = 0; i < s->ngram && i < n_ids; i++) {
        double squares = 0;
        fr_model_embed(target, ids[n_ids - 1 - i], e);
        for (int k = 0; k < p->d; k++)
            squares += (double)e[k] * (double)e[k];
        for (int k = 0; k < p->d; k++)
            t[i * p->d + k] = (double)e[k] / sqrt(squares / p->d + 1e-6) / s->ngram;
    }
    const fr_gguf_tensor *b = fr_pack_tensor(p, "ngram.hidden.bias");
    fr_dequant_row(b->type, b->data, bias, s->hidden);
    add_product(p, "ngram.hidden.weight", t, h);
    for (int i = 0; i < s->hidden; i++) {
        h[i] += (double)bias[i];
        h[i] /= 1 + exp(-h[i]);
        if (s->encoder == FR_ENCODER_RESIDUAL) h[i] += t[i];
    }
    memset(g, 0, sizeof *g * (size_t)p->d);
    add_product(p, "ngram.out.weight", h, g);
    if (s->encoder == FR_ENCODER_WIDE) add_product(p, "ngram.skip.weight", t, g);
}

static void states_are_those_of_the_formula(void **state) {
    (void)state;
    for (int form = 0; form < FR_PACK_ENCODERS; form++) {
        const fr_tiny_pack tiny = {
            .form = &fr_chimera_form, .encoder = (fr_pack_encoder)form, .ngram = 3};
        pair p;
        fr_ngram_encoder g;
        fr_error err;
        int32_t ids[8];
        open_pair(&p, &tiny);
        fr_pack_weights *weights = weights_of(p.path, &p.target.model);
        const fr_pack pack = weights->pack;
        if (fr_ngram_encoder_open(&g, weights, &(fr_ngram_encoder_options){0}, &err))
            fail_msg("%s", err.text);
        fr_test_ids(ids, 8, 256, 5);
        const int stride = fr_linear_stride(pack.d);
        float *x = fr_alloc_array(8 * (size_t)stride, sizeof *x);
        fr_ngram gram[8];
        for (int i = 0; i < 8; i++)
            gram[i] = fr_ngram_of(ids, i + 1, fr_chimera_pack_of(&pack)->ngram);
        fr_ngram_encoder_states(&g, gram, 8, x, stride);
        for (int i = 0; i < 8; i++) {
            double want[1024], most = 0;
            state_by_hand(&pack, &p.target.model, ids, i + 1, want);
            for (int k = 0; k < pack.d; k++)
                most = fmax(most, fabs(want[k]));
            assert_true(most > 0);
            for (int k = 0; k < pack.d; k++)
                if (!(fabs((double)x[i * stride + k] - want[k]) <= 1e-4 * most))
                    fail_msg("form %d, n-gram %d: %g at %d, not %g", form, i,
                             (double)x[i * stride + k], k, want[k]);
        }
        fr_free(x);
        fr_ngram_encoder_close(&g);
        fr_pack_weights_give_back(weights);
        close_pair(&p);
    }
}

// A table of one entry, of a few, of all: and none.
static void what_is_remembered_is_what_is_computed(void **state) {
    (void)state;
    static const int caches[] = {0, 1, 7, 4096};
    const fr_tiny_pack tiny = {.form = &fr_chimera_form, .type = FR_TYPE_Q8_0, .ngram = 2};
    pair p;
    fr_error err;
    open_pair(&p, &tiny);
    fr_pack_weights *weights = weights_of(p.path, &p.target.model);
    const fr_pack pack = weights->pack;
    const int stride = fr_linear_stride(pack.d);
    const size_t bytes = (size_t)GRAMS * (size_t)stride * sizeof(float);
    float *want = fr_alloc_zero(bytes), *got = fr_alloc_zero(bytes);
    for (int c = 0; c < 4; c++) {
        fr_ngram_encoder g;
        const fr_ngram_encoder_options options = {.cache = caches[c]};
        if (fr_ngram_encoder_open(&g, weights, &options, &err)) fail_msg("%s", err.text);
        for (int round = 0; round < 3; round++)
            for (int i = 0; i < GRAMS;) {
                fr_ngram gram[FR_NGRAM_ENCODER_ROWS];
                int n = 0;
                for (; n < 1 + (i + round) % FR_NGRAM_ENCODER_ROWS && i + n < GRAMS; n++) {
                    const int at = (i + n) % 50; // so that they come again
                    gram[n] = fr_ngram_of((int32_t[]){at, at * 3 % 256}, 2, 2);
                }
                fr_ngram_encoder_states(&g, gram, n, (c ? got : want) + (size_t)i * (size_t)stride,
                                        stride);
                i += n;
            }
        if (c) assert_memory_equal(got, want, bytes);
        if (caches[c] == 4096) assert_int_equal(g.memory.counts.missed, 50);
        fr_ngram_encoder_close(&g);
    }
    fr_free(want), fr_free(got);
    fr_pack_weights_give_back(weights);
    close_pair(&p);
}

// ---------------------------------------------------------------- runs
static void remove_folder(const char *folder) {
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (d) closedir(d);
    rmdir(folder);
}

static double share_of(const fr_draft_counts *counts, const char *name) {
    for (int i = 0; i < counts->n; i++)
        if (!strcmp(counts->count[i].name, name)) return fr_count_value(&counts->count[i]);
    fail_msg("%s was not counted", name);
    return 0;
}

// One run of the drafter: its tokens, and where its n-grams came from.
static output run(const pair *p, const char *spec, const char **options, fr_stats *stats,
                  fr_draft_counts *counts) {
    int32_t prompt[PROMPT];
    fr_decoder d;
    fr_drafter *drafter = open_drafter(p, spec, false, options);
    fr_test_ids(prompt, PROMPT, 256, 31);
    open_decoder(&d, p, drafter, false);
    const output o = decode(&d, prompt, PROMPT, &(fr_sampling){0}, TOKENS);
    *stats = d.stats;
    *counts = (fr_draft_counts){0};
    drafter->ops->report(drafter, counts);
    fr_decoder_close(&d);
    fr_drafter_close(drafter);
    return o;
}

static void a_store_serves_the_next_run(void **state) {
    (void)state;
    const fr_tiny_pack tiny = {.form = &fr_chimera_form, .n_draft = 200, .ngram = 3};
    char folder[] = "grams-XXXXXX", spec[64], store[64];
    pair p;
    fr_stats stats[3];
    fr_draft_counts counts[3];
    open_pair(&p, &tiny);
    assert_non_null(mkdtemp(folder));
    snprintf(spec, sizeof spec, "chimera:%s", p.path);
    snprintf(store, sizeof store, "store=%s", folder);
    const output plain =
        run(&p, spec, (const char *[]){"depth=3", "cache=0", NULL}, &stats[0], &counts[0]);
    for (int i = 1; i < 3; i++) {
        const output got = run(&p, spec, (const char *[]){"depth=3", "cache=5", store, NULL},
                               &stats[i], &counts[i]);
        assert_memory_equal(got.token, plain.token, sizeof plain.token[0] * TOKENS);
        assert_int_equal(stats[i].rows, stats[0].rows); // the very same drafts
    }
    assert_true(share_of(&counts[1], "ngrams_computed") > 0.3);
    // All of them, but for what a busy disk had no room for.
    assert_true(share_of(&counts[2], "ngrams_computed") <
                share_of(&counts[1], "ngrams_computed") / 2);
    assert_true(share_of(&counts[2], "ngrams_in_store") > 0.2);
    remove_folder(folder);
    close_pair(&p);
}

static void a_store_that_is_begun_anew_says_so(void **state) {
    (void)state;
    const fr_tiny_pack tiny = {.form = &fr_chimera_form, .n_draft = 200, .ngram = 3};
    char folder[] = "grams-XXXXXX", spec[64], store[64], file[64];
    pair p;
    fr_stats stats;
    fr_draft_counts counts;
    open_pair(&p, &tiny);
    assert_non_null(mkdtemp(folder));
    snprintf(spec, sizeof spec, "chimera:%s", p.path);
    snprintf(store, sizeof store, "store=%s", folder);
    snprintf(file, sizeof file, "%s/ngrams.db", folder);
    for (int damaged = 0; damaged < 2; damaged++) {
        run(&p, spec, (const char *[]){"depth=3", "cache=5", store, NULL}, &stats, &counts);
        assert_true(share_of(&counts, "store_rebuilt") == damaged);
        assert_true(share_of(&counts, "store_dropped") >= 0);
        assert_true(share_of(&counts, "store_damaged") == 0);
        FILE *f = fopen(file, "w");
        assert_non_null(f);
        fputs("no store at all", f);
        fclose(f);
    }
    remove_folder(folder);
    close_pair(&p);
}

static void counts_begin_anew_with_a_request(void **state) {
    (void)state;
    const fr_tiny_pack tiny = {.form = &fr_chimera_form, .n_draft = 200, .ngram = 3};
    int32_t prompt[PROMPT];
    char spec[64];
    pair p;
    fr_decoder d;
    open_pair(&p, &tiny);
    snprintf(spec, sizeof spec, "chimera:%s", p.path);
    fr_drafter *drafter = open_drafter(&p, spec, false, (const char *[]){"depth=3", NULL});
    fr_test_ids(prompt, PROMPT, 256, 31);
    open_decoder(&d, &p, drafter, false);
    for (int i = 0; i < 2; i++) {
        fr_draft_counts begun = {0}, ended = {0};
        fr_decoder_prompt(&d, prompt, PROMPT, &(fr_sampling){0});
        drafter->ops->report(drafter, &begun); // nothing was drafted yet
        for (int k = 0; k < begun.n; k++)
            assert_true(begun.count[k].sum == 0);
        decode(&d, prompt, PROMPT, &(fr_sampling){0}, TOKENS);
        drafter->ops->report(drafter, &ended);
        assert_true(share_of(&ended, "seconds_ngrams") > 0);
        assert_true(share_of(&ended, "ngrams_computed") > 0 || i);
    }
    fr_decoder_close(&d);
    fr_drafter_close(drafter);
    close_pair(&p);
}

static void a_store_without_a_table_is_refused(void **state) {
    (void)state;
    const fr_tiny_pack tiny = {.form = &fr_chimera_form};
    static const char *const wrong[][3] = {{"cache=0", "store=somewhere", NULL},
                                           {"store=", NULL, NULL},
                                           {"cache=x", NULL, NULL},
                                           {"tree=odd", NULL, NULL},
                                           {"cache=0", NULL, NULL}};
    static const char *const says[] = {"store", "store", "found 'x'", "found 'odd'", NULL};
    char spec[64], used[64];
    pair p;
    open_pair(&p, &tiny);
    snprintf(spec, sizeof spec, "chimera:%s", p.path);
    for (int i = 0; i < 5; i++) {
        fr_drafter *d;
        fr_error err = {0};
        const fr_drafter_config config = {
            .model = &p.target.model, .n_ctx = CTX, .options = wrong[i]};
        const fr_status st = fr_drafter_open(&d, used, spec, &config, &err);
        if (st != (says[i] ? FR_EARG : FR_OK) || (says[i] && !strstr(err.text, says[i])))
            fail_msg("%s: %d: %s", wrong[i][0], (int)st, err.text);
        assert_int_equal(d != NULL, !says[i]);
        fr_drafter_close(d);
    }
    close_pair(&p);
}

// A store is of one encoder: two packs joined in a SPEC have two. Refused when the SPEC is opened,
// with what to do; a pack that is two files is one encoder.
static void two_packs_on_one_store_are_refused_when_opened(void **state) {
    (void)state;
    const fr_tiny_pack tiny = {.form = &fr_chimera_form, .n_draft = 200, .ngram = 3};
    fr_tiny_pack other = tiny;
    other.seed = 9;
    char folder[] = "grams-XXXXXX", path[2][32] = {"pack-XXXXXX", "pack-XXXXXX"}, store[64];
    pair p;
    fr_error err = {0};
    open_pair(&p, &tiny);
    assert_non_null(mkdtemp(folder));
    fr_tiny_pack_write(path[0], &other, &p.target.model);
    fr_tiny_pack_write(path[1], &tiny, &p.target.model);
    snprintf(store, sizeof store, "store=%s", folder);
    const char *const options[] = {"depth=3", "cache=5", store, NULL};
    for (int i = 0; i < 2; i++) {
        char spec[100], folder_said[64];
        fr_drafter *d = NULL;
        snprintf(spec, sizeof spec, "chimera:%s+chimera:%s", p.path, path[i]);
        const fr_status st = try_drafter(&d, &p, spec, false, options, &err);
        assert_int_equal(st, i ? FR_OK : FR_EIO);
        assert_true(i ? d != NULL : !d);
        fr_drafter_close(d);
        if (i) continue;
        snprintf(folder_said, sizeof folder_said, "n-gram store %s: expected", folder);
        assert_non_null(strstr(err.text, folder_said));
        assert_non_null(strstr(err.text, "a folder of its own for each pack"));
    }
    remove_folder(folder);
    unlink(path[0]);
    unlink(path[1]);
    close_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_those_of_the_formula),
        cmocka_unit_test(what_is_remembered_is_what_is_computed),
        cmocka_unit_test(a_store_serves_the_next_run),
        cmocka_unit_test(a_store_that_is_begun_anew_says_so),
        cmocka_unit_test(counts_begin_anew_with_a_request),
        cmocka_unit_test(two_packs_on_one_store_are_refused_when_opened),
        cmocka_unit_test(a_store_without_a_table_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
