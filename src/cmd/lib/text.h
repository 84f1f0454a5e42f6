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

// Finds the chat template: by name, or the one in the file when name is NULL.
fr_status fr_cmd_text_template(fr_cmd_text *t, const char *name, fr_error *err);

// Renders the request (its bos and eos are filled in here) into *rendered and appends its ids, with
// `bos` the one that the model wants in front if the template did not write it.
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
