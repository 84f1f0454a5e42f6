// What the check of a pass' workspace notices, before and after a pass.
#include "model/workspace.h"
#include "support/damage.h"
#include "support/open_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void find_damage(fr_forward *f, const fr_pass *pass) {
    assert_noticed(f->pass, pass, fr_forward_is_sound(f));
    assert_noticed(f->arena.used, f->arena.size + 64, fr_forward_is_sound(f));
    assert_noticed(f->limits.max_rows, 0, fr_forward_is_sound(f));
    assert_noticed(f->limits.max_rows, FR_MAX_ROWS + 1, fr_forward_is_sound(f));
    assert_noticed(f->limits.max_logits, 0, fr_forward_is_sound(f));
    assert_noticed(f->limits.max_logits, f->limits.max_rows + 1, fr_forward_is_sound(f));
    assert_noticed(f->limits.max_taps, -1, fr_forward_is_sound(f));
    assert_noticed(f->limits.n_ctx, 0, fr_forward_is_sound(f));
    assert_noticed(f->limits.own_outputs, 1, fr_forward_is_sound(f));
    assert_noticed(f->n_outputs, f->head->m - 1, fr_forward_is_sound(f));
    assert_noticed(f->n_logits, f->limits.max_logits + 1, fr_forward_is_sound(f));
    assert_noticed(f->n_active, f->limits.max_rows + 1, fr_forward_is_sound(f));
}

static void the_check_of_a_workspace_finds_damage(void **state) {
    (void)state;
    fr_opened o;
    fr_kv kv;
    fr_forward *f;
    fr_opened_open(&o, &(fr_tiny_options){.type = FR_TYPE_Q8_0}, fr_kern_of(FR_ISA_SCALAR), 1);
    assert_int_equal(fr_kv_open(&kv, &o.model.config, 16, FR_KV_F16, NULL), FR_OK);
    const fr_forward_limits limits = {.max_rows = 4, .max_logits = 2, .n_ctx = 16};
    assert_int_equal(fr_forward_open(&f, &o.model, &limits, NULL), FR_OK);
    const fr_row row = fr_row_token(3, FR_PARENT_COMMITTED, FR_WANT_LOGITS);
    const fr_pass pass = {.rows = &row, .n_rows = 1, .kv = (fr_kv *[]){&kv}, .n_seq = 1};
    find_damage(f, &pass);
    fr_forward_run(f, &pass);
    find_damage(f, &pass);
    fr_forward_close(f);
    fr_kv_close(&kv);
    fr_opened_close(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_check_of_a_workspace_finds_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
