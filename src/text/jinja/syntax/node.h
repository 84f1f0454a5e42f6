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

// Groups of all values, for a switch that serves one of them and has no `default`: `case
// OPS_ARITHMETIC:`. A new value has to be written into its group, and then does not compile where a
// switch lacks it.
// clang-format off
#define OPS_ARITHMETIC                                                                             \
    OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_FLOORDIV: case OP_MOD: case OP_POW
#define OPS_COMPARING                                                                              \
    OP_EQ: case OP_NE: case OP_LT: case OP_LE: case OP_GT: case OP_GE: case OP_IN: case OP_NOT_IN
#define OPS_OTHER                                                                                  \
    OP_NONE: case OP_TILDE: case OP_ASSIGN: case OP_DOT: case OP_COLON: case OP_COMMA:             \
    case OP_PIPE: case OP_SEMICOLON: case OP_LPAREN: case OP_RPAREN: case OP_LBRACKET:             \
    case OP_RBRACKET: case OP_LBRACE: case OP_RBRACE
// clang-format on

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
    N_FOR,          // a: target, b: iterable, c: condition or NULL; list, other; flag: recursive
    N_SET,          // a: target, b
    N_SET_BLOCK,    // a: target, b: filters over N_INPUT or NULL; list
    N_MACRO,        // name; params; list
    N_CALL_BLOCK,   // a: N_CALL or NULL (the generation tag); params; list
    N_FILTER_BLOCK, // a: filters over N_INPUT; list
    N_WITH,         // other: N_SET nodes; list
    N_BLOCK,        // list
    N_BREAK,
    N_CONTINUE,
    N_REFUSE, // name: the error, reported when it is reached
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
    N_FILTER, // the same, for the filter `name`
    N_TEST,
    N_KEYWORD, // name=a
    N_INPUT,   // the input of a block's filters
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

// Groups of all values, as those of op.
// clang-format off
#define NODES_STATEMENTS                                                                           \
    N_DATA: case N_OUTPUT: case N_IF: case N_FOR: case N_SET: case N_SET_BLOCK: case N_MACRO:      \
    case N_CALL_BLOCK: case N_FILTER_BLOCK: case N_WITH: case N_BLOCK: case N_BREAK:               \
    case N_CONTINUE: case N_REFUSE
#define NODES_EXPRESSIONS                                                                          \
    N_CONST: case N_NAME: case N_LIST: case N_TUPLE: case N_DICT: case N_ATTR: case N_ITEM:        \
    case N_SLICE: case N_CALL: case N_FILTER: case N_TEST: case N_INPUT: case N_NOT: case N_AND:   \
    case N_OR: case N_NEG: case N_POS: case N_BINARY: case N_CONCAT: case N_COMPARE: case N_COND
#define NODES_PARTS N_NS_REF: case N_PAIR: case N_KEYWORD: case N_OPERAND: case N_PARAM
// clang-format on

typedef struct node node;
struct node {
    node_kind kind : 8;
    op op : 8;
    bool flag;
    uint8_t uses; // N_MACRO, N_CALL_BLOCK: bits of USES_…
    int line;
    const str *name; // interned: equal names of a template have equal pointers
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
    dict names;                                  // all names in it: str to itself
    const str *loop, *varargs, *kwargs, *caller; // names that statements set
};

// Cuts the text into tokens, T_END last. FR_EDATA, FR_ENOMEM.
fr_status fr_jinja_lex(memory *m, const char *text, size_t bytes, token **out, fr_error *err);

// ---- parsing

typedef struct parser {
    fr_jinja *to;
    const token *at;
    int depth, loops;
    bool soft;    // below an if: unknown filters fail only when they are reached
    uint8_t uses; // USES_… of the enclosing macro
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

enum { MAX_EXPRESSIONS = 150 }; // nested
node *fr_jinja_parse_expression(parser *p, bool with_if);
// Names or expressions separated by commas; `end`: a name that ends them, or NULL.
node *fr_jinja_parse_tuple(parser *p, bool with_if, const char *end);
node *fr_jinja_parse_target(parser *p, bool with_namespace, const char *end);
node *fr_jinja_parse_constant(parser *p);
node *fr_jinja_parse_primary(parser *p, bool with_namespace);
node *fr_jinja_parse_postfix(parser *p, node *n); // .name, [item], (arguments) after n
node *fr_jinja_parse_after(parser *p, node *n);   // filters, tests and calls after that
node *fr_jinja_parse_filters(parser *p, node *input, bool inline_first);
node *fr_jinja_parse_body(parser *p); // the whole template

#endif
