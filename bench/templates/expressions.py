"""Random expressions over all filters, tests, methods and operators: see judge.py --expressions."""
import random
import re

VARIABLES = {"m": {"content": "Hello <|x|> wörld"}, "l": ["q", "a", 3], "d": {"k": {"z": "y"}, "A": 2}, "s": "some text"}
ATOMS = ["1", "0", "-3", "2.5", "'abc'", "''", "'a,b c'", "'Straße ΟΣ'", "' x\\n y '", "[1,2,3]", "['b','A','c']", "(1,'a')", "{'a':1,'b':[2]}", "none", "true", "false",
         "x", "m.content", "m", "l", "d", "s", "range(4)", "d.items()", "'%s-%s'", "'{}|{}'", "1e10", "'12'", "'1.5'", "l[0]", "d.k.z", "ns", "[]", "{}"]
FILTERS = ["upper", "lower", "trim", "length", "first", "last", "join(',')", "list", "string", "int", "float", "sort", "reverse", "unique", "sum", "min", "max", "abs", "tojson",
           "tojson(indent=2)", "default('z')", "default('z',true)", "capitalize", "title", "replace('a','-')", "indent", "indent(2,true)", "batch(2)", "slice(2)", "map('upper')",
           "map('string')", "select", "reject", "select('string')", "selectattr('a')", "dictsort", "items", "round", "round(1)", "center(9)", "e", "wordcount", "format(1,2)",
           "groupby(0)", "attr('a')", "map(attribute='a')", "map(attribute=0)", "rejectattr('a','none')", "count", "safe"]
TESTS = ["defined", "none", "string", "number", "integer", "float", "boolean", "mapping", "sequence", "iterable", "odd", "even", "in [1,2]", "eq 1", "lower", "upper", "true",
         "false", "undefined", "divisibleby 2", "sameas none", "callable", "gt 1"]
METHODS = [".upper()", ".strip()", ".split()", ".split(',')", ".split('a',1)", ".items()", ".keys()|list", ".get('a')", ".get('q','w')", ".replace('b','')", ".startswith('a')",
           ".endswith('c')", ".format(1,2)", ".title()", ".a", ".b[0]", "[0]", "[-1]", "[1:]", "[::-1]", "[:2]", "['a']", ".count('a')", ".index('b')", ".find('b')",
           ".join(['p','q'])", ".rsplit(' ',1)", ".partition('b')", ".values()|list", ".splitlines()", ".isdigit()", ".zfill(4)", ".q", ".capitalize()", ".rstrip('c')",
           ".lstrip()", ".swapcase()", ".pop", ".copy()"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", ">", "<=", ">=", "in", "not in", "and", "or", "**"]


def expression(rng, depth=0):
    kind = rng.randrange(12) if depth < 4 else 0
    if kind < 3:
        return rng.choice(ATOMS)
    inner = expression(rng, depth + 1)
    if kind < 6:
        return f"({inner})|{rng.choice(FILTERS)}"
    if kind < 8:
        return f"({inner}){rng.choice(METHODS)}"
    if kind < 10:
        return f"({inner}) {rng.choice(OPERATORS)} ({expression(rng, depth + 1)})"
    if kind == 10:
        return f"({inner}) is {rng.choice(['', 'not '])}{rng.choice(TESTS)}"
    return f"({inner} if {expression(rng, depth + 1)} else {expression(rng, depth + 1)})"


def expressions(seed, n):
    return ["{% set ns = namespace(a=1) %}{{ " + expression(random.Random(f"{seed}:{i}")) + " }}" for i in range(n)]


def excused(theirs, ours):
    """What may differ: an iterator that nobody asks for items fails in Jinja2 when it is asked, here when it is made, and
    has an address there; slices of constants are made by the compiler there; integers have 64 bits here."""
    asked = theirs[0] == "text" and any(why in ours[1] for why in ("be iterated over", "no mapping", "beyond 64 bits", "be sliced"))
    return asked or (theirs[0] == "text" and re.search("<.* at 0x[0-9a-f]+>", theirs[1]) is not None)
