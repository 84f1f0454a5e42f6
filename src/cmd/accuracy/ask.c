// ask.c — collects plain decoding's answers; then a drafter reads each of them again, and its
// guesses at each distance are compared with the tokens of the answer.
#include "cmd/accuracy/ask.h"
#include "base/alloc.h"
#include "engine/engine.h"
#include <string.h>

// ---------------------------------------------------------------- the answers

static void keep(void *user, const fr_ids *prompt, const fr_result *r) {
    fr_known *k = user;
    fr_error unsaid;
    (void)prompt;
    fr_ids *answer = &k->answer[k->taken++];
    for (int i = 0; i < r->n_tokens && !k->no_memory; i++)
        k->no_memory = fr_ids_push(answer, r->tokens[i], &unsaid) != FR_OK;
}

fr_status fr_known_open(fr_known *k, fr_answers *prompts, fr_error *err) {
    const int n = prompts->prompts->n;
    *k = (fr_known){.answer = fr_alloc_zero((size_t)n * sizeof *k->answer), .n = n};
    if (!k->answer) return fr_fail(err, FR_ENOMEM, "no memory for %d answers", n);
    const fr_status st = fr_answers_run(prompts, "none", NULL, keep, k, err);
    return !st && k->no_memory ? fr_fail(err, FR_ENOMEM, "no memory for answers") : st;
}

void fr_known_close(fr_known *k) {
    for (int i = 0; i < k->n && k->answer; i++)
        fr_ids_free(&k->answer[i]);
    fr_free(k->answer);
    *k = (fr_known){0};
}

// ---------------------------------------------------------------- one step

// The token so far after the root of this step, which is the prompt's last token in step 0; NULL:
// the answer ends before it.
static const int32_t *truth_at(const fr_asked *a, int distance) {
    const fr_ids *answer = &a->known->answer[a->at];
    const size_t at = (size_t)(a->step + distance - 1);
    return at < answer->n ? &answer->data[at] : NULL;
}

static bool is_place(const fr_asked *a) {
    return a->step > 0;
}

static int32_t answer_place(void *user, int distance, const fr_chance *likely, int n) {
    fr_asked *a = user;
    const int32_t *truth = truth_at(a, distance);
    int32_t guess[FR_ACCURACY_RANKS];
    const int m = n < FR_ACCURACY_RANKS ? n : FR_ACCURACY_RANKS;
    for (int r = 0; r < m; r++)
        guess[r] = likely[r].id;
    if (truth && is_place(a) && distance <= FR_DISTANCES)
        fr_ranks_count(&a->ranks.prompt[a->at], distance, guess, m, *truth);
    if (a->given == FR_GIVEN_ANSWER) return truth ? *truth : -1;
    return m ? guess[0] : -1;
}

// A distance counts where the drafter might have guessed at it: not beyond what the answer had room
// for.
static void proposed(void *user, const fr_tree *t, int n_ids) {
    fr_asked *a = user;
    (void)n_ids;
    fr_prompt_ranks *ranks = &a->ranks.prompt[a->at];
    for (int k = 1; is_place(a) && k <= FR_DISTANCES && k <= t->max_depth; k++) {
        const int32_t *truth = truth_at(a, k);
        int32_t guess[FR_ACCURACY_RANKS];
        if (!truth) break;
        ranks->places[k - 1]++;
        if (!a->has_dists) fr_ranks_count(ranks, k, guess, fr_ranks_of_tree(t, k, guess), *truth);
    }
    a->step++;
}

// ---------------------------------------------------------------- all answers

static void opened(void *user, fr_session *s) {
    fr_asked *a = user;
    a->has_dists = fr_session_ask_everywhere(s, proposed, &(fr_dist_watch){answer_place, a}, a);
}

static void answered(void *user, const fr_ids *prompt, const fr_result *r) {
    fr_asked *a = user;
    (void)prompt;
    const fr_ids *answer = &a->known->answer[a->at++];
    a->differs |= (size_t)r->n_tokens != answer->n ||
                  (r->n_tokens && memcmp(r->tokens, answer->data, answer->n * sizeof *r->tokens));
    a->step = 0;
}

fr_status fr_ask(fr_asked *a, const char *spec, fr_answers *prompts, const fr_known *known,
                 fr_given given, fr_error *err) {
    *a = (fr_asked){.spec = spec, .known = known, .given = given};
    fr_status st = fr_ranks_open(&a->ranks, known->n, err);
    if (!st) st = fr_answers_run(prompts, spec, opened, answered, a, err);
    if (!st && a->differs)
        st = fr_fail(err, FR_EDATA, "accuracy: %s: not the tokens of plain decoding", spec);
    return st;
}

void fr_asked_close(fr_asked *a) {
    fr_ranks_close(&a->ranks);
}
