// fit.h — a conversation in a form that the model's template accepts. The conversations of all
// APIs are fitted here, so that the same conversation gives the same prompt through each API.
//
// Each step replaces "messages" of the chat request `root`. It changes only what the template would
// refuse or leave out of the prompt (FR_LACKS_*).
#ifndef FR_API_FIT_H
#define FR_API_FIT_H
#include "text/chat/chat.h"
#include "json/value.h"

// Checks messages and tools, and gives the messages one set of names: the role "developer" becomes
// "system", "function" and "function_call" become "tool" and "tool_calls". Leaves out a line for
// gateways that Claude Code puts before the system's text. A picture in a result is replaced by a
// text that names it, if something follows. FR_EARG, with the path in the request; FR_ENOMEM.
// [plain.c]
fr_status fr_api_fit_names(json_t *root, const fr_chat_template *chat, fr_error *err);
// After fr_api_fit_names: runs the three steps below. FR_ENOMEM.  [messages.c]
fr_status fr_api_fit(json_t *root, const fr_chat_template *chat, fr_error *err);

// ---- its steps, in this order

// Makes text of tools, calls and results that the template does not support.  [tools.c]
fr_status fr_api_fit_tools(json_t *root, const fr_chat_takes *takes, fr_error *err);
// Fits ids of calls; splits messages with several calls; gives text beside calls a message of its
// own.  [fit_calls.c]
fr_status fr_api_fit_calls(json_t *root, const fr_chat_takes *takes, fr_error *err);
// Fits the order of roles: systems after other messages, several turns of one role in a row.
// [fit_turns.c]
fr_status fr_api_fit_turns(json_t *root, const fr_chat_takes *takes, fr_error *err);

#endif
