#include "draft/model/guess.h"

enum { BINS = 12, GREEDY_TOP_K = 16 };
enum { LIKELIEST, ALIKE, SECOND, LATER, DRAWN, RANKS }; // kinds: this many, times the bins

fr_status fr_guesser_open(fr_guesser *g, const fr_kern *kern, int n_vocab, fr_error *err) {
    g->alike = g->draws = false;
    return fr_sampler_open(&g->sampler, kern, n_vocab, err);
}

void fr_guesser_close(fr_guesser *g) {
    fr_sampler_close(&g->sampler);
}

// Probabilities from edge[b - 1] up to edge[b] are of bin b.
static int bin_of(float p) {
    static const float edge[BINS - 1] = {0.05f, 0.1f, 0.2f, 0.3f, 0.4f, 0.5f,
                                         0.6f,  0.7f, 0.8f, 0.9f, 0.97f};
    int b = 0;
    while (b < BINS - 1 && p >= edge[b])
        b++;
    return b;
}

static uint8_t kind_of(int rank, float p) {
    return (uint8_t)(rank * BINS + bin_of(p));
}

void fr_guesser_expect(fr_hits *hits) {
    static const float rate[RANKS][BINS] = {
        {0.05f, 0.1f, 0.17f, 0.25f, 0.38f, 0.42f, 0.6f, 0.7f, 0.85f, 0.93f, 0.98f, 0.995f},
        {0.05f, 0.1f, 0.25f, 0.3f, 0.32f, 0.4f, 0.5f, 0.65f, 0.69f, 0.75f, 0.92f, 0.98f},
        {0.01f, 0.09f, 0.16f, 0.24f, 0.32f, 0.35f, 0.4f, 0.4f, 0.4f, 0.4f, 0.4f, 0.4f},
        {0.01f, 0.08f, 0.12f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f},
        {0.3f, 0.35f, 0.4f, 0.45f, 0.5f, 0.55f, 0.6f, 0.65f, 0.7f, 0.8f, 0.9f, 0.98f}};
    for (int r = 0; r < RANKS; r++)
        for (int b = 0; b < BINS; b++)
            fr_hits_expect(hits, r * BINS + b, rate[r][b], 6);
    hits->memory = 200;
}

void fr_guesser_begin(fr_guesser *g, const fr_sampling *sampling, fr_rule rule) {
    fr_sampling own = *sampling;
    const bool random = own.temperature > 0 && own.top_k != 1;
    g->alike = random && rule == FR_RULE_EXACT;
    g->draws = random && rule == FR_RULE_REJECTION;
    if (!g->alike && !g->draws) { // probabilities among the likeliest tokens
        own.temperature = 1;
        own.top_k = GREEDY_TOP_K;
        own.top_p = own.min_p = 0;
    }
    own.frequency_penalty = own.presence_penalty = 0; // where the answer begins is not known here
    fr_sampler_begin(&g->sampler, &own, 0);
}

int fr_guesser_next(fr_guesser *g, float *logits, const int32_t *ids, int n_ids,
                    fr_guess guess[FR_GUESSES]) {
    const fr_chance *dist;
    int m = 0;
    fr_sampler_read(&g->sampler, logits, ids, n_ids);
    const fr_chance drawn = g->alike ? fr_sampler_draw(&g->sampler, n_ids) : (fr_chance){-1, 0};
    const int n = fr_sampler_likeliest(&g->sampler, FR_GUESSES, &dist);
    const fr_chance first = g->alike ? drawn : dist[0];
    guess[m++] = (fr_guess){first.id, kind_of(g->alike ? ALIKE : LIKELIEST, first.p)};
    for (int i = 0; i < n && m < FR_GUESSES; i++)
        if (dist[i].id != first.id) {
            guess[m] = (fr_guess){dist[i].id, kind_of(m == 1 ? SECOND : LATER, dist[i].p)};
            m++;
        }
    return m;
}

int fr_guesser_dist(fr_guesser *g, float *logits, const int32_t *ids, int n_ids,
                    const fr_chance **dist) {
    fr_sampler_read(&g->sampler, logits, ids, n_ids);
    return fr_sampler_likeliest(&g->sampler, FR_LIKELIEST_MOST, dist);
}

uint8_t fr_guesser_drawn_kind(float p) {
    return kind_of(DRAWN, p);
}
