// talk.h — a conversation in memory: messages that own their text, as the chat template wants them.
#ifndef FR_CMD_LIB_TALK_H
#define FR_CMD_LIB_TALK_H
#include "cmd/lib/text.h"

typedef struct fr_talk { // {0} is empty
    fr_message *messages;
    int n, cap;
} fr_talk;

// Adds a message; the text is copied, the role must live as long ("user", "assistant", "system").
fr_status fr_talk_add(fr_talk *t, const char *role, const char *text, size_t bytes, fr_error *err);
void fr_talk_drop(fr_talk *t, int n); // keeps the first n messages
void fr_talk_free(fr_talk *t);

// The ids of the conversation so far, with the assistant's turn opened or not. *ids is replaced.
// FR_EDATA: the template refuses it.
fr_status fr_talk_encode(const fr_talk *t, const fr_cmd_text *text, bool opened, fr_ids *ids,
                         fr_error *err);

#endif
