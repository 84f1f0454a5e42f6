// connections.h — which connections there are, and who waits for whom on each of them.
//
// A peer that waits for the server has no time limit. A peer that the server waits for must have
// sent its request by a deadline; when there are too many connections, the one that the server has
// waited for longest is closed. So silent, slow and dead connections, however many, cannot keep
// others out. Knows sockets and phases, not HTTP.
#ifndef FR_SERVE_CONNECTIONS_H
#define FR_SERVE_CONNECTIONS_H
#include "base/status.h"

typedef enum fr_connection_phase {
    FR_CONNECTION_NEW,   // has not said the first line of a request
    FR_CONNECTION_SENDS, // a request arrives
    FR_CONNECTION_WAITS, // the peer waits for its answer
    FR_CONNECTION_TAKES, // the peer has to take what is there of it
    FR_CONNECTION_RESTS, // answered; may ask again
    FR_CONNECTION_PHASES
} fr_connection_phase;

typedef struct fr_connections fr_connections;
typedef struct fr_connection fr_connection;

typedef struct fr_connections_options {
    int most;               // connections; beyond that, whom the server waits for makes room
    double request_seconds; // for a request's first line, and as long again for the rest,
    double body_rate;       // ... plus a second for so many bytes that have come, of the first MB
    double more_rate;       // ... and for so many of those after it
    double rest_seconds;    // between an answer and the next request's first line
} fr_connections_options;

// Starts a thread that closes what is late. FR_ENOMEM.
fr_status fr_connections_open(fr_connections **out, const fr_connections_options *o, fr_error *err);
void fr_connections_close(fr_connections *c); // all connections are removed; NULL is fine

// A connection begins, as NEW; another may be told to end. Where nobody makes room this waits for a
// moment, then the new one is told. The socket stays open until it is removed. NULL: no memory; all
// functions take NULL as a connection that nobody watches.
fr_connection *fr_connections_add(fr_connections *c, int fd);
void fr_connections_remove(fr_connections *c, fr_connection *of);

// The phase begins, also where it was the same: that counts as a sign of life.
void fr_connections_enter(fr_connections *c, fr_connection *of, fr_connection_phase phase);
void fr_connections_received(fr_connections *c, fr_connection *of, size_t bytes);
void fr_connections_end(fr_connections *c, fr_connection *of); // soon; it has no answer

// Waits until nobody waits for an answer or takes one, at most so many seconds. Who has taken
// nothing for request_seconds does not count. Whether that is so.
bool fr_connections_at_rest(fr_connections *c, double seconds);

// The invariant in connections.c, for asserts: with its lock held, or while nobody uses it.
bool fr_connections_is_sound(const fr_connections *c);

#endif
