// What drafters know of a model is opened once, given to all who ask for the same file, and closed
// with its last user; another file, another model or a replaced file is another part.
#include "draft/shared/shared.h"
#include "support/open_model.h"
#include "support/tiny_pack.h"
#include "support/weights.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct world {
    fr_opened target;
    fr_shared shared;
    fr_drafter_config config;
    char path[16];
} world;

static void write_pack(world *w, char path[16], int n_draft) {
    const fr_tiny_pack pack = {.form = &fr_eagle_form, .n_draft = n_draft};
    strcpy(path, "pack-XXXXXX");
    fr_tiny_pack_write(path, &pack, &w->target.model);
}

static void open_world(world *w) {
    const fr_kern *kern;
    fr_error err;
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    fr_opened_open(&w->target, &(fr_tiny_options){.n_layer = 1}, kern, 1);
    fr_shared_open(&w->shared);
    w->config = (fr_drafter_config){.model = &w->target.model, .n_ctx = 64, .shared = &w->shared};
    write_pack(w, w->path, 40);
}

static void close_world(world *w) {
    assert_null(w->shared.first);
    fr_shared_close(&w->shared);
    fr_opened_close(&w->target);
    unlink(w->path);
}

static fr_pack_weights *take(world *w, const char *path) {
    fr_pack_weights *p;
    fr_error err = {0};
    if (fr_pack_weights_take(&p, path, &fr_eagle_form, &w->config, &err)) fail_msg("%s", err.text);
    return p;
}

static void one_file_is_opened_once(void **state) {
    (void)state;
    world w;
    fr_error err;
    const fr_matrix *head[2], *map[2];
    open_world(&w);
    fr_pack_weights *a = take(&w, w.path), *b = take(&w, w.path);
    assert_ptr_equal(a, b);
    assert_int_equal(a->part.users, 2);
    assert_int_equal(fr_pack_weights_head(a, &head[0], &err), FR_OK);
    assert_int_equal(fr_pack_weights_head(b, &head[1], &err), FR_OK);
    assert_ptr_equal(head[0]->panels, head[1]->panels);
    assert_int_equal(fr_pack_weights_matrix(a, "fc_state.weight", &map[0], &err), FR_OK);
    fr_pack_weights_give_back(a);
    assert_int_equal(fr_pack_weights_matrix(b, "fc_state.weight", &map[1], &err), FR_OK);
    assert_ptr_equal(map[0]->panels, map[1]->panels);
    fr_pack_weights_give_back(b);
    close_world(&w);
}

static void other_files_and_models_are_other_parts(void **state) {
    (void)state;
    world w;
    char other[16];
    open_world(&w);
    write_pack(&w, other, 40);
    fr_pack_weights *a = take(&w, w.path), *b = take(&w, other);
    assert_ptr_not_equal(a, b);
    fr_drafter_config elsewhere = w.config;
    const fr_model same = w.target.model;
    elsewhere.model = &same;
    fr_pack_weights *c;
    fr_error err;
    assert_int_equal(fr_pack_weights_take(&c, w.path, &fr_eagle_form, &elsewhere, &err), FR_OK);
    assert_ptr_not_equal(a, c);
    fr_pack_weights_give_back(c);
    fr_pack_weights_give_back(a);
    fr_pack_weights_give_back(b);
    unlink(other);
    close_world(&w);
}

static void a_replaced_file_is_another_part(void **state) {
    (void)state;
    world w;
    char other[16];
    open_world(&w);
    write_pack(&w, other, 24);
    fr_pack_weights *a = take(&w, w.path);
    assert_int_equal(rename(other, w.path), 0);
    fr_pack_weights *b = take(&w, w.path), *c = take(&w, w.path);
    assert_ptr_equal(b, c);
    assert_int_equal(a->pack.n_draft, 40);
    assert_int_equal(b->pack.n_draft, 24);
    fr_pack_weights_give_back(a);
    fr_pack_weights_give_back(b);
    fr_pack_weights_give_back(c);
    close_world(&w);
}

static void what_cannot_be_opened_leaves_nothing(void **state) {
    (void)state;
    world w;
    fr_pack_weights *p;
    fr_error err;
    open_world(&w);
    assert_int_equal(fr_pack_weights_take(&p, "no-such-pack", &fr_eagle_form, &w.config, &err),
                     FR_EIO);
    assert_null(p);
    assert_int_equal(fr_pack_weights_take(&p, w.path, &fr_medusa_form, &w.config, &err), FR_EUNSUP);
    fr_pack_weights *a = take(&w, w.path); // and where another drafter has it open
    assert_int_equal(fr_pack_weights_take(&p, w.path, &fr_medusa_form, &w.config, &err), FR_EUNSUP);
    assert_non_null(strstr(err.text, "expected a pack of medusa, found one of eagle"));
    assert_int_equal(a->part.users, 1);
    fr_pack_weights_give_back(a);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_file_is_opened_once),
        cmocka_unit_test(other_files_and_models_are_other_parts),
        cmocka_unit_test(a_replaced_file_is_another_part),
        cmocka_unit_test(what_cannot_be_opened_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
