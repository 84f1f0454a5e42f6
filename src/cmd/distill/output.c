// output.c — lines are flushed one by one, and synced when the caller wants it.
#include "cmd/distill/output.h"
#include "base/save.h"
#include "cmd/output/answers_file.h"
#include "json/value.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static fr_status write_failed(const fr_distill_output *o, fr_error *err) {
    return fr_fail(err, FR_EIO, "%s: %s", o->path, strerror(errno));
}

fr_status fr_distill_output_open(fr_distill_output *o, const char *path, const char *model,
                                 bool force, fr_error *err) {
    fr_answers_file there;
    fr_error why = {0};
    fr_status st = path ? fr_save_check(path, err) : FR_OK;
    if (st || !path) return st;
    st = fr_answers_file_look(&there, path, &why);
    if (st && (st != FR_EDATA || there.lines || !force)) return fr_fail(err, st, "%s", why.text);
    if (*there.model && strcmp(there.model, model))
        return fr_fail(err, FR_EDATA,
                       "%s: answers of another model: expected the fingerprint %s, found %s", path,
                       model, there.model);
    if (!there.lines) there.end = 0;
    o->path = path;
    snprintf(o->model, sizeof o->model, "%s", model);
    if (!(o->file = fopen(path, "ab")) || ftruncate(fileno(o->file), (off_t)there.end) ||
        (there.unended && there.end && fputc('\n', o->file) == EOF))
        return write_failed(o, err);
    return FR_OK;
}

static char *line_of(const fr_distill_output *o, const json_t *asked, const fr_talk *talk,
                     bool cut) {
    json_t *messages = json_array(), *task = json_object_get(asked, "task");
    bool whole = messages != NULL;
    for (int i = 0; i < talk->n && whole; i++) {
        const fr_message *m = &talk->messages[i];
        whole = !json_array_append_new(
            messages, json_pack("{s:s%, s:o}", "role", m->role.data, m->role.bytes, "content",
                                fr_json_text(m->content.data, m->content.bytes)));
    }
    json_t *id = json_object_get(asked, "id");
    json_t *out = json_pack("{s:o, s:O?, s:o, s:s}", "id", id ? json_incref(id) : json_string(""),
                            "task", task, "messages", messages, "model", o->model);
    if (cut && json_object_set_new(out, "cut", json_true())) whole = false;
    char *text = whole ? fr_json_compact(out) : NULL;
    json_decref(out);
    return text;
}

fr_status fr_distill_output_write(fr_distill_output *o, const json_t *asked, const fr_talk *talk,
                                  bool cut, fr_error *err) {
    if (!o->file) return FR_OK;
    char *text = line_of(o, asked, talk, cut);
    if (!text) return fr_fail(err, FR_ENOMEM, "%s: no memory for a line", o->path);
    const bool bad = fprintf(o->file, "%s\n", text) < 0 || fflush(o->file);
    o->unsynced = true;
    free(text);
    return bad ? write_failed(o, err) : FR_OK;
}

fr_status fr_distill_output_sync(fr_distill_output *o, fr_error *err) {
    if (!o->unsynced) return FR_OK;
    o->unsynced = false;
    return fsync(fileno(o->file)) ? write_failed(o, err) : FR_OK;
}

void fr_distill_output_close(fr_distill_output *o) {
    if (o->file) fclose(o->file);
}
