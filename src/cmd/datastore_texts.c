// datastore_texts.c — goes through the paths: shards, folders and files, one after the other. Each
// text or conversation becomes token ids, which are added to the datastore.
#include "cmd/datastore_texts.h"
#include "base/file_id.h"
#include "base/path.h"
#include "train/data/shard.h"
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

fr_status fr_datastore_texts_open(fr_datastore_texts *t, const char *model, fr_error *err) {
    return fr_cmd_text_open(&t->text, model, err);
}

void fr_datastore_texts_close(fr_datastore_texts *t) {
    fr_chat_text_close(&t->rendered);
    fr_ids_free(&t->ids);
    fr_cmd_text_close(&t->text);
}

static fr_status add_ids(fr_datastore_texts *t, const int32_t *ids, size_t n, fr_error *err) {
    fr_progress_show(t->bar, "reading", t->to->n_ids, 0);
    if (fr_cmd_interrupted()) return fr_fail(err, FR_EINTR, "interrupted");
    return fr_datastore_writer_add(t->to, ids, n, err);
}

static fr_status add_text(fr_datastore_texts *t, const char *text, size_t bytes, fr_error *err) {
    t->ids.n = 0;
    const fr_status st =
        fr_tokenizer_encode_watched(t->text.tokenizer, text, bytes, 0, &fr_cmd_watch, &t->ids, err);
    return st ? st : add_ids(t, t->ids.data, t->ids.n, err);
}

// ---------------------------------------------------------------- JSON lines

static fr_status add_conversation(fr_datastore_texts *t, json_t *line, fr_error *err) {
    fr_status st = FR_OK;
    if (!t->has_template) st = fr_cmd_text_template(&t->text, t->args, err);
    if (st) return st;
    t->has_template = true;
    t->ids.n = 0;
    if (json_object_set_new(line, "add_generation_prompt", json_false()))
        return fr_fail(err, FR_ENOMEM, "conversation: no memory");
    st = fr_text_render_json(t->text.text, line, FR_TEXT_BOS, &t->rendered, &t->ids, err);
    return st ? st : add_ids(t, t->ids.data, t->ids.n, err);
}

static fr_status add_line(fr_datastore_texts *t, const char *line, size_t bytes, fr_error *err) {
    json_t *value = fr_json_load(line, bytes, err);
    if (!value) return err->code;
    const json_t *text = json_object_get(value, "text");
    fr_status st;
    if (json_object_get(value, "messages"))
        st = add_conversation(t, value, err);
    else if (json_is_string(text))
        st = add_text(t, json_string_value(text), json_string_length(text), err);
    else
        st = fr_fail(err, FR_EDATA, "expected {\"messages\":[...]} or {\"text\":\"...\"}");
    json_decref(value);
    return st;
}

static fr_status add_lines(fr_datastore_texts *t, const fr_buffer *bytes, const char *path,
                           fr_error *err) {
    fr_status st = FR_OK;
    size_t number = 0;
    for (size_t at = 0; at < bytes->n && !st;) {
        const char *line = bytes->data + at, *end = memchr(line, '\n', bytes->n - at);
        const size_t n = end ? (size_t)(end - line) : bytes->n - at;
        fr_error why = {0};
        at += n + 1;
        number++;
        if (strspn(line, " \t\r") >= n) continue;
        if ((st = add_line(t, line, n, &why)))
            st = fr_fail(err, st == FR_EARG ? FR_EDATA : st, "%s, line %zu: %s", path, number,
                         why.text);
    }
    return st;
}

// ---------------------------------------------------------------- files and folders

typedef enum origin { NAMED, FOUND } origin; // by the user, in a folder

static fr_status add_file(fr_datastore_texts *t, const char *path, origin from, fr_error *err) {
    fr_buffer bytes;
    fr_status st = fr_cmd_read_file(&bytes, path, err);
    if (st) return st;
    if (fr_path_ends(path, ".jsonl") || fr_path_ends(path, ".jsonl.gz"))
        st = add_lines(t, &bytes, path, err);
    else if (from == FOUND && bytes.n && memchr(bytes.data, 0, bytes.n))
        t->skipped++;
    else
        st = add_text(t, bytes.data ? bytes.data : "", bytes.n, err);
    fr_buffer_free(&bytes);
    return st;
}

static int by_name(const FTSENT **a, const FTSENT **b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static fr_status add_entry(fr_datastore_texts *t, FTS *tree, FTSENT *e, fr_error *err) {
    const bool hidden = e->fts_level > 0 && e->fts_name[0] == '.';
    if (hidden) {
        if (e->fts_info == FTS_D) fts_set(tree, e, FTS_SKIP);
        return FR_OK;
    }
    if (t->left_out && fr_same_file(e->fts_path, t->left_out)) return FR_OK;
    if (e->fts_info == FTS_F) return add_file(t, e->fts_path, FOUND, err);
    if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
        return fr_fail(err, FR_EIO, "%s: %s", e->fts_path, strerror(e->fts_errno));
    if (e->fts_info == FTS_SLNONE)
        return fr_fail(err, FR_EIO, "%s: a link to nothing", e->fts_path);
    return FR_OK;
}

static fr_status add_folder(fr_datastore_texts *t, char *path, fr_error *err) {
    char *const roots[] = {path, NULL};
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    fr_status st = FR_OK;
    if (!tree) return fr_fail(err, FR_EIO, "%s: %s", path, strerror(errno));
    errno = 0;
    for (FTSENT *e; !st && (e = fts_read(tree)); errno = 0)
        st = add_entry(t, tree, e, err);
    if (!st && errno) st = fr_fail(err, FR_EIO, "%s: %s", path, strerror(errno));
    fts_close(tree);
    return st;
}

// *any: whether the folder holds shards.
static fr_status add_shards(fr_datastore_texts *t, const char *dir, bool *any, fr_error *err) {
    char target[FR_GGUF_FINGERPRINT];
    fr_shards *shards;
    fr_gguf_fingerprint(t->text.gguf, target);
    fr_status st = fr_shards_open(&shards, dir, target, fr_cmd_progress, NULL, err);
    if (st) return st;
    *any = fr_shards_count(shards) > 0;
    for (int i = 0; i < fr_shards_count(shards) && !st; i++) {
        fr_sample s;
        fr_shards_sample(shards, i, &s);
        st = add_ids(t, s.ids, (size_t)s.n + 1, err);
    }
    fr_shards_close(shards);
    return st;
}

static fr_status add_path(fr_datastore_texts *t, char *path, fr_error *err) {
    struct stat s;
    bool shards = false;
    if (stat(path, &s) || !S_ISDIR(s.st_mode)) return add_file(t, path, NAMED, err);
    const fr_status st = add_shards(t, path, &shards, err);
    return st || shards ? st : add_folder(t, path, err);
}

fr_status fr_datastore_texts_add(fr_datastore_texts *t, const char *paths, fr_error *err) {
    char *list = strdup(paths), *rest = NULL;
    fr_status st = list ? FR_OK : fr_fail(err, FR_ENOMEM, "datastore: no memory");
    for (char *p = list ? strtok_r(list, ",", &rest) : NULL; p && !st;
         p = strtok_r(NULL, ",", &rest))
        st = add_path(t, p, err);
    free(list);
    return st;
}
