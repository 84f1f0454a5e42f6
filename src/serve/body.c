// body.c — the body of a request, and the memory of the body and the data made from it: limits
// for this exchange, and for all exchanges together.
#include "base/clock.h"
#include "base/heap.h"
#include "serve/exchange.h"
#include <stdio.h>
#include <string.h>

enum { LARGE = 4 << 20 }; // a request that has held so much gives free pages back at its end
// Seconds to wait for memory: for a body that arrives, and in a thread that prepares bodies.
static const double COMING = 2, PREPARING = 0.5;

static void end_sender(void *user) {
    const fr_exchange *x = user;
    fr_connections_end(x->http->connections, x->on);
}

void fr_body_begin(fr_exchange *x) {
    fr_body_memory_enter(x->http->body_memory, &x->share, end_sender, x, fr_seconds());
}

static bool claim(fr_exchange *x, size_t bytes, double seconds) {
    const bool taken = fr_body_share_claim(&x->share, bytes, seconds);
    x->was_large |= x->share.bytes > LARGE;
    return taken;
}

// The capacity doubles, so at most twice the received bytes are held.
static int keep(fr_exchange *x, const char *data, size_t n) {
    fr_error never;
    const size_t had = x->body.cap, room = x->body.n + n + 1;
    const size_t wanted = room <= had ? had : room > 2 * had ? room : 2 * had;
    if (!claim(x, wanted - had, COMING)) return 503;
    if (fr_buffer_reserve(&x->body, wanted - x->body.n - 1, &never)) {
        fr_body_share_give(&x->share, wanted - had);
        return 503;
    }
    const size_t has = x->body.cap; // a little more for the smallest
    if (has > wanted && !claim(x, has - wanted, COMING)) return 503;
    return fr_buffer_add(&x->body, data, n, &never) ? 503 : 0;
}

int fr_body_gather(fr_exchange *x, const char *data, size_t n) {
    int refused = 413;
    fr_body_share_came(&x->share, n, fr_seconds());
    if (x->body.n + n <= x->http->options.body_bytes) refused = keep(x, data, n);
    if (refused) fr_exchange_drop_body(x);
    return refused;
}

void fr_body_arrived(fr_exchange *x) {
    fr_body_share_arrived(&x->share);
}

void fr_body_answered(fr_exchange *x, size_t bytes) {
    fr_exchange_drop_body(x);
    x->passing = 0;
    fr_body_share_answered(&x->share, bytes, fr_seconds());
}

void fr_body_end(fr_exchange *x) {
    fr_buffer_free(&x->body);
    fr_body_share_leave(&x->share);
    if (x->was_large) fr_heap_give_back();
    x->was_large = false;
}

// ---------------------------------------------------------------- for handlers

const fr_buffer *fr_exchange_body(const fr_exchange *x) {
    return &x->body;
}

void fr_exchange_drop_body(fr_exchange *x) {
    const size_t held = x->body.cap;
    fr_buffer_free(&x->body);
    fr_body_share_give(&x->share, held < x->share.bytes ? held : x->share.bytes);
}

fr_status fr_exchange_hold(fr_exchange *x, const char *what, size_t bytes, size_t passing,
                           fr_error *err) {
    const size_t most = fr_body_memory_most(x->http->body_memory, x->share.is_large);
    const size_t held = x->share.bytes;
    if (bytes > most || passing > most - bytes || held > most - bytes - passing) {
        x->refused = 413;
        return fr_fail(err, FR_EARG,
                       "%s: %.0f MB of memory are needed, expected at most %.0f MB of one request "
                       "(--body-memory)",
                       what, 1e-6 * ((double)held + (double)bytes + (double)passing),
                       1e-6 * (double)most);
    }
    if (!claim(x, bytes + passing, PREPARING))
        return fr_fail(err, FR_ENOMEM,
                       "%s: other requests hold the memory (--body-memory); try again", what);
    x->passing += passing;
    return FR_OK;
}

void fr_exchange_settle(fr_exchange *x) {
    fr_body_share_give(&x->share, x->passing);
    x->passing = 0;
}
