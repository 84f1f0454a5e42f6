#include "train/checkpoint.h"
#include "base/save.h"
#include "gguf/hash.h"
#include <errno.h>
#include <string.h>

// The head of a file, little endian as all of it; sections follow in the order named here, each
// filled with zeros to a multiple of 64 bytes, then the XXH64 of everything before it.
typedef struct file_head {
    char magic[8];
    uint32_t version, n_blocks;
    uint64_t identity_bytes, state_bytes, curve_bytes, n_floats;
    uint64_t unused[2];
} file_head;
_Static_assert(sizeof(file_head) == 64 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the head is written as it lies in memory");
static const char magic[8] = "FRTRAIN";
enum { VERSION = 2, ALIGN = 64 };

static size_t padded(size_t bytes) {
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

size_t fr_checkpoint_bytes(const fr_checkpoint *c) {
    return sizeof(file_head) + padded(c->identity_bytes) + padded(c->state_bytes) +
           padded(c->curve_bytes) + (size_t)c->n_blocks * padded(c->n_floats * sizeof(float)) +
           sizeof(uint64_t);
}

// ---------------------------------------------------------------- writing
typedef struct sink {
    int fd;
    fr_hash hash;
} sink;

static bool put(sink *s, const void *data, size_t bytes) {
    static const char zeros[ALIGN];
    const size_t gap = padded(bytes) - bytes;
    if (bytes) fr_hash_add(&s->hash, data, bytes);
    fr_hash_add(&s->hash, zeros, gap);
    return fr_write_all(s->fd, data, bytes) && fr_write_all(s->fd, zeros, gap);
}

static bool put_all(sink *s, const fr_checkpoint *c) {
    file_head head = {.version = VERSION,
                      .n_blocks = (uint32_t)c->n_blocks,
                      .identity_bytes = c->identity_bytes,
                      .state_bytes = c->state_bytes,
                      .curve_bytes = c->curve_bytes,
                      .n_floats = c->n_floats};
    memcpy(head.magic, magic, sizeof magic);
    fr_hash_open(&s->hash, 0);
    bool ok = put(s, &head, sizeof head) && put(s, c->identity, c->identity_bytes) &&
              put(s, c->state, c->state_bytes) && put(s, c->curve, c->curve_bytes);
    for (int i = 0; i < c->n_blocks; i++)
        ok = ok && put(s, c->block[i], c->n_floats * sizeof(float));
    const uint64_t sum = fr_hash_value(&s->hash);
    return ok && fr_write_all(s->fd, &sum, sizeof sum);
}

fr_status fr_checkpoint_write(const fr_checkpoint *c, const char *path, fr_error *err) {
    fr_saving saving;
    const fr_status st = fr_save_begin(&saving, path, err);
    if (st) return st;
    sink s = {.fd = saving.fd};
    if (put_all(&s, c)) return fr_save_finish(&saving, err);
    const int why = errno;
    fr_save_drop(&saving);
    return fr_fail(err, FR_EIO, "%s: %s", path, strerror(why));
}

// ---------------------------------------------------------------- reading
// Takes `bytes` bytes and their filling at *at; false: they are not there.
static bool take(const uint8_t *data, size_t end, size_t *at, uint64_t bytes, const void **out) {
    if (bytes > end - *at || padded((size_t)bytes) > end - *at) return false;
    *out = data + *at;
    *at += padded((size_t)bytes);
    return true;
}

fr_status fr_checkpoint_take(fr_checkpoint *c, const void *data, size_t bytes, const char *name,
                             fr_error *err) {
    file_head h;
    uint64_t sum;
    *c = (fr_checkpoint){0};
    if (bytes < sizeof h + sizeof sum || memcmp(data, magic, sizeof magic))
        return fr_fail(err, FR_EDATA, "%s: not a checkpoint of a training", name);
    memcpy(&h, data, sizeof h);
    if (h.version != VERSION)
        return fr_fail(err, FR_EDATA, "%s: expected a checkpoint of version %d, found %u", name,
                       VERSION, h.version);
    const size_t end = bytes - sizeof sum;
    size_t at = sizeof h;
    const void *part;
    bool ok = h.n_blocks <= FR_CHECKPOINT_BLOCKS && h.n_floats <= end / sizeof(float);
    c->identity_bytes = (size_t)h.identity_bytes;
    c->state_bytes = (size_t)h.state_bytes;
    c->curve_bytes = (size_t)h.curve_bytes;
    c->n_floats = (size_t)h.n_floats;
    if ((ok = ok && take(data, end, &at, h.identity_bytes, &part))) c->identity = part;
    ok = ok && take(data, end, &at, h.state_bytes, &c->state);
    ok = ok && take(data, end, &at, h.curve_bytes, &c->curve);
    for (uint32_t i = 0; ok && i < h.n_blocks; i++)
        if ((ok = take(data, end, &at, h.n_floats * sizeof(float), &part))) c->block[i] = part;
    if (!ok || at != end)
        return fr_fail(err, FR_EDATA, "%s: damaged: its parts do not fill %zu bytes", name, bytes);
    c->n_blocks = (int)h.n_blocks;
    fr_hash hash;
    fr_hash_open(&hash, 0);
    fr_hash_add(&hash, data, end);
    memcpy(&sum, (const uint8_t *)data + end, sizeof sum);
    if (sum != fr_hash_value(&hash))
        return fr_fail(err, FR_EDATA, "%s: damaged: expected checksum %016llx, found %016llx", name,
                       (unsigned long long)sum, (unsigned long long)fr_hash_value(&hash));
    return FR_OK;
}

fr_status fr_checkpoint_read(fr_checkpoint *c, fr_map *map, const char *path, fr_error *err) {
    fr_status st = fr_map_open(map, path, err);
    if (st) return st;
    st = fr_checkpoint_take(c, map->data, map->bytes, path, err);
    if (st) fr_map_close(map);
    return st;
}
