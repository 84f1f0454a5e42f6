// talk.h — a conversation in memory: messages that own their text, as the chat template wants them.
#ifndef FR_CMD_LIB_TALK_H
#define FR_CMD_LIB_TALK_H
#include "cmd/lib/text.h"

typedef struct fr_talk { // {0} is empty
    fr_message *messages;
    int n, cap;
    json_t *variables; // of --chat-template-kwargs and --reasoning, for the template; NULL: none
} fr_talk;

// Reads the template's variables from the command line, before any message or after. FR_EARG.
fr_status fr_talk_take_options(fr_talk *t, const fr_cmd_args *args, fr_error *err);
// Sets them in a JSON conversation, which is the array of messages or an object, in the place of
// its own: the reference is stolen, and what is returned is an object. NULL: no memory.
json_t *fr_talk_add_options(const fr_talk *t, json_t *conversation);

// Adds a message; the text is copied, the role must live as long ("user", "assistant", "system").
fr_status fr_talk_add(fr_talk *t, const char *role, const char *text, size_t bytes, fr_error *err);
void fr_talk_drop(fr_talk *t, int n); // keeps the first n messages
// Sets the system's message, in the place of the one that there is; without text there is none.
bool fr_talk_has_system(const fr_talk *t); // it is the first message
fr_status fr_talk_set_system(fr_talk *t, const char *text, size_t bytes, fr_error *err);
void fr_talk_free(fr_talk *t);

// The ids of the conversation so far, with the assistant's turn opened or not. *ids is replaced.
// FR_EDATA: the template refuses it.
fr_status fr_talk_encode(const fr_talk *t, const fr_cmd_text *text, bool opened, fr_ids *ids,
                         fr_error *err);
// The same of a JSON conversation.
fr_status fr_talk_encode_json(const fr_cmd_text *text, const json_t *conversation, fr_ids *ids,
                              fr_error *err);

#endif
