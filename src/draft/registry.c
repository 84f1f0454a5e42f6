// registry.c — first the table of all drafters, then those that the program adds.
// Then it opens a SPEC: it shares the options out, opens the parts, the cheapest first, and
// composes them if there are several.
#include "draft/registry.h"
#include "base/alloc.h"
#include "draft/compose.h"
#include "draft/spec.h"
#include <stdio.h>
#include <string.h>

static const fr_drafter_option NO_OPTIONS[] = {{0}};

static fr_status open_none(fr_drafter **out, const char *file, const fr_drafter_config *config,
                           fr_error *err) {
    (void)file;
    *out = NULL;
    if (config->options && *config->options)
        return fr_drafter_read(NULL, "none", NO_OPTIONS, *config->options, err); // refuses it
    *out = fr_drafter_none();
    return FR_OK;
}

const fr_drafter_method fr_none_method = {.name = "none",
                                          .what =
                                              "plain decoding, one token per pass; the reference",
                                          .file = "",
                                          .options = NO_OPTIONS,
                                          .open = open_none};

#define FR_DRAFTER(name) &fr_##name##_method,
#define FR_LEARNER(name) FR_DRAFTER(name)
static const fr_drafter_method *const METHODS[] = {
#include "draft/drafters.def"
};
#undef FR_DRAFTER
#undef FR_LEARNER
enum { N_METHODS = sizeof METHODS / sizeof *METHODS };

static int count_more(void) {
    int n = 0;
    while (fr_drafter_more_methods[n])
        n++;
    return n;
}

const fr_drafter_method *fr_drafter_method_at(int index) {
    if (index < 0 || index >= N_METHODS + count_more()) return NULL;
    return index < N_METHODS ? METHODS[index] : fr_drafter_more_methods[index - N_METHODS];
}

// Methods may share a form, as variants in the lab do: it counts where it has its method's name.
static bool has_form(const fr_drafter_method *m) {
    return m->pack && !strcmp(m->pack->name, m->name);
}

const fr_pack_form *fr_pack_form_at(int index) {
    const fr_drafter_method *m;
    for (int i = 0; (m = fr_drafter_method_at(i)); i++)
        if (has_form(m) && !index--) return m->pack;
    return NULL;
}

int fr_drafter_find(const char *name, size_t bytes) {
    const fr_drafter_method *m;
    for (int i = 0; (m = fr_drafter_method_at(i)); i++)
        if (strlen(m->name) == bytes && !memcmp(name, m->name, bytes)) return i;
    return -1;
}

fr_status fr_drafter_check(const char *spec, fr_error *err) {
    fr_spec parsed;
    return fr_spec_parse(&parsed, spec, err);
}

// ---------------------------------------------------------------- options of several drafters

static bool takes(int drafter, const char *option) {
    for (const fr_drafter_option *o = fr_drafter_method_at(drafter)->options; o->key; o++)
        if (fr_drafter_option_value(o, option)) return true;
    return false;
}

// The options that a part of the SPEC takes, in own[]. What no part takes goes to the first one,
// whose constructor refuses it.
static void own_options(const fr_spec *spec, int part, const char *const *all, const char **own) {
    int n = 0;
    for (int i = 0; all && all[i]; i++) {
        int takers = 0;
        for (int k = 0; k < spec->n; k++)
            takers += takes(spec->part[k].drafter, all[i]);
        if (takes(spec->part[part].drafter, all[i]) || (!takers && part == 0)) own[n++] = all[i];
    }
    own[n] = NULL;
}

// ---------------------------------------------------------------- open

static fr_status open_part(fr_drafter **out, const fr_spec *spec, int i,
                           const fr_drafter_config *config, fr_error *err) {
    size_t n = 1;
    while (config->options && config->options[n - 1])
        n++;
    const char **own = fr_alloc_array(n, sizeof *own);
    if (!own) return fr_fail(err, FR_ENOMEM, "drafter: no memory");
    own_options(spec, i, config->options, own);
    fr_drafter_config part = *config;
    part.options = own;
    part.open_spec = fr_drafter_open;
    part.driver = *spec->part[i].driver ? spec->part[i].driver : NULL;
    fr_drafter_open_fn *open = fr_drafter_method_at(spec->part[i].drafter)->open;
    if (part.driver) open = fr_driven_model_open;
    const fr_status st = open(out, spec->part[i].file, &part, err);
    fr_free(own);
    if (!st && !fr_drafter_is_none(*out)) (*out)->part = (uint8_t)i;
    return st;
}

static int cost_of(const fr_spec *spec, int part) {
    return fr_drafter_method_at(spec->part[part].drafter)->cost;
}

// The parts' numbers, cheap ones first; equal ones stay in the order given.
static void order_by_cost(const fr_spec *spec, int *order) {
    for (int i = 0; i < spec->n; i++) {
        int k = i;
        for (; k > 0 && cost_of(spec, order[k - 1]) > cost_of(spec, i); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

static void name_used(char used[FR_DRAFTER_NAME], const fr_spec *spec) {
    size_t n = 0;
    used[0] = 0;
    for (int i = 0; i < spec->n && n < FR_DRAFTER_NAME - 1; i++) {
        const fr_spec_part *p = &spec->part[i];
        n += (size_t)snprintf(used + n, FR_DRAFTER_NAME - n, "%s%s%s%.*s", i ? "+" : "",
                              fr_drafter_method_at(p->drafter)->name, *p->driver ? "@" : "",
                              (int)strcspn(p->driver, ":"), p->driver);
    }
}

fr_status fr_drafter_open(fr_drafter **out, char used[FR_DRAFTER_NAME], const char *text,
                          const fr_drafter_config *config, fr_error *err) {
    fr_spec spec;
    _Static_assert((int)FR_SPEC_PARTS <= (int)FR_COMPOSE_PARTS,
                   "all parts of a SPEC can be joined");
    fr_drafter *part[FR_SPEC_PARTS] = {NULL};
    int order[FR_SPEC_PARTS], n = 0;
    *out = NULL;
    fr_status st = fr_spec_parse(&spec, text, err);
    if (st) return st;
    name_used(used, &spec);
    order_by_cost(&spec, order);
    while (n < spec.n && !(st = open_part(&part[n], &spec, order[n], config, err)))
        n++;
    if (!st && n == 1) {
        *out = part[0];
        return FR_OK;
    }
    if (!st) st = fr_compose_open(out, part, n, err);
    for (int i = 0; st && i < n; i++)
        fr_drafter_close(part[i]);
    return st;
}
