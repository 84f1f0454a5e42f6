// prepare.c — what handlers do with bodies, by way of the preparer.
#include "serve/server.h"
#include "json/scan.h"
#include <math.h>

static bool is_wanted(void *exchange) {
    return fr_exchange_is_wanted(exchange);
}

static bool prepare(const fr_server *s, fr_exchange *x, fr_preparation what) {
    fr_error err = {0};
    what.bytes = fr_exchange_bytes(x);
    what.is_wanted = is_wanted;
    what.asker = x;
    if (!fr_preparer_run(s->preparer, &what, &err)) return true;
    fr_reply_fault(x, &err);
    return false;
}

bool fr_prepare(const fr_server *s, fr_exchange *x, fr_prepare_fn *run, void *user) {
    return prepare(
        s, x,
        (fr_preparation){
            .run = run, .user = user, .timeout = s->timeout, .waited = fr_exchange_waited(x)});
}

bool fr_prepare_end(const fr_server *s, fr_exchange *x, fr_prepare_fn *run, void *user) {
    return prepare(s, x, (fr_preparation){.run = run, .user = user, .ends = true});
}

// Parses the body and frees its text. bytes, passing: memory to hold (fr_exchange_hold).
static json_t *read_body(fr_exchange *x, const fr_json_scan *found, size_t bytes, size_t passing,
                         const fr_watch *watch, fr_error *err) {
    const fr_buffer *body = fr_exchange_body(x);
    if (found->depth <= FR_JSON_MAX_NESTING && // else it takes nothing
        fr_exchange_hold(x, "the body", bytes, passing, err))
        return NULL;
    json_t *root = fr_json_load_watched(body->data ? body->data : "", body->n, watch, err);
    if (root && !json_is_object(root)) {
        json_decref(root);
        fr_fail(err, FR_EARG, "expected a JSON object as the body");
        return NULL;
    }
    if (root) fr_exchange_drop_body(x);
    return root;
}

json_t *fr_read_values(fr_exchange *x, const fr_watch *watch, fr_error *err) {
    enum { IDS = 2 * sizeof(int32_t) }; // a list that has grown
    const fr_buffer *body = fr_exchange_body(x);
    const fr_json_scan found = fr_json_look(body->data, body->n, false);
    return read_body(x, &found, IDS * body->n, found.memory, watch, err);
}

// An estimate of a prompt's memory. A template has values of its own, up to its limit. Texts are
// joined, rendered with spare capacity, and become ids.
json_t *fr_read_body(fr_exchange *x, const fr_watch *watch, fr_error *err) {
    enum { COPIES = 8 };
    const fr_buffer *body = fr_exchange_body(x);
    const fr_json_scan found = fr_json_look(body->data, body->n, false);
    const size_t values =
        found.kept < FR_JINJA_MAX_MEMORY ? found.kept : (size_t)FR_JINJA_MAX_MEMORY;
    const size_t lexer = found.memory - found.kept, prompt = values + COPIES * body->n;
    return read_body(x, &found, found.kept, lexer > prompt ? lexer : prompt, watch, err);
}

double fr_seconds_left(const fr_server *s, const fr_exchange *x) {
    return s->timeout > 0 ? fmax(s->timeout - fr_exchange_waited(x), 1e-3) : 0;
}
