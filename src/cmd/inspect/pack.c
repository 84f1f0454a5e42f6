// pack.c — reads a pack as a drafter does, then shows it: first as JSON, below that as text.
#include "cmd/inspect/pack.h"
#include "cmd/lib/text.h"
#include "draft/pack/form.h"
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

static fr_status take(fr_pack *p, const fr_gguf *g, fr_error *err) {
    fr_status st = fr_pack_take(p, g, err);
    if (st || !(st = fr_pack_check_sum(p, err))) return st;
    fr_pack_close(p);
    return st;
}

json_t *fr_inspect_pack_json(const fr_gguf *g, fr_error *err) {
    fr_pack p;
    if (take(&p, g, err)) return NULL;
    json_t *pack =
        json_pack("{s:s, s:s, s:o, s:i, s:i, s:i, s:I, s:o, s:I, s:o}", "drafter", p.form->name,
                  "target", p.target, "target_name", fr_json_string(p.target_name), "d", p.d,
                  "draft_vocab", p.n_draft, "depth", p.depth, "parameters", (json_int_t)p.n_params,
                  "accuracy", accuracy_json(&p), "accuracy_positions",
                  (json_int_t)number(g, "forerun.accuracy.positions"), "train", train_json(g));
    if (pack && p.form->members) p.form->members(&p, pack);
    fr_pack_close(&p);
    return pack;
}

// ---------------------------------------------------------------- text

static void print_form(const fr_pack *p) {
    printf("pack: %s", p->form->name);
    if (p->form->words) p->form->words(p, stdout);
    printf("\n  target: ");
    fr_cmd_print_clean(stdout, p->target_name, strlen(p->target_name));
    printf(", fingerprint %s\n  parameters: %.2f million\n  draft vocabulary: %d of %d tokens\n",
           p->target, (double)p->n_params / 1e6, p->n_draft, p->n_vocab);
}

static void print_accuracy(const fr_pack *p, uint64_t positions) {
    if (!p->accuracy.tried[0]) return;
    printf("  accuracy on held-out text (%" PRIu64 " positions), first to fifth guess:\n",
           positions);
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
        printf("pack: not usable: %s\n", err->text);
        return;
    }
    print_form(&p);
    print_accuracy(&p, number(g, "forerun.accuracy.positions"));
    print_training(g);
    fr_pack_close(&p);
}
