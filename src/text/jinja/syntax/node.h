// node.h — tokens and the tree that a template is compiled to. Private to text/jinja/.
#ifndef FR_TEXT_JINJA_NODE_H
#define FR_TEXT_JINJA_NODE_H
#include "text/jinja/value.h"

typedef enum token_kind {
    T_END,
    T_DATA,
    T_VARIABLE_BEGIN,
    T_VARIABLE_END,
    T_BLOCK_BEGIN,
    T_BLOCK_END,
    T_NAME,
    T_CONSTANT, // a string or a number
    T_OPERATOR,
} token_kind;

typedef enum op {
    OP_NONE,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_FLOORDIV,
    OP_MOD,
    OP_POW,
    OP_TILDE,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_IN,
    OP_NOT_IN,
    OP_ASSIGN,
    OP_DOT,
    OP_COLON,
    OP_COMMA,
    OP_PIPE,
    OP_SEMICOLON,
    OP_LPAREN,
    OP_RPAREN,
    OP_LBRACKET,
    OP_RBRACKET,
    OP_LBRACE,
    OP_RBRACE,
} op;

typedef struct token {
    token_kind kind;
    op op;
    int line;
    str text;       // T_DATA, T_NAME
    value constant; // T_CONSTANT
} token;

typedef enum node_kind {
    // statements
    N_DATA,         // constant
    N_OUTPUT,       // a
    N_IF,           // a; list, other
    N_FOR,          // a: target, b: of what, c: which of them or NULL; list, other; flag: recursive
    N_SET,          // a: target, b
    N_SET_BLOCK,    // a: target, b: filters over N_INPUT or NULL; list
    N_MACRO,        // name; params; list
    N_CALL_BLOCK,   // a: N_CALL or NULL (the generation tag); params; list
    N_FILTER_BLOCK, // a: filters over N_INPUT; list
    N_WITH,         // other: N_SET nodes; list
    N_BLOCK,        // list
    N_BREAK,
    N_CONTINUE,
    N_REFUSE, // name: why, when it is reached
    // expressions
    N_CONST,
    N_NAME,
    N_NS_REF, // a target: name.constant
    N_LIST,   // list
    N_TUPLE,  // list
    N_DICT,   // list: N_PAIR
    N_PAIR,   // a: b
    N_ATTR,   // a.name
    N_ITEM,   // a[b]
    N_SLICE,  // a[b:c:d]
    N_CALL,   // a(list, params as N_KEYWORD, *b, **c)
    N_FILTER, // the same, of filter `name`
    N_TEST,
    N_KEYWORD, // name=a
    N_INPUT,   // what goes into the filters of a block
    N_NOT,
    N_AND,
    N_OR,
    N_NEG,
    N_POS,
    N_BINARY,  // a op b
    N_CONCAT,  // list
    N_COMPARE, // a, list of N_OPERAND
    N_OPERAND, // op a
    N_COND,    // a if b else c (NULL: undefined)
    N_PARAM,   // name, a: default or NULL
} node_kind;

typedef struct node node;
struct node {
    uint8_t kind, op;
    bool flag;
    uint8_t uses; // N_MACRO, N_CALL_BLOCK: bits of USES_…
    int line;
    const str *name; // one pointer for one name, of a template
    value constant;
    const void *found; // the filter or test of that name
    node *a, *b, *c, *d;
    node *list, *other, *params;
    node *next;
};

enum { USES_VARARGS = 1, USES_KWARGS = 2, USES_CALLER = 4 };

struct fr_jinja {
    memory mem;
    node *body;
    dict names;                                  // all that stand in it, of str to themselves
    const str *loop, *varargs, *kwargs, *caller; // names that statements set
};

// Cuts the text into tokens, T_END last. FR_EDATA, FR_ENOMEM.
fr_status fr_jinja_lex(memory *m, const char *text, size_t bytes, token **out, fr_error *err);

// ---- parsing

typedef struct parser {
    fr_jinja *to;
    const token *at;
    int depth, loops;
    bool soft;    // below an if: unknown filters matter only when they are reached
    uint8_t uses; // what the macro around uses
    fr_status status;
    fr_error *err;
} parser;

// The first failure stays; every function returns a node or NULL after one.
node *fr_jinja_parse_failed(parser *p, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
node *fr_jinja_parse_no_memory(parser *p);
node *fr_jinja_new_node(parser *p, node_kind kind, int line);
const str *fr_jinja_intern(parser *p, const char *text, size_t n);

bool fr_jinja_at_name(const parser *p, const char *name);
bool fr_jinja_at_op(const parser *p, op op);
bool fr_jinja_skip_name(parser *p, const char *name);
bool fr_jinja_skip_op(parser *p, op op);
bool fr_jinja_expect_op(parser *p, op op, const char *written);
const str *fr_jinja_expect_name(parser *p);

enum { MAX_EXPRESSIONS = 150 }; // inside one another
node *fr_jinja_parse_expression(parser *p, bool with_if);
// Names or expressions with commas between; `end`: a name that ends it, or NULL.
node *fr_jinja_parse_tuple(parser *p, bool with_if, const char *end);
node *fr_jinja_parse_target(parser *p, bool with_namespace, const char *end);
node *fr_jinja_parse_constant(parser *p);
node *fr_jinja_parse_primary(parser *p, bool with_namespace);
node *fr_jinja_parse_postfix(parser *p, node *n); // .name, [item], (arguments) behind n
node *fr_jinja_parse_after(parser *p, node *n);   // filters, tests and calls behind that
node *fr_jinja_parse_filters(parser *p, node *input, bool inline_first);
node *fr_jinja_parse_body(parser *p); // the whole template

#endif
