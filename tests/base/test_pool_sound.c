// What the pool's check notices. The struct is pool.c's own, so that file is a part of this test.
#include "base/pool.c"
#include "support/damage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void count(void *arg, int thread, int n) {
    (void)thread, (void)n;
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void the_check_of_a_pool_finds_damage(void **state) {
    (void)state;
    fr_pool *pool;
    atomic_int runs = 0;
    assert_int_equal(fr_pool_open(&pool, 3, NULL), FR_OK);
    fr_pool_adapt(pool, true);
    fr_pool_run(pool, count, &runs);
    assert_noticed(pool->n_threads, 0, fr_pool_is_sound(pool));
    assert_noticed(pool->n_threads, FR_MAX_THREADS + 1, fr_pool_is_sound(pool));
    assert_noticed(pool->n_active, 0, fr_pool_is_sound(pool));
    assert_noticed(pool->n_active, 4, fr_pool_is_sound(pool));
    assert_noticed(pool->n_started, 3, fr_pool_is_sound(pool)); // the caller is one of the threads
    assert_noticed(pool->adapt.pause, 0, fr_pool_is_sound(pool));
    atomic_store(&pool->arrived, 1); // somebody is inside the barrier
    assert_false(fr_pool_is_sound(pool));
    atomic_store(&pool->arrived, 0);
    fr_pool_run(pool, count, &runs);
    assert_in_range(atomic_load(&runs), 2, 6);
    fr_pool_close(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_check_of_a_pool_finds_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
