// chat.h — a conversation as the text a model was trained on.
//
// The template is a Jinja program: the one in the model's file, one from a file of the user's, or a
// short one by name for models that have none. It gives the bytes that Hugging Face's
// apply_chat_template gives. What differs between templates in what they take (parts of content,
// arguments as text or objects, systems in the middle, several calls) is found out once, when a
// template is opened, by rendering small conversations; callers, json/messages.h and api/fit.h then
// hand over what it takes.
//
// Of every byte it is kept whether template or message wrote it (text/marked.h). Strings are
// borrowed, carry their length and may hold NUL.
#ifndef FR_TEXT_CHAT_CHAT_H
#define FR_TEXT_CHAT_CHAT_H
#include "text/jinja/jinja.h"
#include "text/tokenizer.h"

typedef struct fr_chat_str { // borrowed; data NULL: absent
    const char *data;
    size_t bytes;
} fr_chat_str;

typedef struct fr_message { // of text alone; conversations with more are made by json/messages.h
    fr_chat_str role, content;
} fr_message;

// Roles whose content a template takes as a list of parts alone.
enum { FR_LIST_SYSTEM = 1, FR_LIST_ASSISTANT = 2, FR_LIST_TOOL = 4 };

// What a template that takes plain turns refuses, or leaves out of the prompt without an error.
enum {
    FR_LACKS_SYSTEM = 1 << 0,          // a system's message in front
    FR_LACKS_SYSTEM_ALONE = 1 << 1,    // ... without a user's after it
    FR_LACKS_SYSTEM_AND_END = 1 << 2,  // ... where the last message is no user's
    FR_LACKS_SYSTEMS = 1 << 3,         // several in a row
    FR_LACKS_LATER_SYSTEM = 1 << 4,    // after another role's
    FR_LACKS_USERS = 1 << 5,           // two turns of the user's in a row
    FR_LACKS_ASSISTANTS = 1 << 6,      // ... of the assistant's
    FR_LACKS_ASSISTANT_FIRST = 1 << 7, // the assistant's in front of all others
    FR_LACKS_CALLS = 1 << 8,           // a message with a call
    FR_LACKS_RESULTS = 1 << 9,         // ... with what a tool gave
    FR_LACKS_USER_AFTER_RESULT = 1 << 10,
    FR_LACKS_SEVERAL_CALLS = 1 << 11,     // in one message
    FR_LACKS_TEXT_BESIDE_CALLS = 1 << 12, // it takes the text in a message in front of them
    FR_LACKS_FOREIGN_IDS = 1 << 13,       // ids of calls but nine letters and digits
    FR_LACKS_MISSING_IDS = 1 << 14,       // calls and results without ids
    FR_LACKS_BARE_TOOLS = 1 << 15,        // tools without a description or parameters
    FR_LACKS_NO_PROPERTIES = 1 << 16,     // tools whose parameters have no properties
    FR_LACKS_EMPTY_ASSISTANT = 1 << 17,   // a message of the assistant's without text
    FR_LACKS_TOOLS = 1 << 18,             // it takes tools and does not write them
};

typedef struct fr_chat_takes {
    bool text, parts;   // content of the user's as a string; as a list of {"type", "text"}
    bool several_parts; // ... all of which it writes
    bool text_arguments, object_arguments; // of calls, so that they come out as JSON
    bool null_content;                     // beside calls, where empty text is not taken
    bool tools;
    bool no_tools_as_list;       // where there are none, it wants an empty list
    unsigned lists;              // FR_LIST_*
    unsigned lacks;              // FR_LACKS_*
    unsigned lacks_beside_tools; // ... where there are tools
} fr_chat_takes;

typedef struct fr_chat_template { // {0}: none
    fr_jinja *program;
    fr_chat_takes takes;
    const struct fr_chat_template *for_tools; // borrowed: where there are tools; NULL: this one
} fr_chat_template;

// A template's text, which need not end in NUL and is not kept. FR_EUNSUP: text is NULL or empty
// (the model has none); FR_EDATA: what is wrong with it, and in which line; FR_ENOMEM.
fr_status fr_chat_open(fr_chat_template *out, const char *text, size_t bytes, fr_error *err);
// The text of one by its name ("chatml", "llama3", …; forerun.h has the list). FR_EARG for an
// unknown one, naming the known.
fr_status fr_chat_find_named(const char **text, const char *name, fr_error *err);
// Their names with `between` in between, written to `text`, which is returned.
const char *fr_chat_names(char *text, size_t room, const char *between);
void fr_chat_close(fr_chat_template *chat); // fine on {0}
// The one that conversations with tools, or without, are rendered by.
const fr_chat_template *fr_chat_choose(const fr_chat_template *chat, bool has_tools);

typedef struct fr_chat_request {
    const fr_message *messages; // at least one, or NULL: they are in `values`
    int n_messages;
    fr_jinja_values *values; // NULL, or variables that the template finds: "messages", "tools", …
    bool has_tools;          // there are tools among them
    bool add_generation_prompt;
    bool no_thinking;  // thinking that the prompt has begun is closed
    fr_chat_str begun; // prefilled beginning of the answer, after the prompt; untrusted text. One
                       // that begins by thinking goes on with thinking of the prompt
    fr_chat_str bos, eos;  // texts of the model's tokens; absent: empty
    uint64_t max_steps;    // of the template's work; 0: FR_JINJA_MAX_STEPS
    const fr_watch *watch; // asked whether the result is still wanted; NULL: it is
    int n_ctx;             // tokens that the prompt must be fewer than; 0: any number
    const struct tm *now;  // for templates that ask for today; NULL: they take a date of their own
} fr_chat_request;

// A rendered conversation; {0} is empty.
typedef struct fr_chat_text {
    fr_marked marked;
    bool has_bos;  // it begins with the request's bos: do not add that token again
    bool thinks;   // it ends within thinking; of fr_chat_encode
    size_t fewest; // lower bound of the tokens of one that is FR_ECONTEXT
} fr_chat_text;
void fr_chat_text_close(fr_chat_text *text); // frees and empties; fine on {0}

// Renders into *out, whose former content is replaced; on failure it is empty.
// FR_EARG: what the template refuses. FR_EUNSUP: tools, where it knows none. FR_EINTR. FR_ENOMEM.
fr_status fr_chat_render(const fr_chat_template *chat, const fr_chat_request *request,
                         fr_chat_text *out, fr_error *err);

// Renders with the tokenizer's bos and eos and the present time, which are filled in here, closes
// thinking and begins the answer where that is asked for, and appends the ids: the token in front
// that the model wants, if `bos` and unless the template wrote it; control tokens where the template
// wrote them, or (`control`) wherever they stand; ids NULL: the text alone is wanted. Every
// conversation goes through here. Errors of fr_chat_render; FR_ECONTEXT: it has more bytes than n_ctx
// tokens can stand for; FR_ENOMEM.
fr_status fr_chat_encode(const fr_chat_template *chat, const fr_tokenizer *t,
                         fr_chat_request *request, bool bos, bool control, fr_chat_text *out,
                         fr_ids *ids, fr_error *err);

// *yes: whether the template writes messages of a role that is not in common use. FR_ENOMEM.  [probe.c]
fr_status fr_chat_takes_role(const fr_chat_template *chat, const char *role, size_t bytes,
                             bool *yes, fr_error *err);

// Who wrote a role: the names in common use are the application's, so that a template may make a
// control token of one ("<|user|>"); anything else is from outside.
fr_mark fr_chat_role_mark(const char *role, size_t bytes);

#endif
