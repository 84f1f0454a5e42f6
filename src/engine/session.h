// session.h — what a session is made of. Private to the engine, its tests and the lab.
#ifndef FR_ENGINE_SESSION_H
#define FR_ENGINE_SESSION_H
#include "decode/group.h"
#include "draft/kit/draft_batch.h"
#include "draft/shared/config.h"
#include "engine/engine.h"
#include "text/stop.h"
#include "text/stream.h"
#include <stdatomic.h>

// One generation: tokens become bytes, bytes pass the stop strings, and the rest becomes whole
// UTF-8 for the stream and the session's result.
typedef struct fr_generation {
    fr_session *s;
    bool begun; // else no generation is at work, and the rest is 0
    fr_request request;
    fr_sampling sampling;
    fr_logit_bias *bias; // its own, where ends must not come
    fr_stop *stop;
    fr_stream utf8;
    fr_piece piece;
    fr_status status;       // of delivering text, or of the model's numbers,
    fr_error err;           // ... and its sentence
    bool over;              // no step is left
    double started;         // the current step
    int before;             // tokens given before it
    bool known;             // those that are given are of a known answer (fr_session_begin_again)
    int n_scored;           // tokens of the prompt that have scores, where those are wanted
    bool read;              // it read a part of the text
    double seconds;         // of the steps so far, without those that read the prompt
    char *filtered, *clean; // room for one piece at either stage
} fr_generation;

// Calls at work that may call the user's `stream`. What `stream` calls is refused (FR_EARG). A
// session that it closes is freed when the outermost call ends.
typedef struct fr_at_work {
    bool inside; // such a call is at work
    int holds;   // calls at work that consist of several such, and need the session to their end
    bool closed; // within one of them
} fr_at_work;

struct fr_session {
    fr_engine *engine; // which it keeps open
    fr_group *group;   // NULL: by itself; else it keeps that open
    fr_at_work work;
    fr_decoder decoder;
    fr_drafter *drafter;
    char used[FR_DRAFTER_NAME]; // as fr_stats has it
    const char *reason;         // why this drafter was chosen
    int32_t *tokens;            // [n_ctx + 1] of the last generation
    fr_buffer text;             // of the last generation
    // Open once a request wanted logprobs:
    fr_logprobs *scores, *logprobs;  // [FR_TREE_MAX_DEPTH + 1] of a step; [n_ctx + 1] of all,
    const fr_logprobs **logprobs_at; // ... and the place of each
    fr_generation run;
    bool paused;           // takes no part in its group's steps
    atomic_bool cancelled; // by any thread; since begin
    fr_result result;      // of the last generation, or the one at work
    fr_stats stats;        // of it
};

struct fr_group {
    fr_engine *engine; // which it keeps open
    int n_keepers;     // its sessions, and the caller until fr_group_close
    bool at_work;      // within a step
    fr_decoder_group *decoders;
    fr_draft_batches batches; // of its sessions' drafters
    int n_ctx;                // most of a member
    fr_session *session[FR_GROUP_MEMBERS];
    int n_sessions;
    fr_group_pass last;
};

// Copies the request into g, in this library's version of the struct, and checks it. FR_EARG,
// FR_ECONTEXT, FR_ENOMEM.
fr_status fr_generation_read(fr_generation *g, const fr_request *request, fr_error *err);
// FR_EARG: one of the n ids is none of the vocabulary, or ids are missing; `what` names the list.
fr_status fr_generation_check_ids(const fr_generation *g, const char *what, const int32_t *ids,
                                  int n, fr_error *err);
bool fr_is_listed(const int32_t *ids, size_t n, int32_t token); // among ids[n]

// A step in parts, so that sessions of a group can take it together. Whether there is one to take:
// then the decoder has a turn.
bool fr_generation_prepare(fr_generation *g);
void fr_generation_settle(fr_generation *g); // after the pass
void fr_generation_close(fr_generation *g);

// FR_EARG: the context is larger than the group's, or the group is another engine's; FR_EUNSUP: the
// group is full.
fr_status fr_group_add(fr_group *group, fr_session *s, int n_ctx, fr_error *err);
void fr_group_remove(fr_group *group, fr_session *s);          // which keeps it open no longer
bool fr_group_has(const fr_group *group, const fr_session *s); // s may be closed
bool fr_group_is_free(const fr_group *group); // no step is at work, nor a call of a session's
// FR_EARG: the call comes from `stream`, within a call of the session, its group or another of
// that.
fr_status fr_session_check_free(const fr_session *s, fr_error *err);

#endif
