// messages.h — JSON conversations in the form of the OpenAI API, for a chat template.
//
//   {"messages":[{"role","content","tool_calls"…}…],"tools":[…],"documents":[{…}…],
//    "add_generation_prompt":true,"enable_thinking":true,"chat_template_kwargs":{…}}
// or the array of messages alone. Content is a string, null, or a list of {"type":"text","text"}
// parts, which are joined by newlines if the template accepts only strings. A call's arguments are
// an object or, as in the API, a string with one; the template gets the form that it can write. An
// empty list of messages is accepted. All other members of messages and tools, and documents, are
// passed to the template unchanged, in their order. enable_thinking and the members of
// chat_template_kwargs are variables. A wrong type, too deep nesting and too many values are errors
// whose sentence begins with the path.
//
// An fr_json_chat owns everything that its request points at; it does not reference the JSON.
#ifndef FR_JSON_MESSAGES_H
#define FR_JSON_MESSAGES_H
#include "text/chat/chat.h"
#include "json/message_check.h"

typedef struct fr_json_chat {
    fr_chat_request request; // add_generation_prompt true where not given; bos, eos, now: caller's
} fr_json_chat;

// *out is overwritten; close it whether or not this succeeds. The request keeps `watch` (or NULL), which
// is borrowed. FR_EARG, FR_EINTR, FR_ENOMEM.
fr_status fr_json_chat_from(fr_json_chat *out, const json_t *root, const fr_chat_takes *takes,
                            const fr_watch *watch, fr_error *err);
// Whether the object has tools: fr_chat_choose chooses by this the template whose `takes` is given here.
bool fr_json_has_tools(const json_t *root);
void fr_json_chat_close(fr_json_chat *chat); // fine on {0}, and twice

#endif
