// pack.c — reads a pack as a drafter does, then shows it: first as JSON, below that as text.
#include "cmd/inspect/pack.h"
#include "cmd/lib/text.h"
#include "draft/pack/pack.h"
#include <inttypes.h>
#include <string.h>

enum { RANKS = FR_ACCURACY_RANKS, RANKS_SHOWN = 5 };

static uint64_t number(const fr_gguf *g, const char *key) {
    fr_error unsaid;
    uint64_t v = 0;
    fr_gguf_opt_u64(g, key, &v, &unsaid);
    return v;
}

static fr_gguf_str text(const fr_gguf *g, const char *key) {
    fr_error unsaid;
    fr_gguf_str s = {"", 0};
    fr_gguf_opt_str(g, key, &s, &unsaid);
    return s;
}

static double real(const fr_gguf *g, const char *key) {
    const fr_gguf_kv *kv = fr_gguf_find(g, key);
    const bool is = kv && (kv->type == FR_GGUF_F32 || kv->type == FR_GGUF_F64);
    return is ? fr_gguf_item_f64(kv, 0) : 0;
}

// ---------------------------------------------------------------- JSON

static json_t *accuracy_json(const fr_pack *p) {
    json_t *depths = json_array();
    for (int k = 1; depths && k <= p->depth; k++) {
        json_t *ranks = json_array();
        for (int r = 0; ranks && r < RANKS; r++)
            json_array_append_new(ranks, fr_cmd_real(fr_accuracy_rate(&p->accuracy, k, r)));
        json_array_append_new(depths, ranks);
    }
    return depths;
}

static json_t *train_json(const fr_gguf *g) {
    const fr_gguf_str answers = text(g, "forerun.train.answers");
    const fr_gguf_str command = text(g, "forerun.train.command");
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "tokens",
                     (json_int_t)number(g, "forerun.train.tokens"), "steps",
                     (json_int_t)number(g, "forerun.train.steps"), "seconds",
                     fr_cmd_real(real(g, "forerun.train.seconds")), "loss",
                     fr_cmd_real(real(g, "forerun.train.loss")), "answers",
                     fr_json_text(answers.data, answers.bytes), "command",
                     fr_json_text(command.data, command.bytes));
}

static json_t *taps_json(const fr_pack *p) {
    json_t *taps = json_array();
    for (int t = 0; taps && t < p->n_taps; t++)
        json_array_append_new(taps, json_integer(p->taps[t]));
    return taps;
}

static json_t *block_json(const fr_pack *p) {
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:b, s:b, s:o}", "n_head", p->n_head, "n_kv",
                     p->n_kv, "head_dim", p->head_dim, "d_ff", p->d_ff, "rank", p->rank, "gate",
                     p->gate, "pure", p->pure, "taps", taps_json(p));
}

static json_t *layers_json(const fr_pack *p) {
    json_t *layers = json_array();
    for (int i = 0; layers && i < p->depth; i++)
        json_array_append_new(layers, json_integer(p->layer[i]));
    return layers;
}

static json_t *skip_json(const fr_pack *p) {
    json_t *skip = json_array();
    for (int i = 0; skip && i < p->skip_end; i++)
        if (p->skip[i]) json_array_append_new(skip, json_integer(i));
    return skip;
}

static void add_own(json_t *pack, const fr_pack *p) {
    switch (p->kind) {
    case FR_PACK_MEDUSA:
        json_object_set_new(pack, "variant", json_string(fr_medusa_variant_name(p->variant)));
        return;
    case FR_PACK_PPD:
        json_object_set_new(pack, "ensemble", json_integer(p->ensemble));
        return;
    case FR_PACK_HIDDEN_TRANSFER:
        json_object_set_new(pack, "layers", layers_json(p));
        return;
    case FR_PACK_EARLY_EXIT:
        json_object_set_new(pack, "exit", json_integer(p->exit));
        return;
    case FR_PACK_LAYER_SKIP:
        json_object_set_new(pack, "skip", skip_json(p));
        json_object_set_new(pack, "share", fr_cmd_real((double)p->share));
        return;
    case FR_PACK_CHIMERA:
        json_object_set_new(pack, "variant", json_string(fr_medusa_variant_name(p->variant)));
        json_object_set_new(pack, "ngram", json_integer(p->ngram));
        json_object_set_new(pack, "encoder", json_string(fr_pack_encoder_name(p->encoder)));
        json_object_set_new(pack, "residual", json_boolean(p->residual));
        json_object_set_new(pack, "block", block_json(p));
        return;
    default:
        json_object_set_new(pack, "block", block_json(p));
    }
}

static fr_status take(fr_pack *p, const fr_gguf *g, fr_error *err) {
    fr_status st = fr_pack_take(p, g, err);
    if (st || !(st = fr_pack_check_sum(p, err))) return st;
    fr_pack_close(p);
    return st;
}

json_t *fr_inspect_pack_json(const fr_gguf *g, fr_error *err) {
    fr_pack p;
    if (take(&p, g, err)) return NULL;
    json_t *pack = json_pack(
        "{s:s, s:s, s:o, s:i, s:i, s:i, s:I, s:o, s:I, s:o}", "drafter", fr_pack_kind_name(p.kind),
        "target", p.target, "target_name", fr_json_string(p.target_name), "d", p.d, "draft_vocab",
        p.n_draft, "depth", p.depth, "parameters", (json_int_t)p.n_params, "accuracy",
        accuracy_json(&p), "accuracy_positions",
        (json_int_t)number(g, "forerun.accuracy.positions"), "train", train_json(g));
    if (pack) add_own(pack, &p);
    fr_pack_close(&p);
    return pack;
}

// ---------------------------------------------------------------- text

static void print_block(const fr_pack *p) {
    printf(", a block of %d heads on %d of keys, feed-forward of %d", p->n_head, p->n_kv, p->d_ff);
    if (p->rank) printf(", token bias of rank %d%s", p->rank, p->gate ? ", gated" : "");
    if (p->pure) printf(", without tokens");
    for (int t = 0; t < p->n_taps; t++)
        printf("%s%d", t ? "," : ", states of layers ", p->taps[t]);
    if (p->kind == FR_PACK_CHIMERA)
        printf(", n-grams of %d (%s), %d heads (%s)%s", p->ngram, fr_pack_encoder_name(p->encoder),
               p->depth, fr_medusa_variant_name(p->variant),
               p->residual ? "" : " without the target's state");
    else
        printf("; trained %d deep", p->depth);
}

static void print_sublayers(const fr_pack *p, int first, const char *what) {
    int n = 0;
    for (int i = first; i < p->skip_end; i += 2)
        if (p->skip[i]) printf("%s %d", n++ ? "" : what, i / 2);
}

static void print_skip(const fr_pack *p) {
    print_sublayers(p, 0, ", without the attention of layers");
    print_sublayers(p, 1, ", without the feed-forward of layers");
    printf("; a drafted token reads %.0f %% of the model", 100 * (double)p->share);
}

static void print_kind(const fr_pack *p) {
    printf("pack: %s", fr_pack_kind_name(p->kind));
    switch (p->kind) {
    case FR_PACK_MEDUSA:
        printf(" (%s), %d heads", fr_medusa_variant_name(p->variant), p->depth);
        break;
    case FR_PACK_PPD:
        printf(", %d prompts of %d vectors", p->depth, p->ensemble);
        break;
    case FR_PACK_HIDDEN_TRANSFER:
        printf(", %d maps, behind layers", p->depth);
        for (int i = 0; i < p->depth; i++)
            printf(" %d", p->layer[i]);
        break;
    case FR_PACK_EARLY_EXIT:
        printf(", behind layer %d", p->exit);
        break;
    case FR_PACK_LAYER_SKIP:
        print_skip(p);
        break;
    default:
        print_block(p);
    }
    printf("\n  target: ");
    fr_cmd_print_clean(stdout, p->target_name, strlen(p->target_name));
    printf(", fingerprint %s\n  parameters: %.2f million\n  draft vocabulary: %d of %d tokens\n",
           p->target, (double)p->n_params / 1e6, p->n_draft, p->n_vocab);
}

static void print_accuracy(const fr_pack *p, uint64_t positions) {
    if (!p->accuracy.tried[0]) return;
    printf("  right on held-out text (%" PRIu64 " positions), first to fifth guess:\n", positions);
    for (int k = 1; k <= p->depth; k++) {
        printf("    depth %2d ", k);
        for (int r = 0; r < RANKS_SHOWN; r++)
            printf(" %5.1f %%", 100 * fr_accuracy_rate(&p->accuracy, k, r));
        putchar('\n');
    }
}

static void print_training(const fr_gguf *g) {
    const fr_gguf_str answers = text(g, "forerun.train.answers");
    const fr_gguf_str command = text(g, "forerun.train.command");
    printf("  trained on %.3f million tokens (answers: ",
           (double)number(g, "forerun.train.tokens") / 1e6);
    fr_cmd_print_clean(stdout, answers.data, answers.bytes);
    printf("), %" PRIu64 " steps, %.0f s, loss %.3f\n  command: ", number(g, "forerun.train.steps"),
           real(g, "forerun.train.seconds"), real(g, "forerun.train.loss"));
    fr_cmd_print_clean(stdout, command.data, command.bytes);
    putchar('\n');
}

void fr_inspect_pack_print(const fr_gguf *g, fr_error *err) {
    fr_pack p;
    if (take(&p, g, err)) {
        printf("pack: not one that can be used: %s\n", err->text);
        return;
    }
    print_kind(&p);
    print_accuracy(&p, number(g, "forerun.accuracy.positions"));
    print_training(g);
    fr_pack_close(&p);
}
