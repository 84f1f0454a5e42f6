// text.h — a model file's text side: tokenizer and chat template, without its weights.
//
// Opened from the file alone, so it is quick, or lent by an engine that is open anyway. Close
// accepts a half open one.
#ifndef FR_CMD_LIB_TEXT_H
#define FR_CMD_LIB_TEXT_H
#include "cmd/lib/cmd.h"
#include "engine/engine.h"

typedef struct fr_cmd_text {
    const fr_text *text; // what is used of the following
    fr_text *file, *own; // opened here: the file's; the same with a template of the user's
    fr_gguf *gguf;       // of the text
    fr_tokenizer *tokenizer;
} fr_cmd_text;

fr_status fr_cmd_text_open(fr_cmd_text *t, const char *path, fr_error *err);
void fr_cmd_text_lend(fr_cmd_text *t, const fr_engine *engine); // cannot fail
void fr_cmd_text_close(fr_cmd_text *t);

// Takes the chat template: by name (--chat-template), from a file (--chat-template-file), or the
// one in the model's file; fails where that cannot be used.
fr_status fr_cmd_text_template(fr_cmd_text *t, const fr_cmd_args *args, fr_error *err);
// What is said of --chat-template, and its names as "a|b": the table of templates says which there
// are, once fr_cmd_text_help has looked.
extern char fr_cmd_template_help[], fr_cmd_template_names[];
void fr_cmd_text_help(void);
// --chat-template and --chat-template-file, rows for the tables of commands.
#define FR_CMD_TEMPLATE                                                                            \
    {"chat-template",                                                                              \
     0,                                                                                            \
     FR_OPT_STRING,                                                                                \
     offsetof(fr_cmd_args, chat_template),                                                         \
     "NAME",                                                                                       \
     NULL,                                                                                         \
     "the one in the model file",                                                                  \
     fr_cmd_template_help,                                                                         \
     0,                                                                                            \
     0,                                                                                            \
     fr_cmd_template_names},                                                                       \
    {                                                                                              \
        "chat-template-file", 0, FR_OPT_FILE, offsetof(fr_cmd_args, chat_template_file), "FILE",   \
            NULL, NULL, "file with a chat template (Jinja) to use instead of the model's", 0, 0,   \
            NULL                                                                                   \
    }
// Options of commands that hold one conversation (talk.h): the template's variables, the system message.
#define FR_CMD_CONVERSATION                                                                        \
    {"chat-template-kwargs",                                                                       \
     0,                                                                                            \
     FR_OPT_TEXT,                                                                                  \
     offsetof(fr_cmd_args, chat_template_kwargs),                                                  \
     "JSON",                                                                                       \
     NULL,                                                                                         \
     NULL,                                                                                         \
     "variables of the chat template, such as '{\"enable_thinking\": false}'",                     \
     0,                                                                                            \
     0,                                                                                            \
     NULL},                                                                                        \
        FR_CMD_REASONING("", "'on' passes"), {                                                     \
        "system", 0, FR_OPT_TEXT, offsetof(fr_cmd_args, system), "TEXT", NULL, NULL,               \
            "system message, placed before the conversation", 0, 0, NULL                           \
    }

json_t *fr_cmd_json_ids(const int32_t *ids, size_t n);
// Ids from a JSON array of whole numbers, appended. FR_EDATA.
fr_status fr_cmd_ids_from_json(fr_ids *ids, const json_t *array, fr_error *err);

#endif
