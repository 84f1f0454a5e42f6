// chat.h — a conversation as the text a model was trained on.
//
// A GGUF file carries its chat template as a Jinja program. It is not interpreted: its family is
// recognised from its text (fr_chat_detect), or named by the user (fr_chat_by_name), and a renderer
// written for that family gives the bytes that Jinja2 gives, the Hugging Face way (trim_blocks,
// lstrip_blocks). What the recogniser is not sure of is refused with a sentence; it never guesses.
//
// An fr_chat_template is a plain value without pointers. Requests borrow all their strings. Strings
// carry their length and may hold NUL. Rendering fails for what the template itself refuses (roles
// that must alternate), for messages without content, for tools where the template has none, and
// for lack of memory.
#ifndef FR_TEXT_CHAT_CHAT_H
#define FR_TEXT_CHAT_CHAT_H
#include "base/buffer.h"

typedef struct fr_chat_str { // borrowed; data NULL: absent (null or missing)
    const char *data;
    size_t bytes;
} fr_chat_str;

// A call the assistant made. The JSON is in the form of the templates' `tojson`: Python's
// json.dumps(ensure_ascii=False), keys in the order given.
typedef struct fr_tool_call {
    fr_chat_str name;
    fr_chat_str arguments;      // JSON
    fr_chat_str function;       // JSON of the whole {"name", "arguments"} object as it was given
    fr_chat_str arguments_text; // the string as it was given, where it was one
    fr_chat_str id;
} fr_tool_call;

typedef struct fr_message {
    fr_chat_str role;      // never absent
    fr_chat_str content;   // absent where an assistant only calls tools
    fr_chat_str reasoning; // "reasoning_content", for templates that know it
    fr_chat_str name, tool_call_id;
    const fr_tool_call *tool_calls;
    int n_tool_calls;
} fr_message;

typedef struct fr_tool_field { // one member of a tool's "function" object
    fr_chat_str key;
    fr_chat_str value; // the string itself, or JSON
    bool is_string;    // which of the two
} fr_tool_field;

typedef struct fr_tool {
    fr_chat_str json; // the whole {"type", "function"} object, `tojson` form
    const fr_tool_field *fields;
    int n_fields;
} fr_tool;

typedef struct fr_chat_request {
    const fr_message *messages; // at least one
    int n_messages;
    const fr_tool *tools;
    int n_tools;
    bool add_generation_prompt;
    fr_chat_str bos, eos; // texts of the model's tokens; absent: empty
    fr_chat_str date;     // "26 Jul 2024", for templates that ask for today; absent: their own
    bool no_thinking;     // enable_thinking=false, for templates that know it
} fr_chat_request;

typedef enum fr_chat_kind {
    FR_CHAT_NONE,    // {0}: no template
    FR_CHAT_TURNS,   // ChatML, Llama-3, Mistral, Gemma, Phi-3, Zephyr: one turn after another
    FR_CHAT_LLAMA2,  // the system message inside the first user turn
    FR_CHAT_LLAMA31, // with tools and dates
    FR_CHAT_MISTRAL, // v3 and on, with tools
    FR_CHAT_QWEN2,   // ChatML with tools
    FR_CHAT_QWEN3,   // and with thinking
} fr_chat_kind;

enum { FR_CHAT_SYSTEM_MAX = 1024 };
typedef struct fr_chat_template {
    fr_chat_kind kind;
    uint32_t variant;                // within the kind; text/chat/family.h
    char system[FR_CHAT_SYSTEM_MAX]; // the template's default system message, "": none
} fr_chat_template;

// The family of a template's text, which need not end in NUL and is not kept.
// FR_EUNSUP: text is NULL or empty (the model has no template), or no known family; the sentence
// names --chat-template and the known names.
fr_status fr_chat_detect(fr_chat_template *out, const char *text, size_t bytes, fr_error *err);

// A family by its name ("chatml", "llama3", …). FR_EARG for an unknown one, naming the known.
fr_status fr_chat_by_name(fr_chat_template *out, const char *name, fr_error *err);

// The names that fr_chat_by_name knows: NULL past the last. The name of a recognised template's
// family is fr_chat_name ("none" for {0}).
const char *fr_chat_name_at(int index);
const char *fr_chat_name(const fr_chat_template *chat);

// A rendered conversation; {0} is empty. Beyond FR_CHAT_TEXT_MAX adding fails with FR_EARG:
// templates can repeat what they are given.
enum { FR_CHAT_TEXT_MAX = 256 << 20 };
typedef struct fr_chat_text {
    fr_buffer text;
    bool has_bos; // the text begins with the request's bos: do not add that token again
} fr_chat_text;
void fr_chat_text_close(fr_chat_text *text); // frees and empties; fine on {0}
fr_status fr_chat_text_add(fr_chat_text *text, const char *data, size_t bytes, fr_error *err);
// As a JSON string in quotes, escaped as Python's json.dumps(ensure_ascii=False) does.
fr_status fr_chat_text_add_json_string(fr_chat_text *text, const char *data, size_t bytes,
                                       fr_error *err);

// Renders into *out, whose former content is replaced; on failure it is empty.
// FR_EARG: what the template refuses. FR_EUNSUP: tools, where it knows none. FR_ENOMEM.
fr_status fr_chat_render(const fr_chat_template *chat, const fr_chat_request *request,
                         fr_chat_text *out, fr_error *err);

#endif
