// framing.h — where a request ends. A proxy before this server must find the same end, or what one
// peer sends becomes the beginning of another's request (RFC 9112, sections 5.1 and 6).
#ifndef FR_SERVE_FRAMING_H
#define FR_SERVE_FRAMING_H
#include <microhttpd.h>

// What is wrong with a request's headers, as a sentence; NULL: nothing. *status: what answers it.
// Refused are lengths that are told twice, a length beside chunks, codings other than chunks,
// chunks before HTTP/1.1, and names of headers with what no name has: so "Content-Length : 5", which
// libmicrohttpd takes for another header.
const char *fr_framing_fault(struct MHD_Connection *connection, const char *version, int *status);

#endif
