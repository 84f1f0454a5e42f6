// fit.h — a conversation in a form that the model's template takes. All APIs' conversations are fitted
// here, so that the same one gives the same prompt through each.
//
// Each step replaces "messages" of the chat request `root`. It changes only what the template would
// refuse or leave out of the prompt (FR_LACKS_*).
#ifndef FR_API_FIT_H
#define FR_API_FIT_H
#include "text/chat/chat.h"
#include "json/value.h"

// Checks messages and tools, and gives the messages one set of names: the role "developer" becomes
// "system", "function" and "function_call" become "tool" and "tool_calls". Leaves out a line that Claude
// Code puts in front of a system's text for gateways. A picture in a result becomes a text that says so,
// if something follows. FR_EARG, by the path in the request; FR_ENOMEM.  [plain.c]
fr_status fr_api_fit_names(json_t *root, const fr_chat_template *chat, fr_error *err);
// After that: the three steps below. FR_ENOMEM.  [messages.c]
fr_status fr_api_fit(json_t *root, const fr_chat_template *chat, fr_error *err);

// ---- its steps, in this order

// Tools, calls and results become text where the template does not know them.  [tools.c]
fr_status fr_api_fit_tools(json_t *root, const fr_chat_takes *takes, fr_error *err);
// Ids of calls; one call in a message; text beside calls in a message of its own.  [fit_calls.c]
fr_status fr_api_fit_calls(json_t *root, const fr_chat_takes *takes, fr_error *err);
// The order of roles: systems after other messages, turns of one role in a row.  [fit_turns.c]
fr_status fr_api_fit_turns(json_t *root, const fr_chat_takes *takes, fr_error *err);

#endif
