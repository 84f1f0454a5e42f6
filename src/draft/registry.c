// registry.c — first the table of all drafters and their options. Then it opens a SPEC: it shares
// the options out, opens the parts, the cheapest first, and composes them if there are several.
#include "draft/registry.h"
#include "base/alloc.h"
#include "draft/compose.h"
#include "draft/spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Options of the drafters that use the model's own layers.
#define SELF_DRAFT_OPTIONS                                                                         \
    "threshold=P   stop behind a token less probable than this, 0 to 1; default: adapted to "      \
    "what\n"                                                                                       \
    "              is accepted\n"                                                                  \
    "depth=N       tokens drafted ahead, 1 to 16; default: as many as pay, up to 8\n"              \
    "width=N       nodes of a level that are gone on behind, 1 to 16 (default 1)\n"

static const struct {
    fr_drafter_info info;
    int cost;                 // of a proposal: the cheaper part of a SPEC proposes first
    fr_drafter_open_fn *open; // NULL: plain decoding
} DRAFTERS[] = {
    {{"none", "plain decoding, one token a pass: the reference", "", "", false}, 0, NULL},
    {{"prompt-lookup", "n-gram match in the text so far", "",
      "min-score=P   least estimated probability of a candidate, 0 to 1 (default 0.01)\n"
      "matches=N     earlier places looked at, 1 to 16 (default 8)\n",
      false},
     1,
     fr_prompt_lookup_open},
    {{"lookahead",
      "n-grams that the model's own pass makes of guessed tokens, and those of the text", "",
      "ngram=N       tokens of an n-gram, 2 to 8 (default 4)\n"
      "window=W      columns of guessed tokens that ride in a pass, 0 (none) to 63 (default 3)\n"
      "guesses=G     n-grams kept for a first token, 1 to 64 (default 3); 0: Jacobi decoding\n"
      "prompt=N      0: without the n-grams of the text so far (default 1)\n",
      false},
     1,
     fr_lookahead_open},
    {{"rest", "retrieval from a datastore of texts", "a datastore of forerun datastore",
      "span=N        longest span of last tokens that is looked up, 1 to 16 (default 16)\n"
      "least-span=N  shortest one, 1 to 16 (default 1)\n"
      "retrieved=N   continuations counted, 1 to 5000 (default 256)\n"
      "depth=N       tokens of a continuation, 1 to 63 (default 10)\n"
      "min-score=P   least estimated probability of a candidate, 0 to 1 (default 0.01)\n",
      false},
     1,
     fr_rest_open},
    {{"draft-model", "a second, smaller model with the same vocabulary",
      "a GGUF model of the target's vocabulary",
      "tree=SHAPE    chain, beam, sequoia or auto (default: chain)\n"
      "depth=N       tokens drafted ahead, 1 to 16; default: as many as pay\n",
      false},
     4,
     fr_draft_model_open},
    {{"medusa", "trained heads on the model's last hidden state",
      "a pack of forerun train; else one that is found",
      "depth=N       tokens drafted ahead, 1 to 16; default: as many as there are heads\n"
      "width=N       nodes of a level that are gone on behind, 1 to 16 (default 8)\n",
      true},
     2,
     fr_medusa_open},
    {{"eagle", "a trained block that goes on from the model's hidden states",
      "a pack of forerun train; else one that is found",
      "tree=SHAPE    dynamic, or static: always the one its pack's accuracies make best\n"
      "context=N     ids of the text beyond the draft vocabulary that it can draft (default: 512)\n"
      "depth=N       tokens drafted ahead, 1 to 16; default: as many as pay\n"
      "width=N       nodes of a level that are gone on behind, 1 to 16 (default 8)\n",
      true},
     3,
     fr_eagle_open},
    {{"hidden-state", "a trained chain of hidden states, into which tokens are put late",
      "a pack; without one it is looked for, by the model's fingerprint",
      "mode=NAME     what becomes of a chain that is left over: fresh, reuse, fused, union or "
      "auto\n"
      "depth=N       states of a chain, 1 to 16; default: as many as pay\n"
      "width=N       nodes of a level that are gone on behind, 1 to 16 (default 8)\n"
      "lambda=X      weight of what is left over in fused, 0 to 4 (default 0.3)\n"
      "candidates=N  tokens of each level that are looked at, 1 to 256 (default 64)\n"
      "iterative=N   1: every state reads the guess before it; its logits one by one (default 0)\n"
      "inject=N      0: without what a token says of the next one (default 1)\n",
      true},
     3,
     fr_hidden_state_open},
    {{"ppd", "trained vectors that ride in the model's own pass and guess ahead",
      "a pack of forerun train; else one that is found",
      "tree=SHAPE    scored; or, with --no-adapt, the paper's dynamic, static or random\n"
      "rows=N        of a pass with these, 2 to 128; default: the fastest by measured cost\n"
      "depth=N       tokens drafted ahead, 1 to 16; default: as many as there are prompts\n"
      "width=N       nodes of a level that are gone on behind, 1 to 16 (default 8)\n",
      true},
     2,
     fr_ppd_open},
    {{"hidden-transfer", "middle states of the model, mapped ahead within its own pass",
      "a pack of forerun train; else one that is found",
      "tree=SHAPE    scored; or, with --no-adapt, the paper's dynamic, static or random\n"
      "rows=N        of a pass with these, 2 to 128; default: the fastest by measured cost\n"
      "depth=N       tokens drafted ahead, 1 to 16; default: as many as there are maps\n"
      "width=N       nodes of a level that are gone on behind, 1 to 16 (default 8)\n",
      true},
     2,
     fr_hidden_transfer_open},
    {{"chimera",
      "a trained block on states of the last few tokens, heads that read the model's too",
      "a pack of forerun train; else one that is found",
      "tree=SHAPE    dynamic; chain: what is guessed behind the best path counts for all of a\n"
      "              level; or static: that with the paper's tree of 25 nodes\n"
      "context=N     ids of the text beyond the draft vocabulary that it can draft (default: 512)\n"
      "depth=N       tokens drafted ahead, 1 to 16; default: as many as pay\n"
      "width=N       nodes of a level that are gone on behind, 1 to 16 (default 8)\n"
      "cache=N       states of n-grams kept in memory, 0 to 1048576 (default 4096)\n"
      "store=FOLDER  where those that fall out are kept (up to 1 GB), for later runs too\n",
      true},
     3,
     fr_chimera_open},
    {{"layer-skip", "the model itself with some of its sublayers left out",
      "a pack of forerun train; else one that is found; else a rule says what is left out",
      SELF_DRAFT_OPTIONS, true},
     4,
     fr_layer_skip_open},
    {{"early-exit", "the model's own first layers and a trained exit; its pass goes on behind them",
      "a pack of forerun train; else one that is found", SELF_DRAFT_OPTIONS, true},
     4,
     fr_early_exit_open},
};
enum { N_DRAFTERS = sizeof DRAFTERS / sizeof *DRAFTERS };

const fr_drafter_info *fr_drafter_info_at(int index) {
    return index >= 0 && index < N_DRAFTERS ? &DRAFTERS[index].info : NULL;
}

int fr_drafter_find(const char *name, size_t bytes) {
    for (int i = 0; i < N_DRAFTERS; i++)
        if (strlen(DRAFTERS[i].info.name) == bytes && !memcmp(name, DRAFTERS[i].info.name, bytes))
            return i;
    return -1;
}

fr_status fr_drafter_check(const char *spec, fr_error *err) {
    fr_spec parsed;
    return fr_spec_parse(&parsed, spec, err);
}

// ---------------------------------------------------------------- options of several drafters

// Whether a line of the drafter's options begins with the KEY= of this one.
static bool takes(int drafter, const char *option) {
    const size_t key = strcspn(option, "=") + 1;
    for (const char *line = DRAFTERS[drafter].info.options; *line;) {
        if (!strncmp(line, option, key)) return true;
        line += strcspn(line, "\n");
        line += *line != 0;
    }
    return false;
}

// The options that a part of the SPEC takes, in own[]. What no part takes goes to the first one,
// whose constructor refuses it.
static void own_options(const fr_spec *spec, int part, const char *const *all, const char **own) {
    int n = 0;
    for (int i = 0; all && all[i]; i++) {
        int takers = 0;
        for (int k = 0; k < spec->n; k++)
            takers += takes(spec->part[k].drafter, all[i]);
        if (takes(spec->part[part].drafter, all[i]) || (!takers && part == 0)) own[n++] = all[i];
    }
    own[n] = NULL;
}

// ---------------------------------------------------------------- open

static fr_status open_part(fr_drafter **out, const fr_spec *spec, int i,
                           const fr_drafter_config *config, fr_error *err) {
    size_t n = 1;
    while (config->options && config->options[n - 1])
        n++;
    const char **own = fr_alloc_array(n, sizeof *own);
    if (!own) return fr_fail(err, FR_ENOMEM, "drafter: no memory");
    own_options(spec, i, config->options, own);
    fr_drafter_config part = *config;
    part.options = own;
    part.open_spec = fr_drafter_open;
    part.driver = *spec->part[i].driver ? spec->part[i].driver : NULL;
    fr_drafter_open_fn *open = DRAFTERS[spec->part[i].drafter].open;
    if (part.driver) open = fr_driven_model_open;
    const fr_status st = open(out, spec->part[i].file, &part, err);
    fr_free(own);
    if (!st) (*out)->part = (uint8_t)i;
    return st;
}

// The parts' numbers, cheap ones first; equal ones stay in the order given.
static void order_by_cost(const fr_spec *spec, int *order) {
    for (int i = 0; i < spec->n; i++) {
        const int cost = DRAFTERS[spec->part[i].drafter].cost;
        int k = i;
        for (; k > 0 && DRAFTERS[spec->part[order[k - 1]].drafter].cost > cost; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

static void name_used(char used[64], const fr_spec *spec) {
    size_t n = 0;
    used[0] = 0;
    for (int i = 0; i < spec->n && n < 63; i++) {
        const fr_spec_part *p = &spec->part[i];
        n += (size_t)snprintf(used + n, 64 - n, "%s%s%s%.*s", i ? "+" : "",
                              DRAFTERS[p->drafter].info.name, *p->driver ? "@" : "",
                              (int)strcspn(p->driver, ":"), p->driver);
    }
}

fr_status fr_drafter_open(fr_drafter **out, char used[64], const char *text,
                          const fr_drafter_config *config, fr_error *err) {
    fr_spec spec;
    fr_drafter *part[FR_SPEC_PARTS] = {NULL};
    int order[FR_SPEC_PARTS], n = 0;
    *out = NULL;
    fr_status st = fr_spec_parse(&spec, text, err);
    if (st) return st;
    name_used(used, &spec);
    if (!DRAFTERS[spec.part[0].drafter].open) {
        *out = fr_drafter_none();
        return FR_OK;
    }
    order_by_cost(&spec, order);
    while (n < spec.n && !(st = open_part(&part[n], &spec, order[n], config, err)))
        n++;
    if (!st && n == 1) {
        *out = part[0];
        return FR_OK;
    }
    if (!st) st = fr_compose_open(out, part, n, err);
    for (int i = 0; st && i < n; i++)
        fr_drafter_close(part[i]);
    return st;
}
