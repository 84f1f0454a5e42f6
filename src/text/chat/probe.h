// probe.h — finds out what a template accepts. Private to text/chat/.
#ifndef FR_TEXT_CHAT_PROBE_H
#define FR_TEXT_CHAT_PROBE_H
#include "text/chat/chat.h"

// Sets chat->takes by rendering small conversations. The only error is FR_ENOMEM; a form that the
// template refuses counts as not accepted.
fr_status fr_chat_probe(fr_chat_template *chat, fr_error *err);

#endif
