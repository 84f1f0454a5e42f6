// message_check.h — checks of a conversation in the form of the OpenAI API (messages.h). FR_EARG,
// with a sentence that begins with the path of the wrong value. Optional values may be NULL.
#ifndef FR_JSON_MESSAGE_CHECK_H
#define FR_JSON_MESSAGE_CHECK_H
#include "json/value.h"

enum { FR_JSON_MAX_MESSAGES = 1 << 16, FR_JSON_MAX_TOOLS = 1 << 12 };

// Message number `index`: its role, content, calls and texts.
fr_status fr_json_check_message(const json_t *message, size_t index, fr_error *err);
fr_status fr_json_check_messages(const json_t *messages, fr_error *err); // a list of them
fr_status fr_json_check_tools(const json_t *tools, fr_error *err);
fr_status fr_json_check_documents(const json_t *list, const char *path, fr_error *err);

#endif
