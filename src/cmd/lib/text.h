// text.h — a model file's text side: tokenizer and chat template, without its weights.
//
// Opened from the file alone, so it is quick, or lent by an engine that is open anyway. Close
// accepts a half open one.
#ifndef FR_CMD_LIB_TEXT_H
#define FR_CMD_LIB_TEXT_H
#include "cmd/lib/cmd.h"
#include "engine/engine.h"

typedef struct fr_cmd_text {
    fr_gguf *gguf;
    fr_tokenizer *tokenizer;
    fr_chat_template chat; // set by fr_cmd_text_template
    bool lent;             // the engine's; it must outlive this
} fr_cmd_text;

fr_status fr_cmd_text_open(fr_cmd_text *t, const char *path, fr_error *err);
void fr_cmd_text_lend(fr_cmd_text *t, const fr_engine *engine); // cannot fail
void fr_cmd_text_close(fr_cmd_text *t);

// Opens the chat template: by name (--chat-template), from a file (--chat-template-file), or the one
// in the model's file.
fr_status fr_cmd_text_template(fr_cmd_text *t, const fr_cmd_args *args, fr_error *err);
// --chat-template and --chat-template-file, rows for the tables of commands.
#define FR_CMD_TEMPLATE                                                                            \
    {"chat-template",                                                                              \
     0,                                                                                            \
     FR_OPT_STRING,                                                                                \
     offsetof(fr_cmd_args, chat_template),                                                         \
     "NAME",                                                                                       \
     NULL,                                                                                         \
     "the one in the model file",                                                                  \
     "chat template to use: chatml, gemma, llama3 and others",                                     \
     0,                                                                                            \
     0,                                                                                            \
     NULL},                                                                                        \
    {                                                                                              \
        "chat-template-file", 0, FR_OPT_FILE, offsetof(fr_cmd_args, chat_template_file), "FILE",   \
            NULL, NULL, "a chat template (Jinja) that takes the place of the model's", 0, 0, NULL  \
    }

// Renders the request (its bos, eos and the time are filled in here) into *rendered and appends its
// ids, with `bos` the one that the model wants in front if the template did not write it. Control
// tokens are the template's alone: what messages hold is text.
fr_status fr_cmd_text_chat(const fr_cmd_text *t, fr_chat_request *request, bool bos,
                           fr_chat_text *rendered, fr_ids *ids, fr_error *err);

// The ids of text as it is, special tokens in it read as such if FR_PARSE_SPECIAL is in flags;
// `bos` as above.
fr_status fr_cmd_text_plain(const fr_cmd_text *t, const char *text, size_t bytes, unsigned flags,
                            bool bos, fr_ids *ids, fr_error *err);

// A JSON string of bytes that need not be UTF-8 (bad ones become U+FFFD); NULL without memory.
json_t *fr_cmd_json_text(const char *text, size_t bytes);
json_t *fr_cmd_json_ids(const int32_t *ids, size_t n);
// Ids from a JSON array of whole numbers, appended. FR_EDATA.
fr_status fr_cmd_ids_from_json(fr_ids *ids, const json_t *array, fr_error *err);

#endif
