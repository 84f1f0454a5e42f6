// Shapes: what may be built, what becomes of them as tokens and as text.
#include "dice.h"
#include "shape_write.h"
#include "tree/shape.h"

// A random shape of up to n nodes; the ranks of siblings are neither in order nor without gaps.
static void grow(fr_shape *s, int n) {
    fr_shape_begin(s);
    for (int i = 0; i < 4 * n && s->n < n; i++) {
        const int parent = dice_below(s->n), rank = dice_below(i % 3 ? 4 : FR_SHAPE_RANKS);
        if (fr_shape_child(s, parent, rank) >= 0) continue;
        fr_shape_add(s, parent, rank, s->node[parent].prob * dice_unit());
    }
}

static void built_shapes_keep_the_invariant(void **state) {
    (void)state;
    fr_shape s;
    dice_begin(1);
    for (int round = 0; round < 200; round++) {
        grow(&s, 1 + dice_below(FR_TREE_MAX));
        assert_true(fr_shape_is_sound(&s));
    }
}

static void the_check_finds_every_broken_rule(void **state) {
    (void)state;
    fr_shape good, s;
    fr_shape_begin(&good);
    fr_shape_add(&good, 0, 0, 0.5);
    fr_shape_add(&good, 0, 1, 0.25);
    fr_shape_add(&good, 1, 0, 0.5);
    assert_true(fr_shape_is_sound(&good));
#define BREAKS(change)                                                                             \
    s = good;                                                                                      \
    change;                                                                                        \
    assert_false(fr_shape_is_sound(&s))
    BREAKS(s.n = 0);
    BREAKS(s.n = FR_TREE_MAX + 1);
    BREAKS(s.node[0].parent = 0);
    BREAKS(s.node[0].prob = 0.5);
    BREAKS(s.node[1].parent = 1);
    BREAKS(s.node[1].parent = -1);
    BREAKS(s.node[1].parent = 3);
    BREAKS(s.node[3].depth = 1);
    BREAKS(s.node[2].rank = 0);
    BREAKS(s.node[3].prob = 0.6);
    BREAKS(s.node[2].prob = -0.1);
    BREAKS(s.node[2].prob = 0.0 / 0.0);
#undef BREAKS
    fr_shape_begin(&s); // a chain as long as may be, and no longer
    for (int i = 0; i < FR_TREE_MAX_DEPTH; i++)
        assert_int_equal(fr_shape_add(&s, i, 0, 1), i + 1);
    assert_int_equal(fr_shape_add(&s, FR_TREE_MAX_DEPTH, 0, 1), -1);
    assert_true(fr_shape_is_sound(&s));
    s.node[1].depth++;
    assert_false(fr_shape_is_sound(&s));
}

static void children_come_by_rank(void **state) {
    (void)state;
    fr_shape s;
    int16_t child[FR_TREE_MAX];
    dice_begin(2);
    for (int round = 0; round < 100; round++) {
        grow(&s, 60);
        int all = 0;
        for (int i = 0; i < s.n; i++) {
            const int n = fr_shape_children(&s, i, child);
            for (int k = 0; k < n; k++) {
                assert_int_equal(s.node[child[k]].parent, i);
                assert_int_equal(fr_shape_child(&s, i, s.node[child[k]].rank), child[k]);
                if (k) assert_true(s.node[child[k - 1]].rank < s.node[child[k]].rank);
            }
            all += n;
        }
        assert_int_equal(all, s.n - 1); // every node is somebody's child
    }
}

static void read_ok(fr_shape *s, const char *text) {
    fr_error err = {0};
    if (fr_shape_read(s, text, strlen(text), &err)) fail_msg("%s", err.text);
    assert_true(fr_shape_is_sound(s));
}

static void text_says_paths(void **state) {
    (void)state;
    fr_shape s;
    read_ok(&s, "# a tree\n\n 0.0.1\t# and its parents\r\n1\n  0\n");
    assert_int_equal(s.n, 5);
    assert_int_equal(fr_shape_depth(&s), 3);
    const int one = fr_shape_child(&s, 0, 0), two = fr_shape_child(&s, one, 0);
    assert_true(one > 0 && two > 0 && fr_shape_child(&s, two, 1) > 0);
    assert_true(fr_shape_child(&s, 0, 1) > 0);
    assert_true(s.node[two].prob == 1);
    read_ok(&s, "255"); // no newline at the end
    assert_int_equal(s.node[1].rank, 255);
}

static void fails_with(const char *text, size_t n, const char *sentence) {
    fr_shape s;
    fr_error err = {0};
    assert_int_equal(fr_shape_read(&s, text, n, &err), FR_EDATA);
    assert_int_equal(err.code, FR_EDATA);
    assert_string_equal(err.text, sentence);
}

static void broken_text_is_named_by_its_line(void **state) {
    (void)state;
    char longest[2 * FR_TREE_MAX_DEPTH + 2];
    for (size_t i = 0; i < sizeof longest; i++)
        longest[i] = i % 2 ? '.' : '0';
#define FAILS(text, sentence) fails_with(text, sizeof text - 1, sentence)
    FAILS("", "expected paths of ranks such as 0.0.1, found none");
    FAILS("# nothing\n", "expected paths of ranks such as 0.0.1, found none");
    FAILS("0\nx", "line 2: expected a rank, found 'x'");
    FAILS("0\n\n0.", "line 3: expected a rank, found the line's end");
    FAILS("0..1", "line 1: expected a rank, found '.'");
    FAILS("0,1", "line 1: expected '.' or the line's end, found ','");
    FAILS("0 1", "line 1: expected '.' or the line's end, found byte 0x20");
    FAILS("-1", "line 1: expected a rank, found '-'");
    FAILS("0\0001", "line 1: expected '.' or the line's end, found byte 0x00");
    FAILS("0.\xff", "line 1: expected a rank, found byte 0xff");
    FAILS("0\n0.256\n", "line 2: expected ranks of 0 to 255, found 256");
    FAILS("99999999999999999999", "line 1: expected ranks of 0 to 255, found 999");
    FAILS("0.1\n0\n0.1", "line 3: expected a new path, found one named before");
#undef FAILS
    fails_with(longest, sizeof longest - 1,
               "line 1: expected at most 127 paths of 63 ranks, found more");
}

static void text_round_trips(void **state) {
    (void)state;
    static char text[1 << 15];
    fr_shape s, back;
    dice_begin(3);
    for (int round = 0; round < 100; round++) {
        grow(&s, 2 + dice_below(FR_TREE_MAX - 1));
        const size_t n = write_shape(&s, text, sizeof text);
        assert_int_equal(strlen(text), n);
        read_ok(&back, text);
        assert_int_equal(back.n, s.n);
        for (int i = 0; i < s.n; i++) {
            assert_int_equal(back.node[i].parent, s.node[i].parent);
            assert_int_equal(back.node[i].rank, s.node[i].rank);
        }
    }
}

// Of a tree of two guesses at every node, exactly the shape's paths stay; a second child of the
// same rank does not.
static void what_is_no_path_of_the_shape_is_dropped(void **state) {
    (void)state;
    static const char text[] = "0.1\n1.0.0\n";
    fr_shape s;
    fr_tree t;
    fr_error err;
    assert_int_equal(fr_shape_read(&s, text, sizeof text - 1, &err), FR_OK);
    fr_tree_begin(&t, 9, 64, 3);
    for (int i = 0; i < t.n; i++)
        for (int rank = 0; rank < 2 && t.node[i].depth < 3; rank++) {
            const int c = fr_tree_add(&t, i, 10 * t.node[i].id + rank, 0.5f, 0);
            t.node[c].rank = (uint8_t)rank;
        }
    const int again = fr_tree_add(&t, 0, 5, 0.5f, 1); // of another drafter, rank 0 too
    t.node[again].rank = 0;
    fr_shape_pick(&s, &t);
    assert_int_equal(t.n, 6); // the root, 0, 0.1, 1, 1.0, 1.0.0
    const int a = fr_tree_child(&t, 0, 90), b = fr_tree_child(&t, 0, 91);
    assert_true(a > 0 && b > 0 && fr_tree_child(&t, 0, 5) < 0);
    assert_true(fr_tree_child(&t, a, 901) > 0 && fr_tree_child(&t, a, 900) < 0);
    const int c = fr_tree_child(&t, b, 910);
    assert_true(c > 0 && fr_tree_child(&t, b, 911) < 0 && fr_tree_child(&t, c, 9100) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_path_of_the_shape_is_dropped),
        cmocka_unit_test(built_shapes_keep_the_invariant),
        cmocka_unit_test(the_check_finds_every_broken_rule),
        cmocka_unit_test(children_come_by_rank),
        cmocka_unit_test(text_says_paths),
        cmocka_unit_test(broken_text_is_named_by_its_line),
        cmocka_unit_test(text_round_trips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
