// The promise of the step: whatever a drafter proposes, the tokens are those of plain decoding.
#include "decode/group.h"
#include "support/damage.h"
#include "support/open_model.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CTX = 72, PROMPT = 17 };

// A drafter that proposes random trees, in part made of the true continuation; it attaches rows
// that must not matter.
typedef enum style { NOTHING, GARBAGE, TRUTH, MIXED, WIDE } style;
typedef struct test_drafter {
    fr_drafter base;
    style style;
    const int32_t *truth; // the whole text
    int n_truth, observed_path, rounds;
    float vec[256];
} test_drafter;

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_tree *tree = &p->tree;
    test_drafter *d = (test_drafter *)base;
    int n_vocab = c->model->config.n_vocab;
    assert_int_equal(c->kv->n_committed, c->n_ids - 1);
    if (d->style == GARBAGE || d->style == MIXED)
        for (int i = 0; i < 9; i++)
            fr_tree_add(tree, rand() % tree->n, rand() % n_vocab, 0.1f, 0);
    for (int i = 0; i < 70 && d->style == WIDE; i++)
        fr_tree_add(tree, 0, i, 0.01f, 0);
    int node = 0;
    if (d->style == TRUTH || d->style == MIXED)
        for (int i = c->n_ids; i < d->n_truth && node >= 0 && tree->n < 12; i++)
            node = fr_tree_add(tree, node, d->truth[i], 0.9f, 0);
}

static int extend(fr_drafter *base, const fr_context *c, const fr_tree *tree, fr_row *rows, int n,
                  int max) {
    test_drafter *d = (test_drafter *)base;
    (void)c;
    for (int i = 0; i < 3 && n < max; i++, n++)
        rows[n] = (fr_row){.kind = FR_ROW_VECTOR,
                           .vec = d->vec,
                           .pos = FR_POS_AUTO,
                           .parent = rand() % tree->n,
                           .join = (int16_t)(i % 2)};
    return n;
}

static void observe(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    test_drafter *d = (test_drafter *)base;
    if (!v->tree) return;
    d->rounds++;
    d->observed_path += v->n_path;
    assert_int_equal(c->ids[c->n_ids - 1], v->next);
    for (int i = 0; i < v->n_path; i++) // what was committed is the path
        assert_int_equal(c->ids[c->n_ids - 1 - v->n_path + i], v->tree->node[v->path[i]].id);
}

static const fr_drafter_ops OPS = {.name = "test",
                                   .begin = fr_no_begin,
                                   .propose = propose,
                                   .want = fr_no_want,
                                   .got = fr_no_got,
                                   .extend = extend,
                                   .observe = observe,
                                   .report = fr_no_report,
                                   .close = fr_no_close};

typedef struct output {
    int32_t token[CTX];
    int n, stop_after;
} output;

static bool emit(void *user, int32_t token, const fr_node *node) {
    output *o = user;
    if (node) assert_int_equal(node->id, token);
    o->token[o->n++] = token;
    return o->n != o->stop_after;
}

static output decode(fr_model *m, fr_drafter *drafter, const fr_sampling *sampling,
                     const int32_t *prompt, int n_predict, int stop_after) {
    fr_decoder d;
    fr_error err;
    fr_needs none = {0};
    output o = {.stop_after = stop_after};
    assert_int_equal(
        fr_decoder_open(&d, m, CTX, FR_KV_F16, drafter ? &drafter->needs : &none, &err), FR_OK);
    d.drafter = drafter ? drafter : fr_drafter_none();
    fr_decoder_prompt(&d, prompt, PROMPT, sampling);
    for (;;) {
        int left = CTX - d.n_ids < n_predict - o.n ? CTX - d.n_ids : n_predict - o.n;
        if (left < 1 || !fr_decoder_step(&d, left, emit, &o)) break;
    }
    assert_int_equal(d.n_ids, PROMPT + o.n);
    assert_int_equal(d.kv.n_committed, d.n_ids - 1);
    assert_memory_equal(d.ids + PROMPT, o.token, sizeof *o.token * (size_t)o.n);
    fr_decoder_close(&d);
    return o;
}

static const fr_sampling SAMPLINGS[] = {
    {.temperature = 0},
    {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .seed = 3},
    {.temperature = 1.2f, .seed = 4},
    {.temperature = 0, .repeat_penalty = 1.3f},
    {.temperature = 1, .repeat_penalty = 1.2f, .repeat_last_n = 5, .seed = 5},
};

static void any_drafter_gives_the_tokens_of_plain_decoding(void **state) {
    (void)state;
    const char *arch[] = {"llama", "qwen2", "gemma3"};
    for (int a = 0; a < 3; a++) {
        fr_opened o;
        int32_t text[CTX];
        fr_opened_open(
            &o,
            &(fr_tiny_options){
                .arch = arch[a], .type = FR_TYPE_Q4_1, .n_layer = 2, .window = a == 2 ? 20 : 0},
            fr_kern_of(FR_ISA_SCALAR), 1 + a % 2);
        fr_test_ids(text, PROMPT, o.model.config.n_vocab, 31);
        for (size_t dist = 0; dist < sizeof SAMPLINGS / sizeof *SAMPLINGS; dist++) {
            output plain = decode(&o.model, NULL, &SAMPLINGS[dist], text, 1000, 0);
            assert_int_equal(plain.n, CTX - PROMPT); // to the context's end
            memcpy(text + PROMPT, plain.token, sizeof *text * (size_t)plain.n);
            for (style s = NOTHING; s <= MIXED; s++) {
                test_drafter d = {
                    .base = {.ops = &OPS, .default_nodes = 12, .needs = {.max_attached = 3}},
                    .style = s,
                    .truth = text,
                    .n_truth = CTX};
                output got = decode(&o.model, &d.base, &SAMPLINGS[dist], text, 1000, 0);
                assert_int_equal(got.n, plain.n);
                assert_memory_equal(got.token, plain.token, sizeof *got.token * (size_t)got.n);
                assert_int_equal(d.observed_path, plain.n);
                if (s == TRUTH)
                    assert_true(d.rounds <= (plain.n + 10) / 11 + 1); // every pass takes all it may
                if (s == NOTHING) assert_int_equal(d.rounds, plain.n);
            }
        }
        fr_opened_close(&o);
    }
}

static void limits_cut_inside_an_accepted_path(void **state) {
    (void)state;
    fr_opened o;
    int32_t text[CTX];
    fr_opened_open(&o, &(fr_tiny_options){.arch = "llama", .type = FR_TYPE_Q8_0},
                   fr_kern_of(FR_ISA_SCALAR), 1);
    fr_test_ids(text, PROMPT, o.model.config.n_vocab, 37);
    output plain = decode(&o.model, NULL, &SAMPLINGS[1], text, 1000, 0);
    memcpy(text + PROMPT, plain.token, sizeof *text * (size_t)plain.n);
    for (int n = 1; n < 30; n++)
        for (int by_emit = 0; by_emit < 2; by_emit++) {
            test_drafter d = {.base = {.ops = &OPS, .default_nodes = 12},
                              .style = TRUTH,
                              .truth = text,
                              .n_truth = CTX};
            output got =
                decode(&o.model, &d.base, &SAMPLINGS[1], text, by_emit ? 1000 : n, by_emit ? n : 0);
            assert_int_equal(got.n, n);
            assert_memory_equal(got.token, plain.token, sizeof *got.token * (size_t)n);
        }
    fr_opened_close(&o);
}

// Going on from a kept context gives what a fresh one gives.
static void prefix_reuse_keeps_the_bits(void **state) {
    (void)state;
    fr_opened o;
    fr_decoder d;
    fr_error err;
    int32_t text[CTX];
    fr_opened_open(&o, &(fr_tiny_options){.arch = "qwen3", .type = FR_TYPE_Q5_0},
                   fr_kern_of(FR_ISA_SCALAR), 2);
    fr_test_ids(text, CTX, o.model.config.n_vocab, 41);
    output fresh = decode(&o.model, NULL, &SAMPLINGS[2], text, 20, 0);
    assert_int_equal(fr_decoder_open(&d, &o.model, CTX, FR_KV_F16, &(fr_needs){0}, &err), FR_OK);
    const int before[] = {PROMPT, PROMPT + 20, 5, 1, PROMPT - 1}; // contexts that share a beginning
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        output out = {0};
        fr_decoder_prompt(&d, text, before[i], &SAMPLINGS[0]);
        fr_decoder_step(&d, 1, emit, &out);
        out = (output){0};
        fr_decoder_prompt(&d, text, PROMPT, &SAMPLINGS[2]);
        assert_int_equal(d.stats.prompt_reused, before[i] < PROMPT - 1 ? before[i] : PROMPT - 1);
        while (out.n < 20)
            fr_decoder_step(&d, 20 - out.n, emit, &out);
        assert_memory_equal(out.token, fresh.token, sizeof *out.token * 20);
    }
    fr_decoder_close(&d);
    fr_opened_close(&o);
}

static fr_stats stats_of(fr_model *m, const int32_t *text, style how, int nodes) {
    fr_decoder d;
    fr_error err;
    output out = {0};
    test_drafter t = {.base = {.ops = &OPS, .default_nodes = nodes, .needs = {.max_attached = 3}},
                      .style = how,
                      .truth = text,
                      .n_truth = CTX};
    assert_int_equal(fr_decoder_open(&d, m, CTX, FR_KV_F16, &t.base.needs, &err), FR_OK);
    d.drafter = &t.base;
    fr_decoder_prompt(&d, text, PROMPT, &SAMPLINGS[0]);
    while (d.n_ids < CTX)
        fr_decoder_step(&d, CTX - d.n_ids, emit, &out);
    const fr_stats stats = d.stats;
    fr_decoder_close(&d);
    return stats;
}

static void passes_are_counted_by_their_rows(void **state) {
    (void)state;
    fr_opened o;
    int32_t text[CTX];
    fr_opened_open(&o, &(fr_tiny_options){.arch = "llama", .type = FR_TYPE_Q8_0},
                   fr_kern_of(FR_ISA_SCALAR), 1);
    fr_test_ids(text, PROMPT, o.model.config.n_vocab, 43);
    output plain = decode(&o.model, NULL, &SAMPLINGS[0], text, 1000, 0);
    memcpy(text + PROMPT, plain.token, sizeof *text * (size_t)plain.n);
    // Five nodes, all right, and three attached rows: 55 tokens take 11 passes. Every guess says
    // of itself that it holds with 0.9.
    fr_stats s = stats_of(&o.model, text, TRUTH, 5);
    assert_int_equal(s.passes, 11);
    assert_int_equal(s.rows, 88);
    assert_int_equal(s.passes_by_rows[8], 11);
    assert_true(s.seconds_by_rows[8] > 0 && s.seconds_by_rows[8] <= s.seconds_verify);
    assert_true(s.predicted_by_rows[8] > 0 && s.predicted_by_rows[7] == 0); // but of the first pass
    assert_true(s.expected > 11 * 4.6 - 1e-4 && s.expected < 11 * 4.6 + 1e-4);
    // Passes of more rows than are told apart; the last token has no room for a guess.
    s = stats_of(&o.model, text, WIDE, 80);
    int64_t counted = 0;
    for (int i = 0; i <= FR_COUNTED_ROWS; i++)
        counted += s.passes_by_rows[i];
    assert_int_equal(counted, s.passes);
    assert_true(s.passes_by_rows[0] >= s.passes - 1 && s.seconds_by_rows[0] > 0);
    fr_opened_close(&o);
}

// Decodes until the model gives no numbers, or to the context's end; the sentence of it.
static output decode_to_fault(fr_model *m, fr_drafter *drafter, fr_rule rule,
                              const fr_sampling *sampling, const int32_t *prompt, int n,
                              fr_error *fault) {
    fr_decoder d;
    fr_error err;
    output o = {0};
    assert_int_equal(
        fr_decoder_open(&d, m, CTX, FR_KV_F16, drafter ? &drafter->needs : &(fr_needs){0}, &err),
        FR_OK);
    d.drafter = drafter ? drafter : fr_drafter_none();
    d.accept.rule = rule;
    fr_decoder_prompt(&d, prompt, n, sampling);
    while (d.n_ids < CTX && fr_decoder_step(&d, CTX - d.n_ids, emit, &o))
        assert_int_equal(fr_decoder_fault(&d, &err), FR_OK);
    *fault = (fr_error){0};
    const int passes = (int)d.stats.passes;
    if (fr_decoder_fault(&d, fault)) {
        // Nothing of the last pass stays, and another finds the same.
        assert_true(!d.kv.n_scratch && d.kv.n_committed == d.n_ids - 1);
        const int before = o.n;
        assert_false(fr_decoder_step(&d, CTX - d.n_ids, emit, &o));
        assert_true(o.n == before && fr_decoder_fault(&d, &err) == FR_EDATA);
        assert_int_equal(d.stats.passes, passes + 1);
        fr_decoder_prompt(&d, prompt, n, sampling);
        assert_int_equal(fr_decoder_fault(&d, &err), FR_OK); // of the text before
    }
    assert_memory_equal(d.ids + n, o.token, sizeof *o.token * (size_t)(d.n_ids - n));
    fr_decoder_close(&d);
    return o;
}

static test_drafter truthful(style s, const int32_t *text) {
    return (test_drafter){.base = {.ops = &OPS, .default_nodes = 12, .needs = {.max_attached = 3}},
                          .style = s,
                          .truth = text,
                          .n_truth = CTX};
}

// Where a text comes to a token that spoils all behind it, every drafter stops where plain decoding
// does, and says so.
static void a_broken_model_ends_the_text_with_a_sentence(void **state) {
    (void)state;
    fr_opened o;
    int32_t text[CTX];
    fr_opened_open(&o, &(fr_tiny_options){.untied = true}, fr_kern_of(FR_ISA_SCALAR), 1);
    const int d_model = o.model.config.d;
    float *embed = (float *)(uintptr_t)fr_gguf_tensor_find(o.gguf, "token_embd.weight")->data;
    for (size_t dist = 0; dist < sizeof SAMPLINGS / sizeof *SAMPLINGS; dist++) {
        fr_test_ids(text, PROMPT, o.model.config.n_vocab, 47);
        output whole = decode(&o.model, NULL, &SAMPLINGS[dist], text, 1000, 0);
        memcpy(text + PROMPT, whole.token, sizeof *text * (size_t)whole.n);
        int at = 0; // the first place of a token of the text
        while (text[at] != text[PROMPT + 9])
            at++;
        float *broken = &embed[(size_t)text[at] * (size_t)d_model + 5];
        const float was = *broken;
        *broken = dist % 2 ? INFINITY : NAN;
        const int n = at < PROMPT ? at + 1 : PROMPT; // it may be a token of the prompt
        char sentence[64];
        snprintf(sentence, sizeof sentence, "behind %d tokens are not finite (", at + 1);
        for (int s = -1; s <= MIXED; s++) {
            test_drafter d = truthful((style)s, text);
            fr_error fault;
            output got = decode_to_fault(&o.model, s < 0 ? NULL : &d.base, FR_RULE_EXACT,
                                         &SAMPLINGS[dist], text, n, &fault);
            if (!strstr(fault.text, sentence)) fail_msg("%s: %s", sentence, fault.text);
            assert_int_equal(got.n, at + 1 - n);
            assert_memory_equal(got.token, text + n, sizeof *text * (size_t)got.n);
        }
        // What other rules draw at a temperature may not come to that token; greedily it does.
        for (fr_rule rule = FR_RULE_REJECTION; rule <= FR_RULE_TYPICAL; rule++) {
            if (SAMPLINGS[dist].temperature > 0) continue;
            test_drafter d = truthful(TRUTH, text);
            fr_error fault;
            output got =
                decode_to_fault(&o.model, &d.base, rule, &SAMPLINGS[dist], text, n, &fault);
            assert_int_equal(fault.code, FR_EDATA);
            assert_true(got.n <= at + 1 - n); // typical drops the tokens of the pass
            assert_memory_equal(got.token, text + n, sizeof *text * (size_t)got.n);
        }
        *broken = was;
    }
    fr_opened_close(&o);
}

static void the_check_of_a_decoder_finds_damage(void **state) {
    (void)state;
    fr_opened o;
    fr_decoder d;
    fr_error err;
    int32_t text[PROMPT];
    fr_opened_open(&o, &(fr_tiny_options){.type = FR_TYPE_Q8_0}, fr_kern_of(FR_ISA_SCALAR), 1);
    const int n_vocab = o.model.config.n_vocab;
    fr_test_ids(text, PROMPT, n_vocab, 3);
    assert_int_equal(fr_decoder_open(&d, &o.model, CTX, FR_KV_F16, &(fr_needs){0}, &err), FR_OK);
    assert_true(fr_decoder_is_sound(&d));
    fr_decoder_prompt(&d, text, PROMPT, &SAMPLINGS[0]);
    assert_noticed(d.n_ids, -1, fr_decoder_is_sound(&d));
    assert_noticed(d.n_ids, CTX + 1, fr_decoder_is_sound(&d));
    assert_noticed(d.n_ids, PROMPT - 2, fr_decoder_is_sound(&d)); // more is committed
    assert_noticed(d.ids[4], n_vocab, fr_decoder_is_sound(&d));
    assert_noticed(d.ids[PROMPT - 1], -1, fr_decoder_is_sound(&d));
    assert_noticed(d.kv.n_committed, CTX + 1, fr_decoder_is_sound(&d));
    assert_noticed(d.kv.n_scratch, 1, fr_decoder_is_sound(&d));
    assert_noticed(d.n_ctx, CTX + 1, fr_decoder_is_sound(&d));
    assert_noticed(d.group->budget.drift, 0, fr_decoder_is_sound(&d));
    test_drafter t = {.base = {.ops = &OPS, .default_nodes = 12}};
    d.drafter = &t.base;
    assert_noticed(t.base.default_nodes, 0, fr_decoder_is_sound(&d));
    fr_decoder_close(&d);
    fr_opened_close(&o);
}

static void the_check_of_a_drafter_finds_damage(void **state) {
    (void)state;
    test_drafter t = {.base = {.ops = &OPS, .default_nodes = 12}};
    fr_drafter *d = &t.base;
    assert_true(fr_drafter_is_sound(fr_drafter_none()));
    fr_drafter_ops ops = OPS;
    assert_noticed(d->ops, NULL, fr_drafter_is_sound(d));
    d->ops = &ops;
    assert_noticed(ops.name, NULL, fr_drafter_is_sound(d));
    assert_noticed(ops.begin, NULL, fr_drafter_is_sound(d));
    assert_noticed(ops.propose, NULL, fr_drafter_is_sound(d));
    assert_noticed(ops.want, NULL, fr_drafter_is_sound(d));
    assert_noticed(ops.got, NULL, fr_drafter_is_sound(d));
    assert_noticed(ops.extend, NULL, fr_drafter_is_sound(d));
    assert_noticed(ops.observe, NULL, fr_drafter_is_sound(d));
    assert_noticed(ops.report, NULL, fr_drafter_is_sound(d));
    assert_noticed(ops.close, NULL, fr_drafter_is_sound(d));
    d->ops = &OPS;
    assert_noticed(d->default_nodes, 0, fr_drafter_is_sound(d));
    assert_noticed(d->allowance, -1, fr_drafter_is_sound(d));
    assert_noticed(d->needs.n_taps, 9, fr_drafter_is_sound(d));
    assert_noticed(d->needs.max_attached, -1, fr_drafter_is_sound(d));
    assert_noticed(d->n_parts, 1, fr_drafter_is_sound(d)); // and none is there
    assert_noticed(d->hits.kind[0].sum, 1, fr_drafter_is_sound(d));
    test_drafter part = t;
    fr_drafter *parts[] = {&part.base};
    d->parts = parts;
    d->n_parts = 1;
    assert_noticed(part.base.ops, NULL, fr_drafter_is_sound(d));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_drafter_gives_the_tokens_of_plain_decoding),
        cmocka_unit_test(limits_cut_inside_an_accepted_path),
        cmocka_unit_test(prefix_reuse_keeps_the_bits),
        cmocka_unit_test(passes_are_counted_by_their_rows),
        cmocka_unit_test(a_broken_model_ends_the_text_with_a_sentence),
        cmocka_unit_test(the_check_of_a_decoder_finds_damage),
        cmocka_unit_test(the_check_of_a_drafter_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
