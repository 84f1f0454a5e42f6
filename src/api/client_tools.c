// client_tools.c — Anthropic's tools that the client runs. A request has their type alone, since
// their schemas are published. Each is offered as a function.
#include "api/translate.h"
#include "api/value.h"
#include <assert.h>
#include <ctype.h>
#include <string.h>

// clang-format off
#define TEXT(name, about)  "\"" name "\": {\"type\": \"string\", \"description\": \"" about "\"}"
#define WHOLE(name, about) "\"" name "\": {\"type\": \"integer\", \"description\": \"" about "\"}"
#define FLAG(name, about)  "\"" name "\": {\"type\": \"boolean\", \"description\": \"" about "\"}"
#define PROPERTIES "{\"type\": \"object\", \"properties\": {"
#define COMMANDS(list) PROPERTIES "\"command\": {\"type\": \"string\", \"enum\": [" list "]}, "
#define EDITING                                                                                    \
    TEXT("path", "The file or folder.") ", "                                                       \
    "\"view_range\": {\"type\": \"array\", \"items\": {\"type\": \"integer\"}, \"description\": "      \
    "\"Of view: the first and the last line, from 1; -1 is the end.\"}, "                          \
    TEXT("file_text", "Of create: what the file holds.") ", "                                      \
    TEXT("old_str", "Of str_replace: what stands in the file, once.") ", "                         \
    TEXT("new_str", "Of str_replace: what takes its place.") ", "                                  \
    WHOLE("insert_line", "Of insert: the line after which the text goes; 0 is the beginning.") ", " \
    TEXT("insert_text", "Of insert: the text.")

// By the beginning of a type, before its date.
static const struct {
    const char *type, *about, *schema;
} TOOLS[] = {
    {"bash_", "Runs a command in a bash session, which lasts from call to call.",
     PROPERTIES TEXT("command", "The command to run.") ", "
     FLAG("restart", "Begins a new session, without a command.") "}}"},
    {"text_editor_", "Shows, creates and edits text files.",
     COMMANDS("\"view\", \"create\", \"str_replace\", \"insert\"") EDITING
     "}, \"required\": [\"command\", \"path\"]}"},
    {"memory_", "Keeps notes as files under /memories, which last from conversation to conversation.",
     COMMANDS("\"view\", \"create\", \"str_replace\", \"insert\", \"delete\", \"rename\"") EDITING ", "
     TEXT("old_path", "Of rename: the file or folder.") ", "
     TEXT("new_path", "Of rename: its new path.") "}, \"required\": [\"command\"]}"},
};
// clang-format on
enum { N_TOOLS = sizeof TOOLS / sizeof *TOOLS };

// The tool's number; N_TOOLS: none.
static size_t find(const json_t *type) {
    const char *text = fr_api_text(type);
    for (size_t i = 0; i < N_TOOLS && text; i++) {
        const size_t n = strlen(TOOLS[i].type);
        if (!strncmp(text, TOOLS[i].type, n) && isdigit((unsigned char)text[n])) return i;
    }
    return N_TOOLS;
}

bool fr_api_is_client_tool(const json_t *type) {
    return find(type) < N_TOOLS;
}

fr_status fr_api_add_client_tool(json_t *tools, const json_t *type, const json_t *name,
                                 fr_error *err) {
    const size_t i = find(type);
    assert(i < N_TOOLS);
    json_t *about = json_string(TOOLS[i].about),
           *schema = fr_json_load(TOOLS[i].schema, strlen(TOOLS[i].schema), NULL);
    const fr_status st = about && schema ? fr_api_add_tool(tools, name, about, schema, err)
                                         : fr_fail(err, FR_ENOMEM, "no memory for the tools");
    json_decref(about);
    json_decref(schema);
    return st;
}
