// talk.h — a conversation in memory: messages that own their text, as the chat template wants them.
#ifndef FR_CMD_LIB_TALK_H
#define FR_CMD_LIB_TALK_H
#include "cmd/lib/text.h"

typedef struct fr_talk { // {0} is empty
    fr_message *messages;
    int n, cap;
    json_t *variables; // of --chat-template-kwargs and --reasoning, for the template; NULL: none
} fr_talk;

// Reads the template's variables from the command line, once. FR_EARG, FR_ENOMEM.
fr_status fr_talk_take_options(fr_talk *t, const fr_cmd_args *args, fr_error *err);
// Adds them to a conversation in JSON, an array of messages or an object, over variables of its own.
// Steals the reference. NULL: no memory. All else, and wrong variables, are returned as they are.
json_t *fr_talk_add_options(const fr_talk *t, json_t *conversation);

// Adds a message; the text is copied, the role must live as long ("user", "assistant", "system").
fr_status fr_talk_add(fr_talk *t, const char *role, const char *text, size_t bytes, fr_error *err);
void fr_talk_drop(fr_talk *t, int n);      // keeps the first n messages
bool fr_talk_has_system(const fr_talk *t); // a system message, which is the first
// Replaces the system message, or adds one; bytes 0: removes it. FR_ENOMEM.
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
