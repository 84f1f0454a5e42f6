// framing.h — where a request ends. A proxy before this server must find the same end. Otherwise
// the bytes of one peer become the beginning of another's request (RFC 9112, sections 2.2, 3.2, 5,
// 6).
#ifndef FR_SERVE_FRAMING_H
#define FR_SERVE_FRAMING_H
#include <microhttpd.h>
#include <stdbool.h>

// A request as libmicrohttpd gives it, all of it in the connection's memory.
typedef struct fr_framing {
    struct MHD_Connection *connection;
    const char *method, *version;
    const char *target;     // before libmicrohttpd decodes it
    const char *target_end; // its first NUL at that time
    bool target_is_bad;     // it has bytes that a target must not have: blanks, controls
} fr_framing;

// Records a target before libmicrohttpd decodes it.
void fr_framing_target(fr_framing *f, const char *target);

// Checks a request's headers. Returns a sentence on the first fault and sets *status, the reply's;
// NULL: no fault. Faults are
// - bytes that no header line may have (NUL, CR and other controls),
// - lines that do not end with CR and LF, continue on the next, or have blanks before the colon,
// - more than one Host, or none in HTTP/1.1,
// - two lengths, a length beside chunks, codings other than chunks, chunks before HTTP/1.1.
const char *fr_framing_fault(const fr_framing *f, int *status);

// Whether libmicrohttpd finds the end of the body where every proxy does. False for chunks before
// libmicrohttpd 1.0, which ends their lines at LF alone and their trailer at a NUL: bytes after
// such a body must not be read as a request.
bool fr_framing_is_certain(const fr_framing *f);

#endif
