// events.h — the answers of a request as server-sent events, in the form of a dialect.
#ifndef FR_SERVE_EVENTS_H
#define FR_SERVE_EVENTS_H
#include "serve/dialect.h"

typedef struct fr_events fr_events;

// Takes the ask. NULL: no memory, and the caller still owns the ask.
fr_events *fr_events_open(fr_ask *ask, const fr_dialect *dialect);
void fr_events_close(fr_events *e); // cancels running jobs
// Appends the events since the last call. False: there are none. x: for errors.
bool fr_events_look(fr_events *e, const fr_exchange *x, fr_buffer *out);
// Appends a sign of life.
void fr_events_live(fr_events *e, fr_buffer *out);
// Waits for the next events: an fr_stream_next_fn, whose stream is an fr_events.
bool fr_events_next(void *events, fr_exchange *x, fr_buffer *out);

#endif
