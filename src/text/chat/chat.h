// chat.h — a conversation as the text a model was trained on.
//
// The template is a Jinja program: the one in the model's file, one from a file of the user's, or a
// short one by name for models that have none. It gives the bytes that Hugging Face's
// apply_chat_template gives. What differs between templates in what they take (parts of content,
// arguments as text or objects, null) is found out once, when a template is opened, by rendering
// small conversations; callers and json/messages.h then hand over what it takes.
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

typedef struct fr_chat_takes {
    bool text, parts;                      // content as a string; as a list of {"type", "text"}
    bool text_arguments, object_arguments; // of calls, so that they come out as JSON
    bool null_content;                     // beside calls
    bool tools;
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
    const fr_watch *watch; // whether all this is still wanted; NULL: it is
    int n_ctx;             // tokens that the prompt must be fewer than; 0: any number
    const struct tm *now;  // for templates that ask for today; NULL: they take a date of their own
} fr_chat_request;

// A rendered conversation; {0} is empty.
typedef struct fr_chat_text {
    fr_marked marked;
    bool has_bos;  // it begins with the request's bos: do not add that token again
    bool thinks;   // it ends within thinking; of fr_chat_encode
    size_t fewest; // tokens of one that is FR_ECONTEXT, at least
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

// Who wrote a role: the names in common use are the application's, so that a template may make a
// control token of one ("<|user|>"); anything else is from outside.
fr_mark fr_chat_role_mark(const char *role, size_t bytes);

#endif
