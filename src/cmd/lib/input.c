// input.c — files, lines and lists of numbers.
#include "cmd/lib/cmd.h"
#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// Room for n more bytes and a NUL.
static fr_status reserve(fr_buffer *b, size_t n, const char *name, fr_error *err) {
    if (n > FR_INPUT_MAX || b->n > FR_INPUT_MAX - n)
        return fr_fail(err, FR_EDATA, "%s: longer than %zu MiB", name, FR_INPUT_MAX >> 20);
    if (!fr_buffer_reserve(b, n, NULL)) return FR_OK;
    return fr_fail(err, FR_ENOMEM, "%s: no memory for %zu bytes", name, b->n + n);
}

// What gzip packed, unpacked; other bytes stay as they are.
static fr_status unpack(fr_buffer *bytes, const char *name, fr_error *err) {
    if (bytes->n < 2 || memcmp(bytes->data, "\x1f\x8b", 2)) return FR_OK;
    z_stream z = {.next_in = (Bytef *)bytes->data, .avail_in = (uInt)bytes->n};
    fr_buffer out = {0};
    fr_status st = FR_OK;
    int said = Z_OK;
    if (inflateInit2(&z, 15 + 16) != Z_OK) return fr_fail(err, FR_ENOMEM, "%s: no memory", name);
    while (!st && said != Z_STREAM_END) {
        if ((st = reserve(&out, 1 << 20, name, err))) break;
        z.next_out = (Bytef *)out.data + out.n;
        z.avail_out = 1 << 20;
        said = inflate(&z, Z_NO_FLUSH);
        out.n += (1 << 20) - z.avail_out;
        if (said == Z_STREAM_END && z.avail_in && inflateReset(&z) == Z_OK)
            said = Z_OK; // files may be packed in pieces, one after the other
        else if (said != Z_OK && said != Z_STREAM_END)
            st = fr_fail(err, FR_EDATA, "%s: its gzip packing is damaged or cut", name);
    }
    inflateEnd(&z);
    if (st) {
        fr_buffer_free(&out);
        return st;
    }
    fr_buffer_free(bytes);
    *bytes = out;
    return FR_OK;
}

// Converts UTF-16, as Windows writes text, to UTF-8. The byte order mark at its beginning
// determines the byte order.
static fr_status from_utf16(fr_buffer *bytes, const char *name, fr_error *err) {
    fr_buffer out = {0};
    char *from = bytes->data;
    size_t left = bytes->n;
    // Two bytes become three at most, and a surrogate pair four.
    fr_status st = reserve(&out, bytes->n / 2 * 3 + 4, name, err);
    const iconv_t set = st ? (iconv_t)-1 : iconv_open("UTF-8", "UTF-16");
    if (!st && set == (iconv_t)-1)
        st = fr_fail(err, FR_EUNSUP, "%s: this system cannot convert UTF-16", name);
    if (st) {
        fr_buffer_free(&out);
        return st;
    }
    char *to = out.data;
    size_t room = out.cap - 1;
    const bool whole = iconv(set, &from, &left, &to, &room) != (size_t)-1 && !left;
    iconv_close(set);
    out.n = (size_t)(to - out.data);
    fr_buffer_free(bytes);
    *bytes = out;
    return whole ? FR_OK
                 : fr_fail(err, FR_EDATA, "%s: begins as UTF-16, but is not valid UTF-16", name);
}

// Drops the byte order mark that editors of Windows put before a text.
static fr_status drop_mark(fr_buffer *bytes, const char *name, fr_error *err) {
    const bool wide = bytes->n >= 2 &&
                      (!memcmp(bytes->data, "\xff\xfe", 2) || !memcmp(bytes->data, "\xfe\xff", 2));
    const size_t mark = fr_cmd_mark(bytes->data, bytes->n);
    if (wide) return from_utf16(bytes, name, err);
    if (!mark) return FR_OK;
    bytes->n -= mark;
    memmove(bytes->data, bytes->data + mark, bytes->n);
    return FR_OK;
}

size_t fr_cmd_mark(const char *text, size_t n) {
    return n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

size_t fr_cmd_without_newline(const char *text, size_t n) {
    if (!n || text[n - 1] != '\n') return n;
    return n - 1 - (n > 1 && text[n - 2] == '\r');
}

fr_status fr_cmd_read_file(fr_buffer *out, const char *path, fr_error *err) {
    const bool standard = !strcmp(path, "-");
    const char *name = standard ? "standard input" : path;
    *out = (fr_buffer){0};
    FILE *f = standard ? stdin : fopen(path, "rb");
    if (!f) return fr_fail(err, FR_EIO, "%s: %s", name, strerror(errno));
    fr_status st = FR_OK;
    for (;;) {
        // One byte more than allowed is read, to detect that there is one.
        const size_t step = out->cap > out->n + 1 ? out->cap - out->n - 1 : 65536;
        if ((st = reserve(out, step, name, err))) break;
        errno = 0;
        const size_t got = fread(out->data + out->n, 1, step, f);
        out->n += got;
        if (fr_cmd_interrupted()) {
            st = fr_fail(err, FR_EINTR, "%s: interrupted", name);
            break;
        }
        if (got == step) continue;
        if (ferror(f)) st = fr_fail(err, FR_EIO, "%s: %s", name, strerror(errno));
        break;
    }
    if (!standard) fclose(f);
    if (!st) st = unpack(out, name, err);
    if (!st) st = drop_mark(out, name, err);
    if (st)
        fr_buffer_free(out);
    else
        out->data[out->n] = 0;
    return st;
}

fr_status fr_cmd_read_line(fr_buffer *line, FILE *in, const char *name, bool *more, fr_error *err) {
    line->n = 0;
    *more = false;
    for (;;) {
        const fr_status st = reserve(line, 1, name, err);
        if (st) return st;
        errno = 0;
        const int c = getc_unlocked(in);
        if (c == EOF) {
            if (fr_cmd_interrupted()) return fr_fail(err, FR_EINTR, "%s: interrupted", name);
            if (ferror(in)) return fr_fail(err, FR_EIO, "%s: %s", name, strerror(errno));
            *more = line->n > 0;
            break;
        }
        *more = true;
        if (c == '\n') break;
        line->data[line->n++] = (char)c;
    }
    line->n -= line->n && line->data[line->n - 1] == '\r';
    line->data[line->n] = 0;
    return FR_OK;
}

fr_status fr_cmd_numbers(const char *text, const char *what, int min, int max, int32_t *out,
                         int room, int *n, fr_error *err) {
    *n = 0;
    for (const char *s = text;;) {
        char *end;
        errno = 0;
        const long x = strtol(s, &end, 10);
        if (end == s || (*end && *end != ',') || errno || x < min || x > max)
            return fr_fail(err, FR_EARG,
                           "%s %.40s: expected whole numbers from %d to %d with "
                           "commas between them",
                           what, s, min, max);
        if (*n == room) return fr_fail(err, FR_EARG, "%s: more than %d numbers", what, room);
        out[(*n)++] = (int32_t)x;
        if (!*end) return FR_OK;
        s = end + 1;
    }
}

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

fr_status fr_cmd_duration(const char *text, const char *what, double *seconds, fr_error *err) {
    char *end;
    const double x = strtod(text, &end);
    const double unit = *end == 's' ? 1 : *end == 'm' ? 60 : *end == 'h' ? 3600 : 0;
    if (end == text || !unit || end[1] || !(x > 0 && x < 1e6))
        return fr_fail(err, FR_EARG, "%s %.64s: expected a time as 90s, 60m or 2h", what, text);
    *seconds = x * unit;
    return FR_OK;
}

fr_status fr_cmd_unhex(const char *hex, size_t n, fr_buffer *out, fr_error *err) {
    out->n = 0;
    const fr_status st = reserve(out, n / 2, "hex", err);
    if (st) return st;
    if (n % 2) return fr_fail(err, FR_EDATA, "hex: an odd number of digits");
    for (size_t i = 0; i < n; i += 2) {
        const int high = digit(hex[i]), low = digit(hex[i + 1]);
        if (high < 0 || low < 0)
            return fr_fail(err, FR_EDATA, "hex: no hexadecimal digit at place %zu", i);
        out->data[out->n++] = (char)(high * 16 + low);
    }
    out->data[out->n] = 0;
    return FR_OK;
}
