// test_dict.c — dicts keep their order and their speed whatever their keys are, and what is rendered
// does not depend on how they are hashed.
#include "rendered.h"
#include "text/jinja/value.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEYS = 4096, KEY = 8, RUNS = 3 };

// ---------------------------------------------------------------- order

static const char many[] = "{\"d\": {\"zeta\": 1, \"alpha\": 2, \"m\": 3, \"b\": 4, \"y\": 5, "
                           "\"c\": 6, \"x\": 7, \"q\": 8,"
                           " \"e\": 9, \"f\": 10, \"zeta\": 11}}";
static const char writes_all[] = "{{ d }}{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}{{ "
                                 "d|tojson }}{{ d|list|unique|list }}"
                                 "{{ d.values()|list|unique|list }}{{ d.items()|groupby(1) }}{{ "
                                 "{1: 2, 1.5: 3, (1, 2): 4, none: 5} }}";

// A process of its own draws a key of its own. What it has rendered.
static size_t rendered_elsewhere(char *text, size_t room) {
    int ends[2];
    size_t n = 0;
    ssize_t got;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (!child) {
        fr_marked out = {0};
        fr_error err = {0};
        if (render_text(writes_all, many, &out, &err)) _exit(1);
        const ssize_t written = write(ends[1], out.text.data, out.text.n);
        _exit(written != (ssize_t)out.text.n);
    }
    close(ends[1]);
    while (n < room && (got = read(ends[0], text + n, room - n)) > 0)
        n += (size_t)got;
    close(ends[0]);
    int status = 1;
    assert_true(waitpid(child, &status, 0) == child && !status);
    return n;
}

static void no_process_renders_otherwise(void **state) {
    (void)state;
    static char first[4096], other[4096];
    const size_t n = rendered_elsewhere(first, sizeof first);
    static const char order[] = "{'zeta': 11, 'alpha': 2, 'm': 3, 'b': 4, 'y': 5, 'c': 6, 'x': 7, ";
    assert_true(n > sizeof order && !memcmp(first, order, sizeof order - 1));
    for (int i = 1; i < RUNS; i++) {
        assert_int_equal(rendered_elsewhere(other, sizeof other), n);
        assert_memory_equal(first, other, n);
    }
}

// ---------------------------------------------------------------- speed

// Slots that are looked at to find every key once.
static size_t looks(const dict *d) {
    size_t sum = 0;
    for (size_t i = 0; i < d->n; i++)
        for (size_t at = d->entry[i].hash & d->mask;; at = (at + 1) & d->mask) {
            sum++;
            if (d->slots[at] == i + 1) break;
        }
    return sum;
}

// A hash that is the same in every process, whose low bits of chosen keys can be made alike.
static uint64_t known_hash(const char *s, size_t n) {
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ (unsigned char)s[i]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    return h;
}

static void chosen_keys_cost_what_others_do(void **state) {
    (void)state;
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    fr_jinja_values *v;
    assert_int_equal(fr_jinja_values_open(&v, NULL), FR_OK);
    const fr_jinja_value d = fr_jinja_dict(v);
    for (uint64_t i = 0; as_dict(d)->n < KEYS; i++) {
        char key[KEY] = {0};
        for (int k = 0; k < KEY; k++)
            key[k] = letters[i >> (6 * k) & 63];
        if ((known_hash(key, KEY) & (2 * KEYS - 1)) < 64) fr_jinja_put(v, d, key, KEY, make_int(0));
    }
    assert_true(looks(as_dict(d)) < 4 * KEYS); // 1.5 on average where half of the slots are taken
    fr_jinja_values_close(v);
}

static value tuple_of(memory *m, const int64_t *item, size_t n) {
    seq *s = fr_jinja_take(m, sizeof *s);
    s->kind = SEQ_TUPLE;
    for (size_t i = 0; i < n; i++)
        assert_true(fr_jinja_seq_add(m, s, make_int(item[i])));
    return make_ref(J_SEQ, s);
}

// All of a tuple counts, not its beginning alone.
static void tuples_are_told_apart(void **state) {
    (void)state;
    fr_jinja_values *v;
    assert_int_equal(fr_jinja_values_open(&v, NULL), FR_OK);
    const fr_jinja_value d = fr_jinja_dict(v);
    int64_t item[20] = {0};
    for (int64_t i = 0; i < KEYS; i++) {
        item[19] = i;
        assert_true(
            fr_jinja_dict_put(&v->mem, as_dict(d), tuple_of(&v->mem, item, 20), make_int(i)));
    }
    assert_int_equal(as_dict(d)->n, KEYS);
    assert_true(looks(as_dict(d)) < 4 * KEYS);
    item[19] = 77;
    assert_int_equal(fr_jinja_dict_find(as_dict(d), tuple_of(&v->mem, item, 20))->as.whole, 77);
    fr_jinja_values_close(v);
}

// ---------------------------------------------------------------- bounds

static void making_values_counts_as_work(void **state) {
    (void)state;
    fr_jinja *t;
    fr_jinja_values *v;
    fr_marked out = {0};
    fr_error err = {0};
    assert_int_equal(fr_jinja_open(&t, "x", 1, &err), FR_OK);
    assert_int_equal(fr_jinja_values_open(&v, &err), FR_OK);
    const fr_jinja_value list = fr_jinja_list(v), d = fr_jinja_dict(v);
    for (int i = 0; i < 1000; i++) {
        fr_jinja_append(v, list, fr_jinja_int(i));
        fr_jinja_put(v, d, "key", 3, list);
    }
    fr_jinja_set(v, "d", d);
    const fr_jinja_options few = {.max_steps = 1000}, enough = {.max_steps = 10000};
    assert_int_equal(fr_jinja_render(t, v, &few, &out, &err), FR_EARG);
    assert_non_null(strstr(err.text, "1000 steps"));
    assert_int_equal(fr_jinja_render(t, v, &enough, &out, &err), FR_OK);
    fr_marked_free(&out);
    fr_jinja_values_close(v);
    fr_jinja_close(t);
}

// What is larger than values may be is no lack of memory.
static void values_that_are_too_large_are_refused(void **state) {
    (void)state;
    fr_jinja *t;
    fr_jinja_values *v;
    fr_marked out = {0};
    fr_error err = {0};
    char *text = calloc(1, FR_JINJA_MAX_MEMORY);
    assert_non_null(text);
    assert_int_equal(fr_jinja_open(&t, "x", 1, &err), FR_OK);
    assert_int_equal(fr_jinja_values_open(&v, &err), FR_OK);
    fr_jinja_set(v, "a", fr_jinja_string(v, text, FR_JINJA_MAX_MEMORY, FR_MARK_MESSAGE));
    assert_int_equal(fr_jinja_render(t, v, &(fr_jinja_options){0}, &out, &err), FR_EARG);
    assert_non_null(strstr(err.text, "256 MiB"));
    free(text);
    fr_jinja_values_close(v);
    fr_jinja_close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_process_renders_otherwise), // first: nothing here has drawn a key yet
        cmocka_unit_test(chosen_keys_cost_what_others_do),
        cmocka_unit_test(tuples_are_told_apart),
        cmocka_unit_test(making_values_counts_as_work),
        cmocka_unit_test(values_that_are_too_large_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
