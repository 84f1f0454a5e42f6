// Prompt lookup: what followed the last few tokens where they stood in the text before is proposed
// again.  [Saxena 2023]
//
// An index (text_index.h) finds the earlier places of the last 1 to 4 tokens, most recent first, in
// constant time a token; each place is then compared further back. A longer match is a better
// guess, and so is a token on which several places agree. Both together are the kind of a guess
// (tree/hits.h), whose hit rate is learned from the text. The places walk on together into one
// tree, the best estimated next node first.
#include "base/alloc.h"
#include "draft/kit/ngram_votes.h"
#include "draft/retrieval/text_index.h"
#include "draft/shared/config.h"
#include <string.h>

enum {
    MAX_PLACES = 16, // places looked at
    MAX_MATCH = 32,  // tokens that a match is followed back
    MAX_LOOKS = 64,  // entries of one bucket that are looked at
};

typedef struct fr_place { // ids[at] followed an earlier occurrence of the last `match` tokens
    int at, match;
} fr_place;

typedef struct fr_prompt_lookup {
    fr_drafter base;
    fr_text_index index;
    int n_places, most_places;
    fr_place place[MAX_PLACES];
    const int32_t *ids; // of the step's context
    int n_ids;
    fr_ngram_votes votes;
} fr_prompt_lookup;

// ---------------------------------------------------------------- kinds of guesses

static const int LAST_LENGTH[] = {1, 2, 3, 4, 6, 8, 12, 16, 24}; // of a class; the last is open
enum { N_LENGTHS = sizeof LAST_LENGTH / sizeof *LAST_LENGTH + 1 };

static int kind_of_match(int match, fr_vote vote) {
    int l = 0;
    while (l < N_LENGTHS - 1 && match > LAST_LENGTH[l])
        l++;
    return l * FR_VOTES + vote;
}

// Hit rates to start from: those of SmolLM2-135M's greedy answers to 240 training prompts, 40 each
// of Alpaca, CodeAlpaca, GPTeacher, GSM8K, MBPP and ShareGPT, 128 tokens at most (forerun-lab
// hits). A kind of fewer than 30 guesses has the rate of the next shorter class.
static const float EXPECTED[N_LENGTHS][FR_VOTES] = {
    {0.30f, 0.49f, 0.14f, 0.07f}, {0.56f, 0.82f, 0.32f, 0.11f}, {0.67f, 0.83f, 0.43f, 0.07f},
    {0.70f, 0.90f, 0.60f, 0.09f}, {0.74f, 0.92f, 0.59f, 0.12f}, {0.77f, 0.89f, 0.59f, 0.07f},
    {0.82f, 0.96f, 0.64f, 0.09f}, {0.91f, 0.94f, 0.72f, 0.12f}, {0.92f, 0.99f, 0.92f, 0.12f},
    {0.95f, 0.99f, 0.95f, 0.12f},
};

static void expect(fr_drafter *d) {
    d->hits.memory = 64;
    for (int l = 0; l < N_LENGTHS; l++)
        for (int v = 0; v < FR_VOTES; v++)
            fr_hits_expect(&d->hits, l * FR_VOTES + v, EXPECTED[l][v], 8);
}

// ---------------------------------------------------------------- earlier places

static int begin(fr_drafter *base, const fr_context *c, int agree, const fr_drafter *from) {
    (void)from;
    fr_prompt_lookup *d = (fr_prompt_lookup *)base;
    fr_text_index_begin(&d->index);
    fr_text_index_add(&d->index, c->ids, c->n_ids);
    return agree;
}

static bool is_known(const fr_prompt_lookup *d, int at) {
    for (int i = 0; i < d->n_places; i++)
        if (d->place[i].at == at) return true;
    return false;
}

// Keeps places in order: longest match first, of equal ones the most recent.
static void add_place(fr_prompt_lookup *d, const int32_t *ids, int n_ids, int at, int match) {
    while (match < MAX_MATCH && at > match && ids[at - match - 1] == ids[n_ids - match - 1])
        match++;
    int i = d->n_places++;
    for (; i > 0 && d->place[i - 1].match < match; i--)
        d->place[i] = d->place[i - 1];
    d->place[i] = (fr_place){.at = at, .match = match};
}

static void find_places(fr_prompt_lookup *d, const int32_t *ids, int n_ids) {
    d->n_places = 0;
    const int longest = FR_TEXT_INDEX_LONGEST < n_ids ? FR_TEXT_INDEX_LONGEST : n_ids;
    for (int n = longest; n > 0; n--) {
        // One bucket may hold far more places than wanted, so the look is bounded to keep a step's
        // time constant.
        int p = fr_text_index_newest(&d->index, ids, n_ids, n);
        for (int looked = 0; p && looked < MAX_LOOKS;
             looked++, p = fr_text_index_older(&d->index, p, n)) {
            if (d->n_places == d->most_places) return;
            if (memcmp(ids + p - n, ids + n_ids - n, sizeof *ids * (size_t)n)) continue;
            if (!is_known(d, p)) add_place(d, ids, n_ids, p, n);
        }
    }
}

// ---------------------------------------------------------------- the tree

// The token `depth` places after place i. Past the text's end, a text that repeats itself continues
// with the latest guesses.
static int32_t word_of(const void *user, int i, int depth) {
    const fr_prompt_lookup *d = user;
    const int at = d->place[i].at, period = d->n_ids - at;
    return d->ids[at + depth % period];
}

static int kind_of(const void *user, uint64_t places, int depth, fr_vote vote) {
    const fr_prompt_lookup *d = user;
    return kind_of_match(d->place[__builtin_ctzll(places)].match + depth, vote);
}

static void propose(fr_drafter *base, const fr_context *c, fr_proposal *p) {
    fr_tree *tree = &p->tree;
    fr_prompt_lookup *d = (fr_prompt_lookup *)base;
    find_places(d, c->ids, c->n_ids);
    d->ids = c->ids;
    d->n_ids = c->n_ids;
    d->votes.n = d->n_places;
    fr_ngram_votes_fill(&d->votes, &d->base.hits, d->base.part, tree);
}

static void observe(fr_drafter *base, const fr_context *c, const fr_verdict *v) {
    if (v->tree) fr_text_index_add(&((fr_prompt_lookup *)base)->index, c->ids, c->n_ids);
}

// ---------------------------------------------------------------- open and close

static void close_lookup(fr_drafter *base) {
    fr_prompt_lookup *d = (fr_prompt_lookup *)base;
    fr_text_index_close(&d->index);
    fr_free(d);
}

static const fr_drafter_ops OPS = {.name = "prompt-lookup",
                                   .begin = begin,
                                   .propose = propose,
                                   .want = fr_no_want,
                                   .got = fr_no_got,
                                   .extend = fr_no_extend,
                                   .observe = observe,
                                   .report = fr_no_report,
                                   .close = close_lookup};

static const fr_drafter_option OPTIONS[] = {
    FR_OPTION_REAL("min-score", "P", fr_prompt_lookup, votes.least, 0, 1,
                   "lowest estimated probability of a candidate, 0 to 1 (default 0.01)"),
    FR_OPTION_INT("matches", "N", fr_prompt_lookup, most_places, 1, MAX_PLACES,
                  "number of earlier places used, 1 to 16 (default 8)"),
    {0}};

static fr_status open_prompt_lookup(fr_drafter **out, const char *file,
                                    const fr_drafter_config *config, fr_error *err) {
    (void)file;
    *out = NULL;
    fr_prompt_lookup *d = fr_alloc_zero(sizeof *d);
    fr_status st = FR_OK;
    fr_error why;
    if (!d) return fr_fail(err, FR_ENOMEM, "prompt-lookup: cannot get memory");
    d->base = (fr_drafter){.ops = &OPS, .default_nodes = config->no_adapt ? 12 : 32};
    expect(&d->base);
    d->most_places = 8;
    d->votes.word = word_of;
    d->votes.kind = kind_of;
    d->votes.user = d;
    d->votes.least = 0.01f;
    if (fr_text_index_open(&d->index, config->n_ctx, &why)) {
        st = fr_fail(err, FR_ENOMEM, "prompt-lookup: %s", why.text);
        goto fail;
    }
    for (int i = 0; config->options && config->options[i]; i++)
        if ((st = fr_drafter_read(d, OPS.name, OPTIONS, config->options[i], err))) goto fail;
    *out = &d->base;
    return FR_OK;
fail:
    close_lookup(&d->base);
    return st;
}

const fr_drafter_method fr_prompt_lookup_method = {
    .name = "prompt-lookup",
    .what = "continuations of earlier places in the text that match its last tokens",
    .file = "",
    .options = OPTIONS,
    .cost = 1,
    .open = open_prompt_lookup};
