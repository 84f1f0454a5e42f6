// translate.h — translates bodies of other APIs into chat requests: Anthropic's messages and
// OpenAI's responses. Members that these APIs share with chat (temperature, seed, drafter) are
// copied.
#ifndef FR_API_TRANSLATE_H
#define FR_API_TRANSLATE_H
#include "json/value.h"

// Returns a new document, which the caller owns. `body` is an object. NULL: FR_EARG, with a
// sentence that begins with the path of the field in `body`; FR_EINTR by `watch` (or NULL);
// FR_ENOMEM.
typedef json_t *fr_api_translator(const json_t *body, const fr_watch *watch, fr_error *err);

// POST /v1/messages: system, blocks of content (text, thinking, calls and their results),
// stop_sequences, tools with an input_schema or run by the client, tool_choice, thinking.
// [anthropic.c, blocks.c]
fr_api_translator fr_api_from_anthropic;
// POST /v1/responses, except fields that need state on the server: instructions, input as a text or
// as items (messages, reasoning, calls and their results), max_output_tokens, tools, reasoning.
// [responses.c, items.c, response_tools.c]
fr_api_translator fr_api_from_responses;

// The name of a chat request's field in the body that the request was made of.
typedef struct fr_api_own_name {
    const char *chat, *own;
    bool whole; // paths into the field differ there, so errors name the field alone
} fr_api_own_name;
extern const fr_api_own_name fr_api_own_of_anthropic[]; // ended by {0}
extern const fr_api_own_name fr_api_own_of_responses[];
// Replaces the path at the beginning of an error's sentence by the path of the field in `body`.
// names NULL: the names are equal.
void fr_api_name_own(const fr_api_own_name *names, const json_t *body, fr_error *err);

// The tool of that name in the body of a response. *space: the name of its namespace, or NULL.
// Calls of a "custom" tool have the arguments {"input": TEXT}; answers have only this text. NULL:
// there is no such tool.  [response_tools.c]
const json_t *fr_api_response_tool(const json_t *body, const char *name, const json_t **space);

// ---- parts of both, private to src/api; the only error is FR_ENOMEM unless stated  [translate.c]

fr_status fr_api_set(json_t *object, const char *name, json_t *value, fr_error *err); // takes value
fr_status fr_api_append(json_t *list, json_t *value, fr_error *err);                  // takes it
// A new object with the members of `body` that are not in `names` (NULL-terminated). NULL:
// FR_ENOMEM.
json_t *fr_api_copy_but(const json_t *body, const char *const *names, fr_error *err);
// Call it for each item i of a long list. FR_EINTR.
static inline fr_status fr_api_go_on(const fr_watch *watch, size_t i, fr_error *err) {
    enum { ASK = 256 }; // items from one poll to the next
    return i % ASK ? FR_OK : fr_watch_ask(watch, err);
}
// Adds a text to a message's list of parts, or to its thinking. Thinking is a list too, until
// fr_api_join_thinking makes one text of it.
fr_status fr_api_add_part(json_t *message, const json_t *text, fr_error *err);
fr_status fr_api_add_thinking(json_t *message, const json_t *text, fr_error *err);
fr_status fr_api_join_thinking(json_t *messages, fr_error *err);
fr_status fr_api_add_call(json_t *message, const json_t *id, const json_t *name, json_t *arguments,
                          fr_error *err); // takes the arguments
// Adds a function to a list of tools. about and parameters may be NULL; the caller still owns them.
fr_status fr_api_add_tool(json_t *tools, const json_t *name, json_t *about, json_t *parameters,
                          fr_error *err);
// Anthropic's tools that the client runs: whether the type is one of them (bash_DATE,
// text_editor_DATE, memory_DATE), and adding it under a name.  [client_tools.c]
bool fr_api_is_client_tool(const json_t *type);
fr_status fr_api_add_client_tool(json_t *tools, const json_t *type, const json_t *name,
                                 fr_error *err);
// A text in place of a picture or a file in a result. NULL: no memory.
json_t *fr_api_left_out_part(const json_t *part);
// Append Anthropic's messages, or the items of a response, as messages of a chat. FR_EARG,
// FR_EINTR.  [blocks.c, items.c]
fr_status fr_api_read_blocks(const json_t *given, json_t *messages, const fr_watch *watch,
                             fr_error *err);
fr_status fr_api_read_items(const json_t *input, json_t *messages, const fr_watch *watch,
                            fr_error *err);
// Reads the tools of a response's body, and of items that define some. FR_EARG.  [response_tools.c]
fr_status fr_api_read_response_tools(json_t *root, const json_t *body, fr_error *err);
// Sets a variable of the template, unless the body sets it.
fr_status fr_api_set_variable(json_t *root, const char *name, json_t *value, fr_error *err);

#endif
