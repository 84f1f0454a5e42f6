// prepare.c — what handlers do with bodies, by way of the preparer.
#include "serve/server.h"
#include <math.h>

static bool is_wanted(void *exchange) {
    return fr_exchange_is_wanted(exchange);
}

static bool prepare(const fr_server *s, fr_exchange *x, const fr_preparation *what) {
    fr_error err = {0};
    if (!fr_preparer_run(s->preparer, what, &err)) return true;
    fr_reply_fault(x, &err);
    return false;
}

bool fr_prepare(const fr_server *s, fr_exchange *x, fr_prepare_fn *run, void *user) {
    return prepare(s, x,
                   &(fr_preparation){.run = run,
                                     .user = user,
                                     .bytes = fr_exchange_bytes(x),
                                     .is_wanted = is_wanted,
                                     .asker = x,
                                     .timeout = s->timeout,
                                     .waited = fr_exchange_waited(x)});
}

bool fr_prepare_end(const fr_server *s, fr_exchange *x, fr_prepare_fn *run, void *user) {
    return prepare(s, x,
                   &(fr_preparation){.run = run,
                                     .user = user,
                                     .bytes = fr_exchange_bytes(x),
                                     .is_wanted = is_wanted,
                                     .asker = x,
                                     .ends = true});
}

json_t *fr_read_body(const fr_exchange *x, const fr_watch *watch, fr_error *err) {
    const fr_buffer *body = fr_exchange_body(x);
    json_t *root = fr_json_load_watched(body->data ? body->data : "", body->n, watch, err);
    if (!root || json_is_object(root)) return root;
    json_decref(root);
    fr_fail(err, FR_EARG, "expected a JSON object as the body");
    return NULL;
}

double fr_seconds_left(const fr_server *s, const fr_exchange *x) {
    return s->timeout > 0 ? fmax(s->timeout - fr_exchange_waited(x), 1e-3) : 0;
}
