// Choosing kernels by name: what is there works, what is not is said in a sentence.
#include "kern/kern.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void pick_takes_the_best_by_default(void **state) {
    (void)state;
    const fr_kern *by_default, *by_auto;
    assert_int_equal(fr_kern_pick(&by_default, NULL, NULL), FR_OK);
    assert_int_equal(fr_kern_pick(&by_auto, "auto", NULL), FR_OK);
    assert_ptr_equal(by_default, by_auto);
    for (int isa = 0; isa < FR_ISA_COUNT; isa++)
        if (fr_isa_available((fr_isa)isa)) assert_true(by_auto->isa >= (fr_isa)isa);
}

static void pick_by_name_agrees_with_availability(void **state) {
    (void)state;
    static const char *const sentence[] = {
        "", "isa avx2: this CPU has no AVX2", "isa avx-vnni: this CPU has no AVX-VNNI",
        "isa avx512: this CPU has no AVX-512", "isa amx: this CPU has no AMX"};
    for (int isa = 0; isa < FR_ISA_COUNT; isa++) {
        const char *name = fr_isa_name((fr_isa)isa);
        const fr_kern *kern = NULL;
        fr_error err;
        const fr_status st = fr_kern_pick(&kern, name, &err);
        assert_ptr_equal(kern, fr_kern_of((fr_isa)isa));
        assert_int_equal(st, fr_isa_available((fr_isa)isa) ? FR_OK : FR_EUNSUP);
        if (st)
            assert_string_equal(err.text, sentence[isa]);
        else
            assert_string_equal(kern->name, name);
    }
    assert_true(fr_isa_available(FR_ISA_SCALAR));
}

static void pick_refuses_other_names(void **state) {
    (void)state;
    const fr_kern *kern = &fr_kern_scalar;
    fr_error err;
    assert_int_equal(fr_kern_pick(&kern, "sse9", &err), FR_EARG);
    assert_null(kern);
    assert_string_equal(err.text,
                        "isa: expected auto, scalar, avx2, avx-vnni, avx512 or amx, found 'sse9'");
    assert_int_equal(fr_kern_pick(&kern, "", NULL), FR_EARG);
}

static void every_table_is_whole(void **state) {
    (void)state;
    for (int isa = 0; isa < FR_ISA_COUNT; isa++) {
        const fr_kern *k = fr_kern_of((fr_isa)isa);
        if (!k) continue;
        assert_int_equal(k->isa, isa);
        assert_true(k->quantize && k->rmsnorm && k->add && k->scale && k->silu_mul);
        assert_true(k->gelu_mul && k->clamped_mul && k->rope && k->attend && k->argmax);
        assert_true(k->layernorm && k->gelu && k->softcap);
        assert_true(k->run_max && k->weigh && k->split);
        for (int form = 0; form < FR_KV_FORMS; form++)
            assert_true(k->store_k[form] && k->store_v[form]);
        for (uint32_t id = 0; id < FR_TYPE_LIMIT; id++)
            assert_int_equal(k->matmul[id] != NULL, fr_qtype_of(id) != NULL);
    }
    assert_null(fr_kern_of(FR_ISA_COUNT));
    assert_string_equal(fr_isa_name(FR_ISA_COUNT), "unknown");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pick_takes_the_best_by_default),
        cmocka_unit_test(pick_by_name_agrees_with_availability),
        cmocka_unit_test(pick_refuses_other_names),
        cmocka_unit_test(every_table_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
