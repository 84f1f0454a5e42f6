// prompts.c — prompts to tune on where the user gives none: a few of each kind of work, our
// own.
#include "cmd/tune/tune.h"

const char *const fr_tune_prompts[] = {
    "Summarise in two sentences: The harbour of Vellmar was closed for three days after the storm. "
    "Fishing boats stayed at their moorings while divers cleared the entrance of timber that the "
    "river had carried down. The harbour master said that no vessel was damaged, but the ferry to "
    "the islands will not run before Sunday. Islanders were asked to share what they have in "
    "store, and the town council sent two trucks with bread and water over the northern causeway.",
    "Rewrite this politely: You sent the wrong parts again. Nobody answers the phone. Send the "
    "right parts by Friday or give us our money back. The order number is 40817.",
    "Complete the following Python function.\n```python\ndef running_mean(values, width):\n    "
    "\"\"\"Return the means of every window of `width` values.\n    >>> running_mean([1, 2, 3, 4], "
    "2)\n    [1.5, 2.5, 3.5]\n    \"\"\"\n```",
    "Find the bug in this C function and write it correctly:\nint count_words(const char *s) {\n   "
    " "
    "int n = 0, inside = 0;\n    for (; s; s++) {\n        if (*s == ' ') inside = 0;\n        "
    "else "
    "if (!inside) { inside = 1; n++; }\n    }\n    return n;\n}",
    "A baker sells 48 rolls in the morning and half as many in the afternoon. A roll costs 35 "
    "cents "
    "and he pays 12 cents for what goes into one. How much does he earn in a day?",
    "A train leaves at 9:40 and arrives at 13:05. It stands for 25 minutes in all. How long does "
    "it "
    "move?",
    "Explain to a twelve-year-old why the sea is salty but rivers are not.",
    "What are three advantages and three disadvantages of working from home?",
    "Translate into German and then into French: The library opens at nine and closes at six.",
    "Write a short poem about an old lighthouse that is lit again for one night.",
    "List the planets of the solar system from the smallest to the largest, one a line.",
    "Write a JSON object that describes a book with title, author, year and a list of three tags.",
    NULL};
