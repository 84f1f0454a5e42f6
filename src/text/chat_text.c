#include "text/chat_text.h"
#include "base/alloc.h"

void fr_chat_text_close(fr_chat_text *text) {
    fr_free(text->data);
    *text = (fr_chat_text){0};
}

fr_status fr_chat_text_add(fr_chat_text *text, const char *data, size_t bytes, fr_error *err) {
    size_t need;
    if (!fr_add_size(text->bytes, bytes, &need) || !fr_add_size(need, 1, &need))
        return fr_fail(err, FR_ENOMEM, "text: more bytes than memory can hold");
    if (need > FR_CHAT_TEXT_MAX)
        return fr_fail(err, FR_EARG, "text: longer than %d bytes", FR_CHAT_TEXT_MAX);
    if (need > text->capacity) {
        size_t capacity = text->capacity <= SIZE_MAX / 2 ? text->capacity * 2 : need;
        if (capacity < need) capacity = need;
        if (capacity < 256) capacity = 256;
        char *grown = fr_alloc_zero(capacity);
        if (!grown) return fr_fail(err, FR_ENOMEM, "text: %zu bytes", capacity);
        if (text->bytes) memcpy(grown, text->data, text->bytes);
        fr_free(text->data);
        text->data = grown;
        text->capacity = capacity;
    }
    if (bytes) memcpy(text->data + text->bytes, data, bytes);
    text->bytes += bytes;
    text->data[text->bytes] = 0;
    return FR_OK;
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
