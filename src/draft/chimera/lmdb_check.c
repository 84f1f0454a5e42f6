// lmdb_check.c — a bounded reader of LMDB's files.
//
// A page: 16 bytes of header, then the offsets of its nodes, then room, then the nodes, which fill
// the page up to its end. Pages 0 and 1 are metas; the one of the last commit counts. A value that
// does not fit into a node lies in a run of overflow pages of which only the first has a header.
#include "draft/chimera/lmdb_check.h"
#include "base/alloc.h"
#include <errno.h>
#include <lmdb.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(MDB_VERSION_MAJOR == 0 && MDB_VERSION_MINOR == 9, "the format of LMDB 0.9");
_Static_assert(sizeof(size_t) == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the format of 64-bit little-endian machines");

enum {
    HEADER = 16,
    NODE = 8, // bytes in front of a node's key
    PAGE_LEAST = 512,
    PAGE_MOST = 32768,
    KEY_MOST = 511,
    LEVELS = 16,            // LMDB goes to 32, which no disk could fill
    FREED_MOST = 1 << 20,   // bytes of one list of free pages
    NEVER_WRITTEN = 1 << 16 // pages that a file may number beyond its end: free ones
};
enum { BRANCH = 1, LEAF = 2, OVERFLOW = 4, META = 8 }; // kinds of pages
enum { BIG = 1 };                                      // of a node: its value lies elsewhere
enum { INTEGER_KEY = 8, NO_FOLDER = 0x4000 };          // of a tree, of the file
static const uint32_t MAGIC = 0xBEEFC0DE, FORMAT = 1;
static const uint64_t NO_PAGE = UINT64_MAX;

typedef struct page_header {
    uint64_t number;
    uint16_t pad, kind;
    union {
        struct {
            uint16_t lower, upper; // where the offsets end, where the nodes begin
        };
        uint32_t n_pages; // of an overflow run
    };
} page_header;
_Static_assert(sizeof(page_header) == HEADER, "as on disk");

typedef struct tree {
    uint32_t pad; // of the tree of free pages: bytes of a page
    uint16_t flags, depth;
    uint64_t branches, leaves, overflows, entries, root;
} tree;

typedef struct meta {
    uint32_t magic, format;
    uint64_t address, map_bytes;
    tree freed, values;
    uint64_t last_page, transaction;
} meta;
_Static_assert(sizeof(meta) == 136, "as on disk");

typedef struct node {
    uint64_t child; // of a branch's
    uint16_t flags; // of a leaf's
    size_t bytes;   // of the value
    size_t key_bytes, whole;
    const uint8_t *key, *value;
} node;

typedef struct walk {
    int fd;
    size_t page;                    // bytes
    meta now;                       // what the last commit left
    uint8_t *used;                  // a bit a page
    uint8_t *level[LEVELS], *taken; // a page each; a bit for every two bytes of a page
    uint8_t *run;                   // overflow pages
    size_t most;                    // bytes of an entry that `run` has room for
    bool freed;                     // in the tree of free pages
    uint64_t entries;               // met so far
    uint8_t least[KEY_MOST];        // every key to come is above, or equal where that is allowed
    size_t least_bytes;
    bool any, equal;
    fr_lmdb_visit *visit;
    void *arg;
    fr_error *err;
} walk;

static fr_status damaged(const walk *w, uint64_t page, const char *why) {
    return fr_fail(w->err, FR_EDATA, "page %llu: %s", (unsigned long long)page, why);
}

static fr_status read_at(const walk *w, void *to, size_t bytes, uint64_t page) {
    uint8_t *p = to;
    const off_t from = (off_t)(page * w->page);
    for (size_t got = 0; got < bytes;) {
        const ssize_t n = pread(w->fd, p + got, bytes - got, from + (off_t)got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return fr_fail(w->err, FR_EIO, "page %llu: %s", (unsigned long long)page,
                           strerror(errno));
        if (!n) return damaged(w, page, "lies behind the end of the file");
        got += (size_t)n;
    }
    return FR_OK;
}

// ---------------------------------------------------------------- metas

static fr_status read_meta(walk *w, uint64_t number, meta *m) {
    uint8_t bytes[HEADER + sizeof *m];
    page_header h;
    const fr_status st = read_at(w, bytes, sizeof bytes, number);
    if (st) return st;
    memcpy(&h, bytes, sizeof h);
    memcpy(m, bytes + HEADER, sizeof *m);
    if (!(h.kind & META) || m->magic != MAGIC || m->format != FORMAT)
        return damaged(w, number, "expected the head of an LMDB file, found something else");
    const size_t page = m->freed.pad;
    if (page < PAGE_LEAST || page > PAGE_MOST || page & (page - 1) || (number && page != w->page))
        return damaged(w, number, "a size of pages that cannot be");
    w->page = page;
    return FR_OK;
}

// Readers and writers find the meta of transaction t on page t & 1.
static fr_status pick_meta(walk *w) {
    struct stat file;
    meta both[2];
    fr_status st;
    for (int i = 0; i < 2; i++)
        if ((st = read_meta(w, (uint64_t)i, &both[i]))) return st;
    const int last = both[0].transaction < both[1].transaction;
    const meta *m = &w->now;
    w->now = both[last];
    if ((m->transaction & 1) != (uint64_t)last || m->transaction >> 62)
        return damaged(w, (uint64_t)last, "a number of commits that cannot be");
    if ((m->freed.flags & ~NO_FOLDER) != INTEGER_KEY || m->values.flags)
        return damaged(w, (uint64_t)last, "flags of another table");
    if (fstat(w->fd, &file)) return fr_fail(w->err, FR_EIO, "%s", strerror(errno));
    if (m->last_page < 1 || m->last_page > (uint64_t)file.st_size / w->page + NEVER_WRITTEN)
        return damaged(w, (uint64_t)last, "more pages than the file has");
    return FR_OK;
}

// ---------------------------------------------------------------- pages

static fr_status claim(walk *w, uint64_t first, uint64_t n) {
    const uint64_t last = w->now.last_page;
    if (first < 2 || n < 1 || first > last || n > last - first + 1)
        return damaged(w, first, "not one of the file's");
    for (uint64_t i = first; i < first + n; i++) {
        if (w->used[i / 8] >> i % 8 & 1) return damaged(w, i, "used twice");
        w->used[i / 8] |= (uint8_t)(1 << i % 8);
    }
    return FR_OK;
}

static node node_at(const uint8_t *at, bool branch) {
    uint16_t low, high, flags, key_bytes;
    memcpy(&low, at, 2);
    memcpy(&high, at + 2, 2);
    memcpy(&flags, at + 4, 2);
    memcpy(&key_bytes, at + 6, 2);
    const uint32_t word = low | (uint32_t)high << 16;
    node n = {.key = at + NODE, .key_bytes = key_bytes, .value = at + NODE + key_bytes};
    n.child = word | (uint64_t)flags << 32;
    n.whole = (size_t)NODE + key_bytes;
    if (!branch) {
        n.flags = flags;
        n.bytes = word;
        n.whole += flags & BIG ? sizeof(uint64_t) : n.bytes;
    }
    n.whole += n.whole & 1;
    return n;
}

static int n_nodes(const uint8_t *page) {
    page_header h;
    memcpy(&h, page, sizeof h);
    return (h.lower - HEADER) / 2;
}

static const uint8_t *place_of(const uint8_t *page, int i) {
    uint16_t offset;
    memcpy(&offset, page + HEADER + 2 * i, 2);
    return page + offset;
}

// The node's bytes are marked; false: some are not the page's, or another node's.
static bool take_bytes(walk *w, size_t from, size_t bytes) {
    if (from & 1 || bytes > w->page - from) return false;
    for (size_t i = from / 2; i < (from + bytes) / 2; i++) {
        if (w->taken[i / 8] >> i % 8 & 1) return false;
        w->taken[i / 8] |= (uint8_t)(1 << i % 8);
    }
    return true;
}

static fr_status check_nodes(walk *w, uint64_t number, const uint8_t *page, bool branch) {
    page_header h;
    memcpy(&h, page, sizeof h);
    // Only the tree of free pages may have a branch with a single child.
    const int least = branch && !w->freed ? 2 : 1;
    if (h.lower & 1 || h.lower < HEADER + 2 * least || h.lower > h.upper || h.upper > w->page)
        return damaged(w, number, "a number of nodes that cannot be");
    size_t whole = 0;
    memset(w->taken, 0, w->page / 16);
    for (int i = 0; i < n_nodes(page); i++) {
        const size_t offset = (size_t)(place_of(page, i) - page);
        if (offset < h.upper || offset + NODE > w->page)
            return damaged(w, number, "a node outside");
        const node n = node_at(page + offset, branch);
        if (!take_bytes(w, offset, n.whole)) return damaged(w, number, "a node over another one");
        if (n.key_bytes > KEY_MOST || (!branch && (!n.key_bytes || n.flags & ~BIG)))
            return damaged(w, number, "a node that cannot be");
        whole += n.whole;
    }
    return whole == w->page - h.upper ? FR_OK : damaged(w, number, "bytes of no node");
}

static fr_status read_page(walk *w, uint64_t number, uint8_t *page, bool branch) {
    page_header h;
    fr_status st;
    if ((st = claim(w, number, 1))) return st;
    if ((st = read_at(w, page, w->page, number))) return st;
    memcpy(&h, page, sizeof h);
    if (h.number != number || h.kind != (branch ? BRANCH : LEAF))
        return damaged(w, number, branch ? "expected a branch" : "expected a leaf");
    return check_nodes(w, number, page, branch);
}

// ---------------------------------------------------------------- keys

static int compare(const walk *w, const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    if (w->freed) {
        uint64_t x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return x < y ? -1 : x > y;
    }
    const int by = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return by ? by : a_bytes < b_bytes ? -1 : a_bytes > b_bytes;
}

// A key of a leaf, or of a branch, which stands in front of the keys behind it and may equal them.
static fr_status pass_key(walk *w, uint64_t number, const node *n, bool branch) {
    if (w->freed && n->key_bytes != sizeof(uint64_t)) return damaged(w, number, "no list of pages");
    if (w->any) {
        const int by = compare(w, n->key, n->key_bytes, w->least, w->least_bytes);
        if (by < 0 || (!by && !w->equal)) return damaged(w, number, "keys out of order");
    }
    memcpy(w->least, n->key, n->key_bytes);
    w->least_bytes = n->key_bytes;
    w->any = true;
    w->equal = branch;
    return FR_OK;
}

// ---------------------------------------------------------------- values

static fr_status read_run(walk *w, uint64_t number, size_t bytes) {
    page_header h;
    fr_status st;
    if (bytes > w->most) return damaged(w, number, "too long a value");
    // One page first: how many there are must be known before they are claimed.
    if ((st = claim(w, number, 1))) return st;
    if ((st = read_at(w, w->run, HEADER, number))) return st;
    memcpy(&h, w->run, sizeof h);
    if (h.number != number || h.kind != OVERFLOW || h.n_pages < (HEADER - 1 + bytes) / w->page + 1)
        return damaged(w, number, "expected a long value");
    if (h.n_pages > 1 && (st = claim(w, number + 1, h.n_pages - 1))) return st;
    return read_at(w, w->run, HEADER + bytes, number);
}

// How many, then their numbers, descending.
static fr_status check_freed(walk *w, uint64_t number, const node *n, const uint8_t *list) {
    uint64_t count, page, above = NO_PAGE, commit;
    memcpy(&commit, n->key, sizeof commit);
    if (commit > w->now.transaction) return damaged(w, number, "freed by a commit to come");
    if (n->bytes < sizeof count) return damaged(w, number, "no list of pages");
    memcpy(&count, list, sizeof count);
    if (count > n->bytes / sizeof count - 1) return damaged(w, number, "too long a list of pages");
    for (uint64_t i = 1; i <= count; i++, above = page) {
        memcpy(&page, list + i * sizeof page, sizeof page);
        if (page >= above) return damaged(w, number, "a list of pages out of order");
        const fr_status st = claim(w, page, 1);
        if (st) return st;
    }
    return FR_OK;
}

static fr_status check_entry(walk *w, uint64_t number, const node *n) {
    const uint8_t *value = n->value;
    w->entries++;
    if (n->flags & BIG) {
        uint64_t run;
        memcpy(&run, n->value, sizeof run);
        const fr_status st = read_run(w, run, n->bytes);
        if (st) return st;
        value = w->run + HEADER;
    }
    if (w->freed) return check_freed(w, number, n, value);
    return w->visit(w->arg, n->key, n->key_bytes, value, n->bytes, w->err);
}

// ---------------------------------------------------------------- trees

static fr_status check_below(walk *w, uint64_t number, int level, int depth) {
    const bool branch = level + 1 < depth;
    uint8_t *page = w->level[level];
    fr_status st = read_page(w, number, page, branch);
    for (int i = 0; !st && i < n_nodes(page); i++) {
        const node n = node_at(place_of(page, i), branch);
        // The first key of a branch is never looked at.
        if (!branch || i) st = pass_key(w, number, &n, branch);
        if (!st)
            st = branch ? check_below(w, n.child, level + 1, depth) : check_entry(w, number, &n);
    }
    return st;
}

static fr_status check_tree(walk *w, const tree *t, bool freed) {
    const uint64_t number = w->now.transaction & 1;
    w->freed = freed;
    w->any = false;
    w->entries = 0;
    if (t->depth > LEVELS || (t->root == NO_PAGE) != !t->depth)
        return damaged(w, number, "a depth that cannot be");
    const fr_status st = t->depth ? check_below(w, t->root, 0, t->depth) : FR_OK;
    if (!st && w->entries != t->entries) return damaged(w, number, "entries are missing");
    return st;
}

fr_status fr_lmdb_check(int fd, size_t most, fr_lmdb_visit *visit, void *arg, fr_error *err) {
    walk w = {.fd = fd, .visit = visit, .arg = arg, .err = err};
    fr_status st = pick_meta(&w);
    if (st) return st;
    w.most = most > FREED_MOST ? most : FREED_MOST;
    const size_t run = HEADER + w.most, bits = (size_t)w.now.last_page / 8 + 1;
    fr_arena arena;
    st = fr_arena_open(&arena,
                       FR_ARENA_ROUND(bits) + FR_ARENA_ROUND(run) + FR_ARENA_ROUND(w.page / 16) +
                           LEVELS * FR_ARENA_ROUND(w.page),
                       "checking a file", err);
    if (st) return st;
    w.used = fr_arena_take(&arena, bits);
    w.run = fr_arena_take(&arena, run);
    w.taken = fr_arena_take(&arena, w.page / 16);
    for (int i = 0; i < LEVELS; i++)
        w.level[i] = fr_arena_take(&arena, w.page);
    st = check_tree(&w, &w.now.values, false);
    if (!st) st = check_tree(&w, &w.now.freed, true);
    fr_arena_close(&arena);
    return st;
}
