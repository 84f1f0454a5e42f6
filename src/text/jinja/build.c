// build.c — the builder: values that a program passes to a template.
#include "base/alloc.h"
#include "text/jinja/value.h"

fr_status fr_jinja_values_open(fr_jinja_values **out, fr_error *err) {
    *out = fr_alloc_zero(sizeof **out);
    if (!*out) return fr_fail(err, FR_ENOMEM, "chat template: no memory for its values");
    (*out)->mem.limit = (size_t)FR_JINJA_MAX_MEMORY;
    return FR_OK;
}

void fr_jinja_values_close(fr_jinja_values *v) {
    if (!v) return;
    fr_jinja_memory_close(&v->mem);
    fr_free(v);
}

void fr_jinja_values_watch(fr_jinja_values *v, const fr_watch *watch) {
    v->watch = watch;
}

bool fr_jinja_values_go_on(fr_jinja_values *v) {
    enum { ASK = 1 << 10 }; // values from one question to the next
    if (v->stopped || ++v->built < ASK) return !v->stopped;
    v->built = 0;
    v->stopped = !fr_go_on(v->watch);
    return !v->stopped;
}

fr_jinja_value fr_jinja_none(void) {
    return NONE_VALUE;
}

fr_jinja_value fr_jinja_bool(bool x) {
    return make_bool(x);
}

fr_jinja_value fr_jinja_int(int64_t x) {
    return make_int(x);
}

fr_jinja_value fr_jinja_float(double x) {
    return make_float(x);
}

// Counts steps as fr_jinja_work does. False: they are too many, or something has failed before.
static bool work(fr_jinja_values *v, size_t bytes) {
    v->steps += 1 + bytes / 16;
    if (v->steps > FR_JINJA_MAX_STEPS) v->failed = true;
    return !v->failed;
}

// A value without memory is replaced by none; rendering then fails as a whole.
static value checked(fr_jinja_values *v, value x) {
    if (x.kind != J_MISSING && x.as.ref) return x;
    v->failed = true;
    return NONE_VALUE;
}

fr_jinja_value fr_jinja_string(fr_jinja_values *v, const char *data, size_t n, fr_mark mark) {
    char *copy = work(v, n) ? fr_jinja_take(&v->mem, n + 1) : NULL;
    if (!copy) return checked(v, MISSING);
    if (n) memcpy(copy, data, n);
    return checked(v,
                   fr_jinja_str_value(&v->mem, (str){.data = copy, .n = n, .mark = (uint8_t)mark}));
}

fr_jinja_value fr_jinja_digits(fr_jinja_values *v, const char *digits, size_t n) {
    value x = fr_jinja_string(v, digits, n, FR_MARK_MESSAGE);
    if (x.kind == J_STR) x.kind = J_BIG;
    return x;
}

fr_jinja_value fr_jinja_list(fr_jinja_values *v) {
    return checked(v, make_ref(J_SEQ, work(v, 0) ? fr_jinja_take(&v->mem, sizeof(seq)) : NULL));
}

fr_jinja_value fr_jinja_dict(fr_jinja_values *v) {
    return checked(v, make_ref(J_DICT, work(v, 0) ? fr_jinja_take(&v->mem, sizeof(dict)) : NULL));
}

void fr_jinja_append(fr_jinja_values *v, fr_jinja_value list, fr_jinja_value item) {
    if (!work(v, 0) || list.kind != J_SEQ || !fr_jinja_seq_add(&v->mem, as_seq(list), item))
        v->failed = true;
}

void fr_jinja_put(fr_jinja_values *v, fr_jinja_value to, const char *key, size_t n,
                  fr_jinja_value item) {
    const value k = fr_jinja_string(v, key, n, FR_MARK_MESSAGE);
    if (!work(v, 0) || to.kind != J_DICT || !fr_jinja_dict_put(&v->mem, as_dict(to), k, item))
        v->failed = true;
}

void fr_jinja_set(fr_jinja_values *v, const char *name, fr_jinja_value x) {
    const value key = fr_jinja_string(v, name, strlen(name), FR_MARK_TEMPLATE);
    if (!work(v, 0) || !fr_jinja_dict_put(&v->mem, &v->vars, key, x)) v->failed = true;
}
