// fit.h — a conversation in a form that the model's template takes: the one place where all APIs'
// conversations are fitted, so that the same one gives the same prompt through each.
//
// Each replaces "messages" of the chat request `root`, and changes only what the template would refuse
// or leave out of the prompt (FR_LACKS_*): what it takes it gets as it came.
#ifndef FR_API_FIT_H
#define FR_API_FIT_H
#include "text/chat/chat.h"
#include "json/value.h"

// Checks the messages, and brings older and newer names into one: "developer" is "system";
// "function" and "function_call" are "tool" and "tool_calls". A system's line that only tells a
// gateway what to bill is left out; a picture in a result that something follows becomes a text
// that says so. FR_EARG, by the path in the request; FR_ENOMEM.  [plain.c]
fr_status fr_api_fit_names(json_t *root, const fr_chat_template *chat, fr_error *err);
// After that: all that follows here. FR_EARG, FR_ENOMEM.  [messages.c]
fr_status fr_api_fit(json_t *root, const fr_chat_template *chat, fr_error *err);

// ---- its steps, in this order

// Tools, calls and what they gave become text where the template knows them not.  [tools.c]
fr_status fr_api_tell_tools(json_t *root, const fr_chat_takes *takes, fr_error *err);
// Ids of calls; one call a message; text beside calls in a message of its own.  [fit_calls.c]
fr_status fr_api_fit_calls(json_t *root, const fr_chat_takes *takes, fr_error *err);
// Who speaks after whom: systems in the middle, turns of one role in a row.  [fit_turns.c]
fr_status fr_api_fit_turns(json_t *root, const fr_chat_takes *takes, fr_error *err);

#endif
