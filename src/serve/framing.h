// framing.h — where a request ends. A proxy before this server must find the same end, or what one
// peer sends becomes the beginning of another's request (RFC 9112, sections 2.2, 3.2, 5 and 6).
#ifndef FR_SERVE_FRAMING_H
#define FR_SERVE_FRAMING_H
#include <microhttpd.h>
#include <stdbool.h>

// A request as libmicrohttpd hands it out, all of it in that connection's memory.
typedef struct fr_framing {
    struct MHD_Connection *connection;
    const char *method, *version;
    const char *target;     // as libmicrohttpd has it before it decodes it
    const char *target_end; // its first NUL at that time
    bool target_is_bad;     // it has bytes that no target has: blanks, controls
} fr_framing;

// Looks at a target before libmicrohttpd decodes it.
void fr_framing_target(fr_framing *f, const char *target);

// What is wrong with a request's headers, as a sentence; NULL: nothing. *status: what answers it.
// Refused are bytes that no line of a head has (NUL, CR and other controls), lines that do not end
// with CR and LF, go on in the next, or have blanks before the colon; more than one Host, or none
// in HTTP/1.1; two lengths, a length beside chunks, codings other than chunks, and chunks before
// HTTP/1.1.
const char *fr_framing_fault(const fr_framing *f, int *status);

// Whether the library that reads the body sees its end where every proxy does. Not chunks before
// libmicrohttpd 1.0, which ends their lines at LF alone and their trailer at a NUL: nothing of what
// comes after those may be taken for a request.
bool fr_framing_is_certain(const fr_framing *f);

#endif
