// forms.h — the forms in which models write calls of tools. A form is a row of FORMS (forms.c); a
// further one whose kind of body is known needs nothing else. Private to src/api.
#ifndef FR_API_FORMS_H
#define FR_API_FORMS_H
#include <stdbool.h>
#include <stddef.h>

// What may be in the body, which is between the marks.
enum {
    FR_BODY_OBJECTS = 1,     // {"name":..., "arguments":{...}}, one or several
    FR_BODY_LIST = 2,        // a list of these, or of Python's calls
    FR_BODY_NAMED = 4,       // NAME{...} or NAME[CALL_ID]ID[ARGS]{...}
    FR_BODY_HEADED = 8,      // a head that has the name, and {...}
    FR_BODY_PYTHON = 16,     // NAME(KEY=VALUE, ...)
    FR_BODY_BRACES = 32,     // NAME{KEY:VALUE, ...}
    FR_BODY_TAGS = 64,       // NAME, then each argument's key and value between tags
    FR_BODY_ARGUMENTS = 128, // {...}, after a head that is read elsewhere
};

typedef enum fr_form_place { // where a form is looked for
    FR_FORM_ANYWHERE,        // its mark may be anywhere in the content
    FR_FORM_FIRST,           // ... only at its beginning
    FR_FORM_UNMARKED,        // it is chosen in another way (answer.c, harmony.c)
} fr_form_place;

// FR_BODY_TAGS: NAME name_end (key KEY key_end value VALUE value_end)*
typedef struct fr_call_tags {
    const char *name_end; // "": a name ends with a blank or a tag
    const char *key, *key_end;
    const char *value, *value_end; // value_end has its first byte only once
    // Values are on lines of their own: a line break before and after one is no part of it.
    bool lines;
    // Comes in place of key_end before a value that is JSON; all others are strings. NULL: types come
    // from the parameters of the tool.
    const char *json_end;
} fr_call_tags;

typedef struct fr_call_form {
    // The mark before the body; "": none. It begins with < or [, unless the form is only looked for at
    // the beginning. No row's mark (or one around calls) is a beginning of another row's.
    const char *begin;
    const char *end[4];    // marks that end it
    const char *next;      // a mark that ends it and begins the next call
    const char *around[2]; // marks that may be around one call or several; they begin as above
    const char *where;     // looked for only if the chat template contains this; NULL: always
    bool spare;            // ... or its mark, or has marks of no form
    const char *instead;   // a template that contains it makes no calls of JSON alone
    const char *inside[2]; // marks within the body
    const char *suffix;    // FR_BODY_PYTHON: what follows the name
    const char *separator; // FR_BODY_HEADED: after the name, and between a type and the name
    const char *prefix;    // FR_BODY_HEADED: before the name; it has a number, NAME:0
    fr_call_tags tags;
    int body; // FR_BODY_*
    fr_form_place place;
    bool usual;       // looked for unless the template's calls are JSON alone
    bool unsure;      // it has no mark, so that it looks like any other JSON
    bool any_member;  // ... and its objects begin with any member, and need no arguments
    bool at_once;     // the last byte of the body ends the call
    bool apostrophes; // FR_BODY_PYTHON: a ' in a string need not be escaped
} fr_call_form;

// Rows that are chosen without a mark.
extern const fr_call_form fr_form_alone, fr_form_bare, fr_form_harmony;

// Row number i of those that are found by a mark; NULL: there are no more.
const fr_call_form *fr_call_form_at(size_t i);
enum {
    FR_CALL_FORMS = 32,      // at most
    FR_MOST_CALL_HEAD = 512, // bytes of a head in front of arguments
};

// All marks, of thinking (and harmony's) or of calls, in turn. NULL: there are no more. In some
// models they are control tokens, or begin with one.
const char *fr_thinking_mark(size_t i);
const char *fr_call_mark(size_t i);

#endif
