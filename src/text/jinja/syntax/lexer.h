// lexer.h — shared by lexer.c and literal.c. Private to text/jinja/.
#ifndef FR_TEXT_JINJA_LEXER_H
#define FR_TEXT_JINJA_LEXER_H
#include "text/jinja/syntax/node.h"

typedef struct lexer {
    memory *mem;
    const char *s;
    size_t n, at;
    int line;
    bool line_starting; // a newline, or nothing, precedes `at`
    token *tokens;
    size_t n_tokens, cap;
    fr_status status;
    fr_error *err;
} lexer;

token *fr_jinja_add_token(lexer *l, token_kind kind); // NULL: no memory; sets status and error
void fr_jinja_lex_fail(lexer *l, fr_status why, const char *what);
// Each takes one token of its kind at l->at, if there is one.
bool fr_jinja_lex_number(lexer *l);
bool fr_jinja_lex_string(lexer *l);

#endif
