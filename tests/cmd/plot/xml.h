// xml.h — whether markup is well formed, as far as this program writes it. Include after cmocka.h.
#ifndef FR_TESTS_CMD_XML_H
#define FR_TESTS_CMD_XML_H
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// Tags nest, attributes are quoted, '&' begins one of the entities: enough for what is written
// here.
static inline void assert_well_formed(const char *s) {
    char open[16][16];
    int depth = 0, elements = 0;
    while (*s) {
        if (*s == '&')
            assert_true(!strncmp(s, "&lt;", 4) || !strncmp(s, "&gt;", 4) ||
                        !strncmp(s, "&amp;", 5) || !strncmp(s, "&quot;", 6));
        if (*s++ != '<') continue;
        const bool closes = *s == '/';
        s += closes;
        const size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789");
        assert_in_range(n, 1, 15);
        char name[16];
        snprintf(name, sizeof name, "%.*s", (int)n, s);
        for (s += n; *s != '>' && *s != '/';) {
            assert_int_equal(*s, ' ');
            s += 1 + strspn(s, " ");
            s += strcspn(s, "=<>\"");
            assert_true(s[0] == '=' && s[1] == '"');
            s += 2;
            s += strcspn(s, "\"<");
            assert_int_equal(*s++, '"');
        }
        if (closes) {
            assert_true(depth > 0);
            assert_string_equal(open[--depth], name);
        } else if (*s == '/') {
            s++;
            elements++;
        } else {
            assert_in_range(depth, 0, 15);
            strcpy(open[depth++], name);
            elements++;
        }
        assert_int_equal(*s++, '>');
    }
    assert_int_equal(depth, 0);
    assert_true(elements > 10);
}

#endif
