// What the curve makes of the times taken.
#include "cmd/lib/cpu_use.h"
#include "cmd/lib/timings.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool near(double a, double b) {
    return fabs(a - b) <= 1e-9 * fabs(b);
}

// A pass of 10 bytes and 100 products.
enum { BYTES = 10, MACS = 100 };

static fr_timing sample(double seconds, double read_before, double read_after) {
    return (fr_timing){seconds, {read_before, 1e6}, {read_after, 1e6}};
}

static void the_limit_is_the_longer_of_reading_and_multiplying(void **state) {
    (void)state;
    assert_true(near(fr_limit((fr_rates){.read = 5, .products = 100}, BYTES, MACS), 2));
    assert_true(near(fr_limit((fr_rates){.read = 5, .products = 20}, BYTES, MACS), 5));
}

static void a_median_is_the_middle(void **state) {
    (void)state;
    assert_true(near(fr_median((double[]){7, 1, 4}, 3), 4));
    assert_true(near(fr_median((double[]){7, 1, 4, 5}, 4), 4.5));
    assert_true(near(fr_median((double[]){3}, 1), 3));
}

static void a_fraction_is_that_of_its_own_moment(void **state) {
    (void)state;
    // The machine halves its speed in the middle: every pass took twice what was possible.
    fr_cell cell = {.n = 4};
    cell.sample[0] = cell.sample[1] = sample(2, 10, 10);
    cell.sample[2] = cell.sample[3] = sample(4, 5, 5);
    const fr_summary s = fr_cell_summarize(&cell, BYTES, MACS);
    assert_true(near(s.fraction, 0.5));
    assert_int_equal(s.counted, 4);
    assert_true(near(s.least, 2) && near(s.median, 3));
    // The mean of both probes, of 0.96 and 1.04 seconds.
    for (int i = 0; i < 4; i++)
        cell.sample[i] = sample(2, BYTES / 0.96, BYTES / 1.04);
    assert_true(near(fr_cell_summarize(&cell, BYTES, MACS).fraction, 0.5));
}

static void passes_between_unlike_probes_do_not_count(void **state) {
    (void)state;
    fr_cell cell = {.n = 5};
    cell.sample[0] = cell.sample[1] = cell.sample[2] = sample(2, 10, BYTES / 0.95);
    cell.sample[3] = sample(100, 10, 12);
    cell.sample[4] = sample(100, 12, 10);
    fr_summary s = fr_cell_summarize(&cell, BYTES, MACS);
    assert_int_equal(s.counted, 3);
    assert_true(near(s.fraction, 0.975 / 2));
    assert_true(near(s.median, 2)); // times are those of all passes
    // The probe that does not bind may change as it likes.
    for (int i = 0; i < 5; i++)
        cell.sample[i] = (fr_timing){2, {10, 1e6}, {10, 1e3}};
    assert_int_equal(fr_cell_summarize(&cell, BYTES, MACS).counted, 5);
}

static void the_steadiest_count_where_none_is_steady(void **state) {
    (void)state;
    fr_cell cell = {.n = 4};
    cell.sample[0] = sample(100, 1, 10);
    for (int i = 1; i < 4; i++)
        cell.sample[i] = sample(2, BYTES, BYTES / (1 + 0.2 * i));
    const fr_summary s = fr_cell_summarize(&cell, BYTES, MACS);
    assert_int_equal(s.counted, FR_SAMPLES_LEAST);
    assert_true(near(s.fraction, 1.2 / 2));
    cell.n = 1;
    assert_int_equal(fr_cell_summarize(&cell, BYTES, MACS).counted, 1);
}

static void rates_are_medians_and_the_most(void **state) {
    (void)state;
    const fr_rates rates[] = {{1, 60}, {3, 40}, {2, 50}};
    double room[3];
    fr_rates median, most;
    fr_rates_summarize(rates, 3, room, &median, &most);
    assert_true(near(median.read, 2) && near(median.products, 50));
    assert_true(near(most.read, 3) && near(most.products, 60));
}

// Takes turns until `seconds` are over, as the command does.
static void take_turns(fr_cell *cells, int n, const double *takes, double seconds) {
    double now = 0;
    for (int i; (i = fr_cells_next(cells, n, now > seconds)) >= 0;) {
        assert_true(cells[i].n < FR_SAMPLES_MOST);
        cells[i].sample[cells[i].n++].seconds = takes[i];
        now += takes[i];
    }
}

static void cheap_passes_are_measured_more_often(void **state) {
    (void)state;
    const double takes[] = {0.01, 0.04, 0.64};
    fr_cell cells[3] = {{.n = 0}};
    take_turns(cells, 3, takes, 7);
    assert_in_range(cells[2].n, 5, 9);
    assert_in_range(cells[1].n, 3 * cells[2].n, 5 * cells[2].n);  // root of 16
    assert_in_range(cells[0].n, 7 * cells[2].n, FR_SAMPLES_MOST); // root of 64
}

static void every_cell_gets_its_least(void **state) {
    (void)state;
    const double takes[] = {0.1, 5, 9};
    fr_cell cells[3] = {{.n = 0}};
    take_turns(cells, 3, takes, 1);
    for (int i = 0; i < 3; i++)
        assert_in_range(cells[i].n, FR_SAMPLES_LEAST, FR_SAMPLES_MOST);
    assert_int_equal(cells[2].n, FR_SAMPLES_LEAST);
    fr_cell quick[2] = {{.n = 0}};
    take_turns(quick, 2, (double[]){1e-6, 1e-6}, 7); // ends when there is no room
    assert_int_equal(quick[0].n, FR_SAMPLES_MOST);
}

static void the_use_of_processors_is_read(void **state) {
    (void)state;
    double busy = -1, stolen = -1;
    assert_true(fr_cpu_use_parse("cpu  100 20 30 9999 777 4 6 50 0 0\n", 0.01, &busy, &stolen));
    assert_true(near(busy, 1.6) && near(stolen, 0.5));
    static const char *const bad[] = {"", "cpu", "cpu 1 2 3", "cpu a b c d e f g h",
                                      "intr 1 2 3 4 5 6 7 8"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(fr_cpu_use_parse(bad[i], 0.01, &busy, &stolen));
    assert_true(fr_cpu_use_now().wall > 0);
}

static void others_are_what_was_not_ours(void **state) {
    (void)state;
    const fr_cpu_use from = {.wall = 5, .own = 1, .busy = 100, .stolen = 3};
    fr_cpu_others o =
        fr_cpu_use_others(from, (fr_cpu_use){.wall = 15, .own = 21, .busy = 125, .stolen = 5});
    assert_true(near(o.programs, 0.5) && near(o.host, 0.2));
    // Counting in ticks errs by some hundredths.
    o = fr_cpu_use_others(from, (fr_cpu_use){.wall = 15, .own = 21, .busy = 120.4, .stolen = 3.1});
    assert_true(o.programs == 0 && o.host == 0);
    o = fr_cpu_use_others(from, from);
    assert_true(o.programs == 0 && o.host == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_is_the_longer_of_reading_and_multiplying),
        cmocka_unit_test(a_median_is_the_middle),
        cmocka_unit_test(a_fraction_is_that_of_its_own_moment),
        cmocka_unit_test(passes_between_unlike_probes_do_not_count),
        cmocka_unit_test(the_steadiest_count_where_none_is_steady),
        cmocka_unit_test(rates_are_medians_and_the_most),
        cmocka_unit_test(cheap_passes_are_measured_more_often),
        cmocka_unit_test(every_cell_gets_its_least),
        cmocka_unit_test(the_use_of_processors_is_read),
        cmocka_unit_test(others_are_what_was_not_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
