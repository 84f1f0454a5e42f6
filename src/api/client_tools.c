// client_tools.c — Anthropic's tools that the client runs: a request names their type alone, their
// schemas are published. Each is offered as a function.
#include "api/translate.h"
#include "api/value.h"
#include <ctype.h>
#include <string.h>

#define TEXT(about)  "{\"type\": \"string\", \"description\": \"" about "\"}"
#define WHOLE(about) "{\"type\": \"integer\", \"description\": \"" about "\"}"
#define COMMAND(list)                                                                              \
    "{\"type\": \"object\", \"properties\": {\"command\": {\"type\": \"string\", \"enum\": [" list \
    "]}, "
#define LINES                                                                                      \
    "{\"type\": \"array\", \"items\": {\"type\": \"integer\"}, \"description\": \"Of view: the "   \
    "first and the last line, from 1; -1 is the end.\"}"
#define EDITING                                                                                    \
    "\"path\": " TEXT("The file or folder.") ", \"view_range\": " LINES ", \"file_text\": " TEXT(  \
        "Of create: what the file "                                                                \
        "holds.") ", "                                                                             \
                  "\"old_str\":"                                                                   \
                  " " TEXT("Of "                                                                   \
                           "str_"                                                                  \
                           "replace"                                                               \
                           ": what "                                                               \
                           "stands "                                                               \
                           "in the "                                                               \
                           "file, "                                                                \
                           "once.") ", \"new_str\": " TEXT("Of "                                   \
                                                           "str_replace:"                          \
                                                           " what takes "                          \
                                                           "its place.") ", "                      \
                                                                         "\"insert_line\":"        \
                                                                         " " WHOLE("Of insert: "   \
                                                                                   "the line "     \
                                                                                   "after which "  \
                                                                                   "the text "     \
                                                                                   "goes; 0 is "   \
                                                                                   "the "          \
                                                                                   "beginning.")

// By what a type begins with, before its date.
static const struct {
    const char *type, *about, *schema;
} TOOLS[] = {
    {"bash_", "Runs a command in a bash session, which lasts from call to call.",
     "{\"type\": \"object\", \"properties\": {\"command\": " TEXT(
         "The command to run.") ", \"restart\": {\"type\": \"boolean\", \"description\": "
                                "\"Begins a new session, without a "
                                "command.\"}}}"},
    {"text_editor_", "Shows, creates and edits text files.",
     COMMAND("\"view\", \"create\", \"str_replace\", \"insert\"") EDITING
     ", \"insert_text\": " TEXT(
         "Of insert: the text.") "}, \"required\": [\"command\", \"path\"]}"},
    {"memory_",
     "Keeps notes as files under /memories, which last from conversation to conversation.",
     COMMAND("\"view\", \"create\", \"str_replace\", \"insert\", \"delete\", \"rename\"") EDITING
     ", \"insert_text\": " TEXT("Of insert: the text.") ", \"old_path\": " TEXT(
         "Of rename: the file or folder.") ", \"new_path\": " TEXT("Of rename: its new "
                                                                   "path.") "}, "
                                                                            "\"required\": "
                                                                            "[\"command\"]"
                                                                            "}"},
};

static bool is_of(const char *type, const char *begin) {
    const size_t n = strlen(begin);
    return !strncmp(type, begin, n) && isdigit((unsigned char)type[n]);
}

fr_status fr_api_add_client_tool(json_t *tools, const json_t *type, const json_t *name, bool *known,
                                 fr_error *err) {
    const char *text = fr_api_text(type);
    *known = false;
    for (size_t i = 0; i < sizeof TOOLS / sizeof *TOOLS && text && !*known; i++) {
        if (!is_of(text, TOOLS[i].type)) continue;
        json_t *about = json_string(TOOLS[i].about),
               *schema = fr_json_load(TOOLS[i].schema, strlen(TOOLS[i].schema), err);
        *known = true;
        const fr_status st = schema ? fr_api_add_tool(tools, name, about, schema, err) : FR_ENOMEM;
        json_decref(about);
        json_decref(schema);
        return st;
    }
    return FR_OK;
}
