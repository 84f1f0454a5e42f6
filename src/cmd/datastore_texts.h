// datastore_texts.h — texts of files and folders, as token ids, into a datastore.
//
// A folder of shards ('distill --capture') gives the conversations that it holds; any other folder
// gives all files in it and below, sorted by name, hidden ones left out. Files: *.jsonl are JSON
// lines, {"messages":[...]} put through the chat template or {"text":"..."}; others are plain text,
// each one text. Both may be packed by gzip. In a folder, a file with a NUL in it is no text and is
// left out.
#ifndef FR_CMD_DATASTORE_TEXTS_H
#define FR_CMD_DATASTORE_TEXTS_H
#include "cmd/lib/text.h"
#include "draft/retrieval/datastore_writer.h"

typedef struct fr_datastore_texts { // {0} but for what is marked
    fr_cmd_text text;
    const fr_cmd_args *args; // set: which chat template
    fr_datastore_writer *to; // set
    fr_progress *bar;        // set
    const char *left_out;    // a file that is none of the texts: the output's lock
    bool has_template;
    fr_ids ids;
    fr_chat_text rendered;
    int skipped; // files that are no text
} fr_datastore_texts;

// Opens the model's text side. FR_EIO, FR_EDATA, FR_EUNSUP, FR_ENOMEM.
fr_status fr_datastore_texts_open(fr_datastore_texts *t, const char *model, fr_error *err);
void fr_datastore_texts_close(fr_datastore_texts *t);
// Adds all texts of "PATH,PATH,...". FR_EIO; FR_EDATA with file and line; FR_EINTR, FR_ENOMEM.
fr_status fr_datastore_texts_add(fr_datastore_texts *t, const char *paths, fr_error *err);

#endif
