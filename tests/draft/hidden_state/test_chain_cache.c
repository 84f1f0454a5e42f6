// Kept chains against a literal simulation: every state is a record of the place it speaks of, and
// what is kept of a chain is found by searching the records.
#include "draft/hidden_state/chain_cache.h"
#include "support/damage.h"
#include "tree/dice.h"
#include <stdio.h>

enum { D = 4, RANK = 2, LOGITS = 6, STATES = 1 << 14 };

typedef struct record {  // of one state that was drafted
    int chain, predicts; // the place of the token whose distribution it is
    bool reused;
} record;

typedef struct simulation {
    record state[STATES];
    int n_states, chains, root; // root: the place of the token that is sure but not evaluated
} simulation;

// The state of `chain` that is the distribution of the token at a place, or -1.
static int find(const simulation *s, int chain, int place) {
    for (int i = 0; i < s->n_states; i++)
        if (s->state[i].chain == chain && s->state[i].predicts == place) return i;
    return -1;
}

// Chains speak of the places behind the root one after the other.
static int left(const simulation *s, int chain) {
    int n = 0;
    while (find(s, chain, s->root + 1 + n) >= 0)
        n++;
    return n;
}

static void draft(simulation *s, fr_chain_cache *k, int length) {
    fr_cached_chain *c = fr_chain_cache_start(k, length);
    s->chains++;
    for (int i = 0; i < length; i++) {
        assert_true(s->n_states < STATES);
        // The i-th state behind the anchor stands for the root's when i is 0, then for those of the
        // tokens that follow: the distributions of the places root + 1 + i.
        s->state[s->n_states] = (record){s->chains, s->root + 1 + i, false};
        c->states[i * D] = c->logits[i * LOGITS] = c->gates[i * RANK] = (float)s->n_states++;
    }
}

static void expect_chain(const simulation *s, const fr_cached_chain *c, int chain) {
    const int n = left(s, chain);
    assert_int_equal(fr_chain_cache_left(c), n);
    for (int j = 0; j < n; j++) {
        const int at = find(s, chain, s->root + 1 + j);
        assert_int_equal((int)c->states[(c->shift + j) * D], at);
        assert_int_equal((int)c->logits[(c->shift + j) * LOGITS], at);
        assert_int_equal((int)c->gates[(c->shift + j) * RANK], at);
    }
}

static int reuse(simulation *s, fr_chain_cache *k, fr_cached_chain *c, int chain, int most) {
    int n = left(s, chain);
    if (n > most) n = most;
    fr_chain_cache_reuse(k, c, n);
    for (int j = 0; j < n; j++)
        s->state[find(s, chain, s->root + 1 + j)].reused = true;
    return n;
}

static int count_reused(const simulation *s) {
    int n = 0;
    for (int i = 0; i < s->n_states; i++)
        n += s->state[i].reused;
    return n;
}

static void what_is_kept_is_what_still_speaks_of_places_ahead(void **state) {
    (void)state;
    static simulation s;
    fr_error err;
    fr_chain_cache k;
    dice_begin(71);
    assert_int_equal(fr_chain_cache_open(&k, D, RANK, LOGITS, &err), FR_OK);
    for (int text = 0; text < 20; text++) {
        s.n_states = s.chains = 0;
        s.root = dice_below(50);
        int age = 0;
        fr_chain_cache_forget(&k);
        assert_int_equal(fr_chain_cache_left(fr_chain_cache_newest(&k)), 0);
        for (int step = 0; step < 40; step++) {
            switch (dice_below(4)) {
            case 0: // a new chain
                draft(&s, &k, 1 + dice_below(FR_CHAIN_CACHE_DEPTH));
                age = 0;
                break;
            case 1: // ... joined to what was left of the last one
                draft(&s, &k, 1 + dice_below(FR_CHAIN_CACHE_DEPTH));
                age = 0;
                if (s.chains > 1) {
                    expect_chain(&s, fr_chain_cache_before(&k), s.chains - 1);
                    reuse(&s, &k, fr_chain_cache_before(&k), s.chains - 1,
                          dice_below(FR_CHAIN_CACHE_DEPTH));
                }
                break;
            case 2: // what is left
                if (!s.chains) break;
                reuse(&s, &k, fr_chain_cache_newest(&k), s.chains, FR_CHAIN_CACHE_DEPTH);
                age++;
                break;
            }
            if (s.chains) expect_chain(&s, fr_chain_cache_newest(&k), s.chains);
            assert_int_equal(k.age, age);
            assert_int_equal(k.drafted, s.n_states);
            assert_int_equal(k.reused, count_reused(&s));
            const int sure = 1 + dice_below(5);
            fr_chain_cache_advance(&k, sure);
            s.root += sure;
        }
    }
    fr_chain_cache_close(&k);
}

static void the_check_of_a_cache_finds_damage(void **state) {
    (void)state;
    fr_error err;
    fr_chain_cache k;
    assert_int_equal(fr_chain_cache_open(&k, D, RANK, LOGITS, &err), FR_OK);
    fr_cached_chain *c = fr_chain_cache_start(&k, 5);
    fr_chain_cache_advance(&k, 2);
    fr_chain_cache_reuse(&k, c, 3);
    assert_noticed(k.newest, 2, fr_chain_cache_is_sound(&k));
    assert_noticed(k.age, -1, fr_chain_cache_is_sound(&k));
    assert_noticed(k.reused, 6, fr_chain_cache_is_sound(&k)); // of five that were drafted
    assert_noticed(c->length, FR_CHAIN_CACHE_DEPTH + 1, fr_chain_cache_is_sound(&k));
    assert_noticed(c->length, 1, fr_chain_cache_is_sound(&k)); // two were left behind
    assert_noticed(c->shift, -1, fr_chain_cache_is_sound(&k));
    fr_chain_cache_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_what_still_speaks_of_places_ahead),
        cmocka_unit_test(the_check_of_a_cache_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
