// learn_chimera_published.c — Chimera's learner as its paper describes it, to be judged beside ours
// [arXiv 2402.15758, sections 3.2, 3.3]: the residual encoder, heads of their own, n-gram states for
// the context's rows too, and the tokens that came for labels. The pack is called chimera-ablation,
// which no drafter takes.
#include "base/alloc.h"
#include "draft/chimera/train/learn_chimera.h"
#include "lab/train/learners.h"
#include "lab/train/own_settings.h"
#include <string.h>

enum { OPTIONS = 64 };

typedef struct published {
    fr_chimera_learner chimera; // first
    fr_chimera_source source;
} published;

typedef struct word { // that sets or clears a switch
    const char *text;
    bool context, on; // of the context's rows; else of the labels
} word;

static const word words[] = {{"context=ngrams", true, true},
                             {"context=states", true, false},
                             {"labels=hard", false, true},
                             {"labels=soft", false, false}};

static bool read_word(fr_chimera_source *s, const char *option) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(option, words[i].text)) {
            *(words[i].context ? &s->ngram_context : &s->hard) = words[i].on;
            return true;
        }
    return false;
}

// The paper's forms first, so that what the line says counts.
static fr_status read_options(published *p, const char *const *all, const char *rest[OPTIONS],
                              fr_error *err) {
    int n = 0;
    rest[n++] = "encoder=residual";
    rest[n++] = "variant=own-heads";
    for (; all && *all; all++) {
        if (read_word(&p->source, *all)) continue;
        if (!strncmp(*all, "context=", 8) || !strncmp(*all, "labels=", 7))
            return fr_fail(err, FR_EARG,
                           "--set %.64s: expected context=ngrams or states, labels=hard or soft",
                           *all);
        if (n == OPTIONS - 1)
            return fr_fail(err, FR_EARG, "--set: expected at most %d", OPTIONS - 3);
        rest[n++] = *all;
    }
    rest[n] = NULL;
    return FR_OK;
}

fr_status lab_learn_chimera_published_open(fr_learner **out, const fr_learner_config *config,
                                           fr_error *err) {
    const char *rest[OPTIONS];
    fr_learner_config inner = *config;
    *out = NULL;
    published *p = fr_alloc_zero(sizeof *p);
    if (!p) return fr_fail(err, FR_ENOMEM, "train: no memory");
    p->source = (fr_chimera_source){.ngram_context = true, .hard = true};
    inner.options = rest;
    const fr_status st = read_options(p, config->options, rest, err);
    if (st) {
        fr_free(p);
        return st;
    }
    const fr_status opened = fr_chimera_learner_open(&p->chimera, &p->source, &inner, err);
    if (opened) // it has freed p
        return lab_add_settings(opened, "context=ngrams or states, labels=hard or soft", err);
    p->chimera.learner.name = "chimera-ablation";
    *out = &p->chimera.learner;
    return FR_OK;
}
