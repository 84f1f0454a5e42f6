// server_world.h — a server over HTTP on a tiny model, and a client that asks it.
#ifndef FR_TESTS_SERVE_SERVER_WORLD_H
#define FR_TESTS_SERVE_SERVER_WORLD_H
#include "engine/engine.h"
#include "engine/text.h"
#include "serve/server.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CTX = 256, MOST_BODY = 4096 }; // tokens of a context, bytes of a body

extern fr_engine *engine;
extern fr_text *text; // with the template chatml
extern fr_server server;
extern const char *const drafters[]; // prompt-lookup, none
extern char reply[];                 // the last exchange's: head and body
extern atomic_int n_logged;          // of paths that begin with ESC or 0xff; others are not logged

int open_world(void **state); // two slots, eight requests may wait, one key
int close_world(void **state);
// Until so many requests are at work or wait: at most a minute.
void wait_for(int n);

// ---- a client
int dial(void); // a connection that has said nothing
// Sends bytes, reads to the end; the status.
int exchange(const char *bytes, size_t n);
// A POST with the key, in two halves: the connection; the status, when all of the reply is there.
int start(const char *target, const char *body);
int finish(int connection);
int ask_with(const char *method, const char *target, const char *headers, const char *body);
int ask(const char *method, const char *target, const char *body); // with the key
json_t *document(void);                                            // the reply's body
json_t *answer(const char *target, const char *body);              // of a POST, whose status is 200
void expect_error(const char *target, const char *body, int status, const char *type,
                  const char *says);

// ---- what came
const char *text_at(const json_t *root, const char *member); // of the first choice
// The next event of the reply behind *at; NULL: there is none.
json_t *next_event(char **at);
// All pieces of a stream's first choice, end to end.
void streamed_text(char *out, size_t room, bool chat);
// All values of a member of the events of one type, end to end; how many events there were.
int of_events(const char *type, const char *inner, const char *member, char *out, size_t room);

// ---- what is asked
#define SETTINGS "\"max_tokens\":24,\"temperature\":0.9,\"seed\":5,\"ignore_eos\":true"
#define CHAT     "{\"messages\":[{\"role\":\"user\",\"content\":\"abc abc abc\"}]," SETTINGS
#define TEXT     "{\"prompt\":\"abc abc abc\"," SETTINGS
// The text of plain decoding alone for what the body asks.
void alone(char *out, size_t room, fr_api_kind kind, const char *body);

#endif
