// chat.h — a conversation as the text on which a model was trained.
//
// The template is a Jinja program: the one in the model's file, one from a user's file, or a short
// one by name for models without one. Its output has the bytes of Hugging Face's
// apply_chat_template. Templates differ in what they accept: parts of content, arguments as text or
// objects, systems in the middle, several calls. Opening a template finds this out by rendering
// small conversations. Callers, json/messages.h and api/fit.h then pass conversations in the
// accepted form.
//
// Every byte has a mark for its author, template or message (text/marked.h). Strings are borrowed,
// carry their length and may contain NUL.
#ifndef FR_TEXT_CHAT_CHAT_H
#define FR_TEXT_CHAT_CHAT_H
#include "text/chat/thinking.h"
#include "text/jinja/jinja.h"
#include "text/tokenizer.h"

typedef struct fr_chat_str { // borrowed; data NULL: absent
    const char *data;
    size_t bytes;
} fr_chat_str;

typedef struct fr_message { // text only; json/messages.h makes other conversations
    fr_chat_str role, content;
} fr_message;

// Roles whose content a template accepts only as a list of parts.
enum { FR_LIST_SYSTEM = 1, FR_LIST_ASSISTANT = 2, FR_LIST_TOOL = 4 };

// Things that a template refuses, or leaves out of the prompt without an error, though it accepts
// plain turns.
enum {
    FR_LACKS_SYSTEM = 1 << 0,          // a system message at the beginning
    FR_LACKS_SYSTEM_ALONE = 1 << 1,    // ... without a user message after it
    FR_LACKS_SYSTEM_AND_END = 1 << 2,  // ... with a last message that is not the user's
    FR_LACKS_SYSTEMS = 1 << 3,         // several system messages in a row
    FR_LACKS_LATER_SYSTEM = 1 << 4,    // a system message after another role's
    FR_LACKS_USERS = 1 << 5,           // two user messages in a row
    FR_LACKS_ASSISTANTS = 1 << 6,      // two assistant messages in a row
    FR_LACKS_ASSISTANT_FIRST = 1 << 7, // an assistant message before all others
    FR_LACKS_CALLS = 1 << 8,           // a message with a call
    FR_LACKS_RESULTS = 1 << 9,         // a message with a tool's result
    FR_LACKS_USER_AFTER_RESULT = 1 << 10,
    FR_LACKS_SEVERAL_CALLS = 1 << 11,     // in one message
    FR_LACKS_TEXT_BESIDE_CALLS = 1 << 12, // the text must be in a message before the calls
    FR_LACKS_FOREIGN_IDS = 1 << 13,       // ids of calls other than nine letters and digits
    FR_LACKS_MISSING_IDS = 1 << 14,       // calls and results without ids
    FR_LACKS_BARE_TOOLS = 1 << 15,        // tools without a description or parameters
    FR_LACKS_NO_PROPERTIES = 1 << 16,     // tools whose parameters have no properties
    FR_LACKS_EMPTY_ASSISTANT = 1 << 17,   // an assistant message without text
    FR_LACKS_TOOLS = 1 << 18,             // it accepts tools but does not write them
};

typedef struct fr_chat_takes {
    bool text, parts;   // user content as a string; as a list of {"type", "text"}
    bool several_parts; // it writes all parts of a list
    bool text_arguments, object_arguments; // forms of a call's arguments that it writes as JSON
    bool null_content;                     // beside calls it needs null in place of empty text
    bool tools;
    bool no_tools_as_list;       // without tools it needs an empty list
    unsigned lists;              // FR_LIST_*
    unsigned lacks;              // FR_LACKS_*
    unsigned lacks_beside_tools; // FR_LACKS_* when there are tools
} fr_chat_takes;

typedef struct fr_chat_template { // {0}: none
    fr_jinja *program;
    fr_chat_takes takes;
    const fr_thinking_form *thinking;         // its models' marks
    const struct fr_chat_template *for_tools; // borrowed: used with tools; NULL: this one
} fr_chat_template;

// Opens a template from its text, which is copied and need not end in NUL. FR_EUNSUP: text is NULL
// or empty (the model has none); FR_EDATA: an error in the template, with its line; FR_ENOMEM.
fr_status fr_chat_open(fr_chat_template *out, const char *text, size_t bytes, fr_error *err);
// The text of a template by its name ("chatml", "llama3", …; forerun.h has the list). FR_EARG: an
// unknown name; the sentence lists the known ones.
fr_status fr_chat_find_named(const char **text, const char *name, fr_error *err);
// Writes all names, separated by `between`, to `text`; returns it.
const char *fr_chat_names(char *text, size_t room, const char *between);
void fr_chat_close(fr_chat_template *chat); // fine on {0}
// The template that renders conversations with tools, or without.
const fr_chat_template *fr_chat_choose(const fr_chat_template *chat, bool has_tools);

typedef struct fr_chat_request {
    const fr_message *messages; // at least one, or NULL: they are in `values`
    int n_messages;
    fr_jinja_values *values; // NULL, or variables of the template: "messages", "tools", …
    bool has_tools;          // `values` has tools
    bool add_generation_prompt;
    bool no_thinking;      // close thinking that the prompt has begun
    fr_chat_str begun;     // untrusted beginning of the answer; thinking in it continues the
                           // prompt's
    fr_chat_str bos, eos;  // texts of the model's tokens; absent: empty
    uint64_t max_steps;    // limit of the template's work; 0: FR_JINJA_MAX_STEPS
    const fr_watch *watch; // polled for whether the result is still wanted; NULL: it is
    int n_ctx;             // the prompt must have fewer tokens; 0: no limit
    const struct tm *now;  // for templates that print the date; NULL: they use one of their own
} fr_chat_request;

// A rendered conversation; {0} is empty.
typedef struct fr_chat_text {
    fr_marked marked;
    bool has_bos;  // it begins with the request's bos: do not add that token again
    bool thinks;   // it ends within thinking; set by fr_chat_encode
    size_t fewest; // after FR_ECONTEXT: a lower bound of its tokens
} fr_chat_text;
void fr_chat_text_close(fr_chat_text *text); // frees and empties; fine on {0}

// Renders into *out, whose former content is replaced; on failure it is empty. FR_EARG: the
// template refuses the conversation. FR_EUNSUP: tools, which the template does not support.
// FR_EINTR. FR_ENOMEM.
fr_status fr_chat_render(const fr_chat_template *chat, const fr_chat_request *request,
                         fr_chat_text *out, fr_error *err);

// Renders a conversation and appends its ids (ids NULL: only the text is wanted). Every
// conversation is encoded here. This function
// - sets the tokenizer's bos and eos and the present time in the request,
// - closes thinking and begins the answer, if the request has these settings,
// - with `bos`, adds the model's first token unless the template wrote it,
// - reads control tokens where the template wrote them, or with `control` everywhere.
// Errors of fr_chat_render; FR_ECONTEXT: it has more bytes than n_ctx tokens can have; FR_ENOMEM.
fr_status fr_chat_encode(const fr_chat_template *chat, const fr_tokenizer *t,
                         fr_chat_request *request, bool bos, bool control, fr_chat_text *out,
                         fr_ids *ids, fr_error *err);

// *yes: whether the template writes messages of this role, which is not in common use. FR_ENOMEM.
// [probe.c]
fr_status fr_chat_takes_role(const fr_chat_template *chat, const char *role, size_t bytes,
                             bool *yes, fr_error *err);

// The author of a role's name. Names in common use are trusted, so that a template may make a
// control token of them ("<|user|>"); other names are from outside.
fr_mark fr_chat_role_mark(const char *role, size_t bytes);

#endif
