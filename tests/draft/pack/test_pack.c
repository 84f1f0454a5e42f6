// Packs: a whole one opens and says what it holds; one with any part missing, double, out of range
// or of another shape is refused with that part's name, and so is another model's.
#include "draft/pack/find.h"
#include "draft/pack/pack.h"
#include "support/open_model.h"
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

static fr_opened target;

static int open_target(void **state) {
    (void)state;
    const fr_kern *kern;
    fr_error err;
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    fr_opened_open(&target, &(fr_tiny_options){.n_layer = 2}, kern, 1);
    return 0;
}

static int close_target(void **state) {
    (void)state;
    fr_opened_close(&target);
    return 0;
}

typedef struct built {
    void *data;
    fr_gguf *gguf;
} built;

static void finish(built *b, fr_gguf_writer *w) {
    fr_error err;
    size_t bytes;
    if (fr_gguf_writer_finish_memory(w, &b->data, &bytes, &err)) fail_msg("%s", err.text);
    fr_gguf_writer_close(w);
    if (fr_gguf_open_memory(&b->gguf, b->data, bytes, "pack", &err)) fail_msg("%s", err.text);
}

static fr_gguf_writer *begin(const fr_tiny_pack *o) {
    fr_gguf_writer *w;
    fr_error err;
    if (fr_gguf_writer_open(&w, &err)) fail_msg("%s", err.text);
    fr_tiny_pack_add(w, o, &target.model);
    return w;
}

static void drop(built *b) {
    fr_gguf_close(b->gguf);
    fr_free(b->data);
}

static void expect_refused(fr_gguf_writer *w, fr_status want, const char *sentence) {
    built b;
    fr_pack p;
    fr_error err = {0};
    finish(&b, w);
    const fr_status st = fr_pack_take(&p, b.gguf, &err);
    if (st != want || !strstr(err.text, sentence))
        fail_msg("expected %d with '%s', found %d: %s", want, sentence, st, err.text);
    assert_null(p.ids_memory);
    drop(&b);
}

static const fr_tiny_pack KINDS[] = {
    {.form = &fr_medusa_form},
    {.form = &fr_medusa_form, .variant = FR_MEDUSA_OWN_HEADS, .type = FR_TYPE_Q8_0},
    {.form = &fr_medusa_form, .variant = FR_MEDUSA_HYDRA, .depth = 2},
    {.form = &fr_medusa_form, .variant = FR_MEDUSA_EXIT, .tap = 1},
    {.form = &fr_eagle_form, .type = FR_TYPE_Q8_0},
    {.form = &fr_eagle_form, .n_taps = 3, .taps = {0, 1, 2}, .type = FR_TYPE_Q8_0},
    {.form = &fr_hidden_state_form, .rank = 16, .gate = true},
    {.form = &fr_hidden_state_form, .rank = 16},
    {.form = &fr_hidden_state_form, .pure = true},
    {.form = &fr_ppd_form, .ensemble = 3},
    {.form = &fr_hidden_transfer_form, .type = FR_TYPE_Q8_0},
    {.form = &fr_chimera_form, .ngram = 3, .type = FR_TYPE_Q8_0},
    {.form = &fr_chimera_form, .encoder = FR_ENCODER_RESIDUAL, .no_residual = true},
    {.form = &fr_chimera_form, .encoder = FR_ENCODER_LAYERS, .variant = FR_MEDUSA_OWN_HEADS},
    {.form = &fr_layer_skip_form, .skip = 0xb},
    {.form = &fr_early_exit_form, .type = FR_TYPE_Q8_0},
};
enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

static void check_draft_block(const fr_draft_block_pack *s, const fr_tiny_pack *o) {
    assert_int_equal(s->pure, o->pure);
    assert_int_equal(s->n_taps, o->n_taps);
    for (int t = 0; t < o->n_taps; t++)
        assert_int_equal(s->taps[t], o->taps[t]);
}

static void check_chimera(const fr_chimera_pack *s, const fr_tiny_pack *o) {
    assert_int_equal(s->own_heads, o->variant == FR_MEDUSA_OWN_HEADS);
    assert_int_equal(s->ngram, o->ngram ? o->ngram : 2);
    assert_int_equal(s->encoder, o->encoder);
    assert_int_equal(s->residual, !o->no_residual);
}

static void check_settings(const fr_pack *p, const fr_tiny_pack *o) {
    if (p->form == &fr_medusa_form) {
        assert_int_equal(fr_medusa_pack_of(p)->variant, o->variant);
        assert_int_equal(fr_medusa_pack_of(p)->tap, o->tap);
    }
    if (p->form == &fr_hidden_state_form) {
        assert_int_equal(fr_hidden_state_pack_of(p)->rank, o->rank);
        assert_int_equal(fr_hidden_state_pack_of(p)->gate, o->gate);
    }
    if (p->form == &fr_hidden_state_form || p->form == &fr_eagle_form)
        check_draft_block(p->settings, o);
    if (p->form == &fr_chimera_form) check_chimera(p->settings, o);
    if (p->form == &fr_ppd_form)
        assert_int_equal(fr_attached_pack_of(p)->ensemble, o->ensemble ? o->ensemble : 1);
    if (p->form == &fr_early_exit_form) assert_int_equal(fr_early_exit_pack_of(p)->exit, 1);
}

static void a_whole_pack_opens_and_says_what_it_holds(void **state) {
    (void)state;
    for (int i = 0; i < N_KINDS; i++) {
        const fr_tiny_pack *o = &KINDS[i];
        built b;
        fr_pack p;
        fr_error err;
        finish(&b, begin(o));
        assert_true(fr_pack_is(b.gguf));
        if (fr_pack_take(&p, b.gguf, &err)) fail_msg("%d: %s", i, err.text);
        assert_ptr_equal(p.form, o->form);
        assert_int_equal(p.d, target.model.config.d);
        assert_int_equal(p.n_vocab, target.model.config.n_vocab);
        assert_int_equal(p.n_draft, 40);
        assert_int_equal(p.ids[39], 0);
        assert_int_equal(p.depth, o->depth ? o->depth : 3);
        check_settings(&p, o);
        assert_true(fabs(fr_accuracy_rate(&p.accuracy, 2, 1) - 0.075) < 1e-6);
        if (fr_pack_fits(&p, &target.model, &err)) fail_msg("%s", err.text);
        fr_pack_close(&p);
        drop(&b);
    }
}

static void any_part_that_is_missing_is_named(void **state) {
    (void)state;
    static const char *const needed[] = {"general.type",
                                         "general.architecture",
                                         "forerun.target.fingerprint",
                                         "forerun.d",
                                         "forerun.n_vocab",
                                         "forerun.draft_vocab",
                                         "forerun.heads",
                                         "forerun.n_head",
                                         "forerun.n_kv",
                                         "forerun.head_dim",
                                         "forerun.d_ff",
                                         "fc_state.weight",
                                         "fc_state.norm",
                                         "fc.bias",
                                         "fc_token.weight",
                                         "fc_token.norm",
                                         "null",
                                         "blk.0.attn_norm.weight",
                                         "blk.0.attn_q.weight",
                                         "blk.0.attn_k.weight",
                                         "blk.0.attn_v.weight",
                                         "blk.0.attn_output.weight",
                                         "blk.0.ffn_norm.weight",
                                         "blk.0.ffn_gate.weight",
                                         "blk.0.ffn_up.weight",
                                         "blk.0.ffn_down.weight",
                                         "output_norm.weight",
                                         "inject.token.weight",
                                         "inject.out.weight",
                                         "inject.gate.weight"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        fr_tiny_pack o = {.form = &fr_hidden_state_form, .rank = 8, .gate = true};
        o.leave_out = needed[i];
        expect_refused(begin(&o), FR_EDATA, needed[i]);
    }
    static const char *const heads[] = {"medusa.3.weight", "medusa.1.bias", "medusa.2.head"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const fr_tiny_pack o = {.variant = FR_MEDUSA_OWN_HEADS, .leave_out = heads[i]};
        expect_refused(begin(&o), FR_EDATA, heads[i]);
    }
    expect_refused(begin(&(fr_tiny_pack){.variant = FR_MEDUSA_EXIT, .leave_out = "forerun.tap"}),
                   FR_EDATA, "forerun.tap");
    static const fr_tiny_pack riding[] = {
        {.form = &fr_ppd_form, .leave_out = "forerun.ensemble"},
        {.form = &fr_ppd_form, .leave_out = "ppd.vectors"},
        {.form = &fr_hidden_transfer_form, .leave_out = "forerun.layers"},
        {.form = &fr_hidden_transfer_form, .leave_out = "transfer.3.weight"},
        {.form = &fr_chimera_form, .leave_out = "forerun.ngram"},
        {.form = &fr_chimera_form, .leave_out = "forerun.hidden"},
        {.form = &fr_chimera_form, .leave_out = "forerun.encoder"},
        {.form = &fr_chimera_form, .leave_out = "ngram.hidden.weight"},
        {.form = &fr_chimera_form, .leave_out = "ngram.hidden.bias"},
        {.form = &fr_chimera_form, .leave_out = "ngram.out.weight"},
        {.form = &fr_chimera_form, .leave_out = "ngram.skip.weight"},
        {.form = &fr_chimera_form, .leave_out = "chimera.2.chain.weight"},
        {.form = &fr_chimera_form, .leave_out = "chimera.3.state.weight"},
        {.form = &fr_chimera_form, .leave_out = "chimera.1.norm"},
        {.form = &fr_chimera_form, .leave_out = "blk.0.ffn_up.weight"},
        {.form = &fr_layer_skip_form, .leave_out = "forerun.skip"},
        {.form = &fr_layer_skip_form, .leave_out = "forerun.share"},
        {.form = &fr_early_exit_form, .leave_out = "forerun.exit"},
        {.form = &fr_early_exit_form, .leave_out = "exit.norm"},
        {.form = &fr_early_exit_form, .leave_out = "exit.weight"},
        {.form = &fr_early_exit_form, .leave_out = "exit.bias"}};
    for (size_t i = 0; i < sizeof riding / sizeof *riding; i++)
        expect_refused(begin(&riding[i]), FR_EDATA, riding[i].leave_out);
}

static void layers_of_hidden_transfer_ascend_within_the_target(void **state) {
    (void)state;
    static const int32_t falling[] = {1, 1, 0}, few[] = {1, 1}, high[] = {1, 1, 2};
    const fr_tiny_pack o = {.form = &fr_hidden_transfer_form, .leave_out = "forerun.layers"};
    fr_gguf_writer *w = begin(&o);
    fr_gguf_writer_i32_array(w, "forerun.layers", falling, 3);
    expect_refused(w, FR_EDATA, "found 0 at 2");
    w = begin(&o);
    fr_gguf_writer_i32_array(w, "forerun.layers", few, 2);
    expect_refused(w, FR_EDATA, "expected 3, one a step, found 2");
    built b;
    fr_pack p;
    fr_error err = {0};
    w = begin(&o);
    fr_gguf_writer_i32_array(w, "forerun.layers", high, 3);
    finish(&b, w);
    if (fr_pack_take(&p, b.gguf, &err)) fail_msg("%s", err.text);
    assert_int_equal(fr_pack_fits(&p, &target.model, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "expected 1 to 1, found 2"));
    fr_pack_close(&p);
    drop(&b);
    const fr_tiny_pack deep = {.form = &fr_ppd_form, .depth = FR_PACK_ATTACHED + 1};
    expect_refused(begin(&deep), FR_EDATA, "forerun.heads: expected 1 to 7, found 8");
}

static void taps_ascend_within_the_target(void **state) {
    (void)state;
    static const int32_t falling[] = {1, 0}, twice[] = {1, 1}, below[] = {-1, 1}, one[] = {1},
                         many[9] = {0};
    const fr_tiny_pack o = {
        .form = &fr_eagle_form, .n_taps = 2, .taps = {0, 1}, .leave_out = "forerun.taps"};
    const struct {
        const int32_t *taps;
        size_t n;
        const char *sentence;
    } bad[] = {{falling, 2, "forerun.taps: expected 2 to 512, found 0 at 1"},
               {twice, 2, "found 1 at 1"},
               {below, 2, "found -1 at 0"},
               {one, 1, "fc_taps.weight: expected [64,64]"},
               {many, 9, "forerun.taps: expected 1 to 8 layers, found 9"},
               {many, 0, "found 0"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fr_gguf_writer *w = begin(&o);
        fr_gguf_writer_i32_array(w, "forerun.taps", bad[i].taps, bad[i].n);
        expect_refused(w, FR_EDATA, bad[i].sentence);
    }
    expect_refused(begin(&o), FR_EDATA, "tensors, found"); // they belong to nothing
    fr_tiny_pack whole = {.form = &fr_eagle_form, .n_taps = 2, .taps = {0, 1}};
    whole.leave_out = "fc_taps.norm";
    expect_refused(begin(&whole), FR_EDATA, "fc_taps.norm: expected a tensor");
    whole.leave_out = NULL;
    whole.taps[1] = 3; // of two layers
    built b;
    fr_pack p;
    fr_error err = {0};
    finish(&b, begin(&whole));
    if (fr_pack_take(&p, b.gguf, &err)) fail_msg("%s", err.text);
    assert_int_equal(fr_pack_fits(&p, &target.model, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "forerun.taps: expected 0 to 2, found 3"));
    fr_pack_close(&p);
    drop(&b);
}

static void sublayers_of_layer_skip_ascend_within_the_target(void **state) {
    (void)state;
    static const int32_t falling[] = {2, 1}, twice[] = {2, 2}, high[] = {1, 4};
    const fr_tiny_pack o = {.form = &fr_layer_skip_form, .leave_out = "forerun.skip"};
    fr_gguf_writer *w = begin(&o);
    fr_gguf_writer_i32_array(w, "forerun.skip", falling, 2);
    expect_refused(w, FR_EDATA, "found 1 at 1");
    w = begin(&o);
    fr_gguf_writer_i32_array(w, "forerun.skip", twice, 2);
    expect_refused(w, FR_EDATA, "found 2 at 1");
    w = begin(&(fr_tiny_pack){.form = &fr_layer_skip_form, .leave_out = "forerun.share"});
    fr_gguf_writer_f32(w, "forerun.share", 1.5f);
    expect_refused(w, FR_EDATA, "forerun.share");
    built b;
    fr_pack p;
    fr_error err = {0};
    w = begin(&o);
    fr_gguf_writer_i32_array(w, "forerun.skip", high, 2);
    finish(&b, w);
    if (fr_pack_take(&p, b.gguf, &err)) fail_msg("%s", err.text);
    const fr_layer_skip_pack *s = fr_layer_skip_pack_of(&p);
    assert_true(s->skip[1] && !s->skip[2] && s->skip[4] && s->n_skip == 2);
    assert_int_equal(fr_pack_fits(&p, &target.model, &err), FR_EDATA); // of two layers
    assert_non_null(strstr(err.text, "expected 0 to 3, found 4"));
    fr_pack_close(&p);
    drop(&b);
}

static void the_exit_is_below_the_targets_last_layer(void **state) {
    (void)state;
    built b;
    fr_pack p;
    fr_error err = {0};
    finish(&b, begin(&(fr_tiny_pack){.form = &fr_early_exit_form, .exit = 2})); // of two layers
    if (fr_pack_take(&p, b.gguf, &err)) fail_msg("%s", err.text);
    assert_int_equal(fr_pack_fits(&p, &target.model, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "forerun.exit: expected 1 to 1, found 2"));
    fr_pack_close(&p);
    drop(&b);
}

static void a_tensor_too_many_or_of_another_shape_is_refused(void **state) {
    (void)state;
    static const float zeros[64 * 70];
    fr_gguf_writer *w = begin(&(fr_tiny_pack){0});
    fr_gguf_writer_tensor(w, "medusa.4.weight", FR_TYPE_F32, 2, (int64_t[]){64, 64}, zeros);
    expect_refused(w, FR_EDATA, "6 tensors, found 7");
    w = begin(&(fr_tiny_pack){.leave_out = "medusa.2.weight"});
    fr_gguf_writer_tensor(w, "medusa.2.weight", FR_TYPE_F32, 2, (int64_t[]){64, 63}, zeros);
    expect_refused(w, FR_EDATA, "medusa.2.weight: expected [64,64], found 2 dimensions, [64,63]");
    w = begin(&(fr_tiny_pack){.leave_out = "medusa.2.bias"});
    fr_gguf_writer_tensor(w, "medusa.2.bias", FR_TYPE_F32, 2, (int64_t[]){64, 1}, zeros);
    expect_refused(w, FR_EDATA, "medusa.2.bias: expected [64,1], found 2 dimensions");
}

static void numbers_out_of_range_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *key;
        uint32_t value;
    } bad[] = {{"forerun.d", 0},        {"forerun.n_vocab", 1}, {"forerun.heads", 0},
               {"forerun.heads", 17},   {"forerun.n_head", 0},  {"forerun.n_head", 3},
               {"forerun.head_dim", 7}, {"forerun.d_ff", 0},    {"forerun.rank", 5000}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const fr_tiny_pack o = {.form = &fr_hidden_state_form, .rank = 8, .leave_out = bad[i].key};
        fr_gguf_writer *w = begin(&o);
        fr_gguf_writer_u32(w, bad[i].key, bad[i].value);
        expect_refused(w, FR_EDATA, "forerun.");
    }
    fr_gguf_writer *w =
        begin(&(fr_tiny_pack){.form = &fr_eagle_form, .leave_out = "forerun.rope_base"});
    fr_gguf_writer_f32(w, "forerun.rope_base", 0.5f);
    expect_refused(w, FR_EDATA, "forerun.rope_base");
}

static void a_draft_vocabulary_of_strange_or_double_ids_is_refused(void **state) {
    (void)state;
    const int n_vocab = target.model.config.n_vocab;
    const struct {
        int32_t id[3];
        size_t n;
        const char *sentence;
    } bad[] = {{{1, n_vocab, 2}, 3, "found"},
               {{1, 2, -1}, 3, "found -1 at 2"},
               {{5, 2, 5}, 3, "5 stands there twice, again at 2"},
               {{0}, 0, "found 0"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fr_gguf_writer *w = begin(&(fr_tiny_pack){.leave_out = "forerun.draft_vocab"});
        fr_gguf_writer_i32_array(w, "forerun.draft_vocab", bad[i].id, bad[i].n);
        expect_refused(w, FR_EDATA, bad[i].sentence);
    }
}

static void accuracies_that_are_none_are_refused(void **state) {
    (void)state;
    static const float low[30] = {[29] = -0.1f}, many[31] = {0}, sum[30] = {[10] = 0.6f, 0.41f};
    fr_gguf_writer *w = begin(&(fr_tiny_pack){.leave_out = "forerun.accuracy.depth_rank"});
    fr_gguf_writer_f32_array(w, "forerun.accuracy.depth_rank", low, 30);
    expect_refused(w, FR_EDATA, "at 29");
    w = begin(&(fr_tiny_pack){.leave_out = "forerun.accuracy.depth_rank"});
    fr_gguf_writer_f32_array(w, "forerun.accuracy.depth_rank", many, 31);
    expect_refused(w, FR_EDATA, "expected 30 values for 3 depths, found 31");
    w = begin(&(fr_tiny_pack){.leave_out = "forerun.accuracy.depth_rank"});
    fr_gguf_writer_f32_array(w, "forerun.accuracy.depth_rank", sum, 30);
    expect_refused(w, FR_EDATA, "rates of depth 2 that are 1 together at most, found 1.01");
}

static void unknown_kinds_and_variants_are_refused(void **state) {
    (void)state;
    fr_gguf_writer *w = begin(&(fr_tiny_pack){.leave_out = "general.architecture"});
    fr_gguf_writer_str(w, "general.architecture", "forerun-oracle");
    expect_refused(w, FR_EUNSUP, "forerun-oracle");
    w = begin(&(fr_tiny_pack){.leave_out = "general.type"});
    fr_gguf_writer_str(w, "general.type", "model");
    expect_refused(w, FR_EDATA, "found 'model'");
    w = begin(&(fr_tiny_pack){.leave_out = "forerun.variant"});
    fr_gguf_writer_str(w, "forerun.variant", "gorgon");
    expect_refused(w, FR_EUNSUP, "gorgon");
    expect_refused(begin(&(fr_tiny_pack){.print = "0123"}), FR_EDATA, "32 hex digits");
}

static void a_pack_for_another_model_is_refused_with_both_fingerprints(void **state) {
    (void)state;
    static const char other[] = "0123456789abcdef0123456789abcdef";
    char path[] = "pack-XXXXXX", print[FR_GGUF_FINGERPRINT];
    fr_tiny_pack_write(path, &(fr_tiny_pack){.print = other}, &target.model);
    fr_gguf_fingerprint(target.gguf, print);
    fr_pack p;
    fr_error err = {0};
    assert_int_equal(fr_pack_open_for(&p, path, &fr_medusa_form, &target.model, &err), FR_EUNSUP);
    assert_non_null(strstr(err.text, other));
    assert_non_null(strstr(err.text, print));
    unlink(path);
}

// The status of a file's bytes as a pack for the target, closed again.
static fr_status try_bytes(void *data, size_t bytes, fr_error *err) {
    fr_gguf *g;
    fr_pack p;
    fr_status st = fr_gguf_open_memory(&g, data, bytes, "pack", err);
    if (st) return st;
    if (!(st = fr_pack_take(&p, g, err))) {
        st = fr_pack_check_sum(&p, err);
        fr_pack_close(&p);
    }
    fr_gguf_close(g);
    return st;
}

static size_t read_file(const char *path, void **data) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    const size_t n = (size_t)ftell(f);
    rewind(f);
    *data = fr_alloc_zero(n);
    assert_int_equal(fread(*data, 1, n, f), n);
    fclose(f);
    return n;
}

// Of the header every bit, of the weights one of each byte.
static void no_bit_of_a_pack_changes_unseen(void **state) {
    (void)state;
    char path[] = "pack-XXXXXX";
    void *data;
    fr_error err = {0};
    fr_tiny_pack_write(path, &(fr_tiny_pack){.form = &fr_early_exit_form}, &target.model);
    const size_t n = read_file(path, &data);
    uint8_t *byte = data;
    assert_true(n > 10000);
    assert_int_equal(try_bytes(data, n, &err), FR_OK);
    for (size_t bit = 0; bit < 8 * n; bit += bit < 8 * 2048 ? 1 : 7) {
        byte[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (!try_bytes(data, n, &err)) fail_msg("bit %zu", bit);
        byte[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    fr_free(data);
    unlink(path);
}

static void a_damaged_pack_drafts_for_nobody(void **state) {
    (void)state;
    char path[] = "pack-XXXXXX";
    fr_pack p;
    fr_error err = {0};
    fr_tiny_pack_write(path, &(fr_tiny_pack){0}, &target.model);
    assert_int_equal(fr_pack_open_for(&p, path, &fr_medusa_form, &target.model, &err), FR_OK);
    fr_pack_close(&p);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, -300, SEEK_END);
    const int was = getc(f);
    fseek(f, -300, SEEK_END);
    putc(was ^ 0x10, f);
    fclose(f);
    assert_int_equal(fr_pack_open_for(&p, path, &fr_medusa_form, &target.model, &err), FR_EDATA);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "forerun.checksum: damaged"));
    unlink(path);
}

static void packs_without_a_checksum_are_old_ones(void **state) {
    (void)state;
    built b;
    fr_pack p;
    fr_error err = {0};
    finish(&b, begin(&(fr_tiny_pack){0}));
    if (fr_pack_take(&p, b.gguf, &err)) fail_msg("%s", err.text);
    assert_int_equal(p.version, 1);
    assert_int_equal(fr_pack_check_sum(&p, &err), FR_OK);
    fr_pack_close(&p);
    drop(&b);
    fr_gguf_writer *w = begin(&(fr_tiny_pack){0});
    fr_gguf_writer_u32(w, "forerun.version", 2); // these have one
    finish(&b, w);
    assert_int_equal(fr_pack_take(&p, b.gguf, &err), FR_OK);
    assert_int_equal(fr_pack_check_sum(&p, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "forerun.checksum: expected a u64, found none"));
    fr_pack_close(&p);
    drop(&b);
    w = begin(&(fr_tiny_pack){0});
    fr_gguf_writer_u32(w, "forerun.version", FR_PACK_VERSION + 1);
    expect_refused(w, FR_EUNSUP, "forerun.version: expected 1 to 2, found 3");
}

static void a_pack_of_another_method_is_refused(void **state) {
    (void)state;
    char path[] = "pack-XXXXXX";
    fr_tiny_pack_write(path, &(fr_tiny_pack){.form = &fr_eagle_form}, &target.model);
    fr_pack p;
    fr_error err = {0};
    assert_int_equal(fr_pack_open_for(&p, path, &fr_medusa_form, &target.model, &err), FR_EUNSUP);
    assert_non_null(strstr(err.text, "expected a pack of medusa, found one of eagle"));
    assert_int_equal(fr_pack_open_for(&p, path, &fr_eagle_form, &target.model, &err), FR_OK);
    fr_pack_close(&p);
    unlink(path);
}

static void look_at_folder(void *user, const char *folder) {
    int *n = user;
    if (*folder != '/') fail_msg("%s is relative to the working folder", folder);
    ++*n;
}

// Other users may write to the working folder, and would choose the drafter.
static void packs_of_the_working_folder_are_not_taken(void **state) {
    (void)state;
    int n = 0;
    setenv("XDG_DATA_HOME", "/data", 1);
    fr_pack_folders("/models/m.gguf", look_at_folder, &n);
    assert_true(n > 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_pack_opens_and_says_what_it_holds),
        cmocka_unit_test(any_part_that_is_missing_is_named),
        cmocka_unit_test(layers_of_hidden_transfer_ascend_within_the_target),
        cmocka_unit_test(taps_ascend_within_the_target),
        cmocka_unit_test(sublayers_of_layer_skip_ascend_within_the_target),
        cmocka_unit_test(the_exit_is_below_the_targets_last_layer),
        cmocka_unit_test(a_tensor_too_many_or_of_another_shape_is_refused),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(a_draft_vocabulary_of_strange_or_double_ids_is_refused),
        cmocka_unit_test(accuracies_that_are_none_are_refused),
        cmocka_unit_test(unknown_kinds_and_variants_are_refused),
        cmocka_unit_test(a_pack_for_another_model_is_refused_with_both_fingerprints),
        cmocka_unit_test(no_bit_of_a_pack_changes_unseen),
        cmocka_unit_test(a_damaged_pack_drafts_for_nobody),
        cmocka_unit_test(packs_without_a_checksum_are_old_ones),
        cmocka_unit_test(a_pack_of_another_method_is_refused),
        cmocka_unit_test(packs_of_the_working_folder_are_not_taken),
    };
    return cmocka_run_group_tests(tests, open_target, close_target);
}
