// tests.c — the tests, which follow `is`.
#include "text/jinja/run.h"

#define TEST(name, yes)                                                                            \
    static value name(run *r, value self, const value *arg, const args *all) {                     \
        (void)r, (void)self, (void)arg, (void)all;                                                 \
        return make_bool(yes);                                                                     \
    }                                                                                              \
    _Static_assert(1, "")

TEST(is_defined, self.kind != J_UNDEFINED);
TEST(is_undefined, self.kind == J_UNDEFINED);
TEST(is_none, self.kind == J_NONE);
TEST(is_boolean, self.kind == J_BOOL);
TEST(is_true, self.kind == J_BOOL && self.as.whole);
TEST(is_false, self.kind == J_BOOL && !self.as.whole);
TEST(is_integer, self.kind == J_INT || self.kind == J_BIG);
TEST(is_float, self.kind == J_FLOAT);
TEST(is_a_number, is_number(self) || self.kind == J_BIG);
TEST(is_string, self.kind == J_STR);
TEST(is_mapping, self.kind == J_DICT);
TEST(is_escaped, self.kind == J_STR && as_str(self)->markup);
TEST(is_iterable, self.kind == J_STR || self.kind == J_SEQ || self.kind == J_DICT ||
                      self.kind == J_UNDEFINED || self.kind == J_LOOP);
TEST(is_sequence, self.kind == J_STR || self.kind == J_DICT || self.kind == J_UNDEFINED ||
                      (self.kind == J_SEQ && as_seq(self)->kind <= SEQ_RANGE));
TEST(is_callable, self.kind == J_FUNCTION || self.kind == J_METHOD || self.kind == J_MACRO ||
                      self.kind == J_LOOP || self.kind == J_JOINER || self.kind == J_UNDEFINED);
TEST(is_a_filter, self.kind == J_STR && fr_jinja_filter_named(as_str(self)));
TEST(is_a_test, self.kind == J_STR && fr_jinja_test_named(as_str(self)));
TEST(is_eq, fr_jinja_compares(r, OP_EQ, self, arg[0]));
TEST(is_ne, fr_jinja_compares(r, OP_NE, self, arg[0]));
TEST(is_lt, fr_jinja_compares(r, OP_LT, self, arg[0]));
TEST(is_le, fr_jinja_compares(r, OP_LE, self, arg[0]));
TEST(is_gt, fr_jinja_compares(r, OP_GT, self, arg[0]));
TEST(is_ge, fr_jinja_compares(r, OP_GE, self, arg[0]));
TEST(is_in, fr_jinja_compares(r, OP_IN, self, arg[0]));

// One object: of numbers and strings, which are values here, equal ones of one kind.
TEST(is_sameas, self.kind == arg[0].kind && (self.kind <= J_STR ? fr_jinja_same(r, self, arg[0])
                                                                : self.as.ref == arg[0].as.ref));

static bool remainder_is(run *r, value x, value by, int64_t rest) {
    const value m = fr_jinja_binary(r, OP_MOD, x, by);
    return !r->status && fr_jinja_same(r, m, make_int(rest));
}

TEST(is_odd, remainder_is(r, self, make_int(2), 1));
TEST(is_even, remainder_is(r, self, make_int(2), 0));
TEST(is_divisibleby, remainder_is(r, self, arg[0], 0));

// There are letters, and all that have a case have this one.
static bool has_case(run *r, value self, int wanted, int other) {
    const str s = fr_jinja_to_str(r, self);
    bool any = false;
    uint32_t code;
    for (size_t at = 0; at < s.n;) {
        at += fr_jinja_char_read(s.data + at, s.n - at, &code);
        const int bits = code == UINT32_MAX ? 0 : fr_jinja_char_properties(code);
        if (bits & other) return false;
        any = any || bits & wanted;
    }
    return any;
}

TEST(is_lower, has_case(r, self, CHAR_LOWER, CHAR_UPPER));
TEST(is_upper, has_case(r, self, CHAR_UPPER, CHAR_LOWER));

const function fr_jinja_tests[] = {
    {"defined", is_defined, ""},
    {"undefined", is_undefined, ""},
    {"none", is_none, ""},
    {"boolean", is_boolean, ""},
    {"true", is_true, ""},
    {"false", is_false, ""},
    {"integer", is_integer, ""},
    {"float", is_float, ""},
    {"number", is_a_number, ""},
    {"string", is_string, ""},
    {"mapping", is_mapping, ""},
    {"iterable", is_iterable, ""},
    {"sequence", is_sequence, ""},
    {"callable", is_callable, ""},
    {"escaped", is_escaped, ""},
    {"filter", is_a_filter, ""},
    {"test", is_a_test, ""},
    {"sameas", is_sameas, "other"},
    {"in", is_in, "seq"},
    {"eq", is_eq, "other"},
    {"==", is_eq, "other"},
    {"equalto", is_eq, "other"},
    {"ne", is_ne, "other"},
    {"!=", is_ne, "other"},
    {"lt", is_lt, "other"},
    {"<", is_lt, "other"},
    {"lessthan", is_lt, "other"},
    {"le", is_le, "other"},
    {"<=", is_le, "other"},
    {"gt", is_gt, "other"},
    {">", is_gt, "other"},
    {"greaterthan", is_gt, "other"},
    {"ge", is_ge, "other"},
    {">=", is_ge, "other"},
    {"odd", is_odd, ""},
    {"even", is_even, ""},
    {"divisibleby", is_divisibleby, "num"},
    {"lower", is_lower, ""},
    {"upper", is_upper, ""},
    {NULL, NULL, NULL},
};
