// text.h — the text side of a model: what forerun.h has of it is made of these.
#ifndef FR_ENGINE_TEXT_H
#define FR_ENGINE_TEXT_H
#include "gguf/gguf.h"
#include "text/chat/chat.h"
#include "text/tokenizer.h"
#include "json/messages.h"
#include <stdatomic.h>

struct fr_text {
    fr_gguf *gguf;
    fr_tokenizer *tokenizer;
    bool lent;                // the two belong to another object, which outlives this one:
    struct fr_engine *engine; // ... the engine that this is the text of; or NULL
    fr_text *of;              // ... the text that this one was opened with, and keeps open; or NULL
    atomic_int n_keepers;     // the caller, until fr_text_close, and texts opened with this one
    fr_chat_template chat;    // {0}: none that can be used,
    fr_error no_chat;         // ... and why
    char *chat_text;          // a copy, ends with NUL
    // The file's own for conversations with tools, which `chat` points at; {0}: none.
    fr_chat_template tool_chat;
    char *tool_text;
    int32_t *ends;
    fr_text_info info;
};

// Of a file and a tokenizer that are open and outlive it. FR_ENOMEM.
fr_status fr_text_lend(fr_text **out, fr_gguf *gguf, fr_tokenizer *tokenizer, fr_error *err);
// Why there is no chat template that can be used.
fr_status fr_text_check_chat(const fr_text *t, fr_error *err);

// FR_EARG: more ids than an int counts, as forerun.h has it.
fr_status fr_text_check_count(size_t n_ids, fr_error *err);
// Appends ids: those of fr_text_tokenize; FR_EINTR by `watch` (or NULL).
fr_status fr_text_encode(const fr_text *t, const char *text, size_t bytes, unsigned flags,
                         const fr_watch *watch, fr_ids *ids, fr_error *err);
// Whether the prompt ids[n] begins with the beginning-of-text token twice: the model's file adds one,
// and the text has one. *says gets a sentence for a warning, of code FR_OK.
bool fr_text_begins_twice(const fr_text *t, const int32_t *ids, size_t n, fr_error *says);
// Renders the request (its bos, eos and the time are filled in here) into *rendered and appends its
// ids (fr_chat_encode).
fr_status fr_text_render(const fr_text *t, fr_chat_request *request, unsigned flags,
                         fr_chat_text *rendered, fr_ids *ids, fr_error *err);
// The same of JSON that is parsed, and of such text: what fr_text_chat_json takes.
fr_status fr_text_render_json(const fr_text *t, const json_t *json, unsigned flags,
                              fr_chat_text *rendered, fr_ids *ids, fr_error *err);
fr_status fr_text_render_bytes(const fr_text *t, const char *json, size_t bytes, unsigned flags,
                               fr_chat_text *rendered, fr_ids *ids, fr_error *err);

#endif
