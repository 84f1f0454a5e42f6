#include "text/chat/text.h"

void fr_chat_text_close(fr_chat_text *text) {
    fr_buffer_free(&text->text);
    *text = (fr_chat_text){0};
}

fr_status fr_chat_text_add(fr_chat_text *text, const char *data, size_t bytes, fr_error *err) {
    if (bytes >= FR_CHAT_TEXT_MAX || text->text.n >= FR_CHAT_TEXT_MAX - bytes)
        return fr_fail(err, FR_EARG, "text: longer than %d bytes", FR_CHAT_TEXT_MAX);
    return fr_buffer_add(&text->text, data, bytes, err);
}

// The escape of a byte in a JSON string, its length in *n; 0: the byte stands for itself.
static int json_escape(unsigned char c, char out[6]) {
    static const char hex[] = "0123456789abcdef", named[] = "\"\\\n\r\t\f\b",
                      letters[] = "\"\\nrtfb";
    const char *at = c ? strchr(named, c) : NULL;
    out[0] = '\\';
    if (at) {
        out[1] = letters[at - named];
        return 2;
    }
    if (c >= 0x20) return 0;
    memcpy(out + 1, "u00", 3);
    out[4] = hex[c >> 4];
    out[5] = hex[c & 15];
    return 6;
}

fr_status fr_chat_text_add_json_string(fr_chat_text *text, const char *data, size_t bytes,
                                       fr_error *err) {
    fr_status st = fr_chat_text_add(text, "\"", 1, err);
    size_t begin = 0;
    for (size_t i = 0; i < bytes && !st; i++) {
        char escape[6];
        const int n = json_escape((unsigned char)data[i], escape);
        if (!n) continue;
        st = fr_chat_text_add(text, data + begin, i - begin, err);
        if (!st) st = fr_chat_text_add(text, escape, (size_t)n, err);
        begin = i + 1;
    }
    if (!st) st = fr_chat_text_add(text, data + begin, bytes - begin, err);
    return st ? st : fr_chat_text_add(text, "\"", 1, err);
}

// Whether these are the UTF-8 bytes of a character for which Python's str.isspace() holds.
static bool is_python_space(const unsigned char *s, size_t n) {
    if (n == 1) return (s[0] >= 9 && s[0] <= 13) || (s[0] >= 0x1c && s[0] <= 0x20);
    if (n == 2) return s[0] == 0xc2 && (s[1] == 0x85 || s[1] == 0xa0);
    if (n != 3) return false;
    const unsigned code = (unsigned)s[0] << 16 | (unsigned)s[1] << 8 | s[2];
    return code == 0xe19a80 || (code >= 0xe28080 && code <= 0xe2808a) || code == 0xe280a8 ||
           code == 0xe280a9 || code == 0xe280af || code == 0xe2819f || code == 0xe38080;
}

fr_chat_str fr_chat_lstrip(fr_chat_str s) {
    for (size_t n = 1; n <= 3 && n <= s.bytes; n++) {
        if (!is_python_space((const unsigned char *)s.data, n)) continue;
        s.data += n;
        s.bytes -= n;
        n = 0; // again from one byte
    }
    return s;
}

fr_chat_str fr_chat_rstrip(fr_chat_str s) {
    for (size_t n = 1; n <= 3 && n <= s.bytes; n++) {
        if (!is_python_space((const unsigned char *)s.data + s.bytes - n, n)) continue;
        s.bytes -= n;
        n = 0;
    }
    return s;
}
