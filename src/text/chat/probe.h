// probe.h — finds out what a template takes. Private to text/chat/.
#ifndef FR_TEXT_CHAT_PROBE_H
#define FR_TEXT_CHAT_PROBE_H
#include "text/chat/chat.h"

// Sets chat->takes by rendering small conversations. FR_ENOMEM alone; what is refused is not taken.
fr_status fr_chat_probe(fr_chat_template *chat, fr_error *err);

#endif
