// catalog.h — the models that other programs have stored on this machine, and the meaning of -m.
//
// A catalog searches, by names alone, the folders of Hugging Face's cache, llama.cpp, Ollama and LM
// Studio (folders.c has the variables that move them). It downloads nothing, writes nothing and
// opens no file of a model. It is a snapshot: open, query, close. Its strings live until it is
// closed.
#ifndef FR_CATALOG_CATALOG_H
#define FR_CATALOG_CATALOG_H
#include "base/status.h"
#include <limits.h>

typedef enum fr_store {
    FR_STORE_HUGGING_FACE,
    FR_STORE_LLAMA_CPP,
    FR_STORE_OLLAMA,
    FR_STORE_LM_STUDIO,
} fr_store;
const char *fr_store_name(fr_store store); // "Hugging Face", "llama.cpp", ...

// A folder that was looked into.
typedef struct fr_catalog_folder {
    fr_store store;
    char path[PATH_MAX];
    bool found;            // it is there
    char unread[PATH_MAX]; // the first one in it that could not be read, "" where all could,
    int unread_errno;      // ... and why
} fr_catalog_folder;

// One model: one file, or the first of several. Invariant: strings are never NULL but `fault`.
typedef struct fr_catalog_item {
    int folder;        // number of the one that it is in
    const char *repo;  // "org/repo"; of Ollama "name", "ns/name" or "host/ns/name"; "": not known,
                       // as llama.cpp's older cache has one name for all
    const char *file;  // its path in the repository; of Ollama the tag
    const char *path;  // what to open
    const char *fault; // why that cannot be opened, half a sentence; NULL: nothing is known against
} fr_catalog_item;

enum {
    FR_CATALOG_FOLDERS = 12,
    FR_CATALOG_ITEMS = 10000,  // more are left out
    FR_CATALOG_VISITS = 200000 // entries of folders that are looked at
};
typedef struct fr_catalog {
    fr_catalog_folder *folder; // [n_folders], in the order in which models are looked for
    int n_folders;
    fr_catalog_item *item; // [n], by folder, then by name
    size_t n, cap;
    bool cut; // there is more than was looked at
} fr_catalog;

// Looks for models. Folders that are missing or cannot be read are no error. FR_ENOMEM. Close takes
// a half open one.
fr_status fr_catalog_open(fr_catalog *c, fr_error *err);
void fr_catalog_close(fr_catalog *c);

// The model of a name: "org/repo", "org/repo:QUANT" (the first file with QUANT in its name, however
// it is capitalised; without one Q4_K_M, else Q8_0, else the first), "org/repo/file.gguf", an
// Ollama "name", "name:tag", "ns/name:tag", "hf.co/org/repo:tag", or a file's name in llama.cpp's
// older cache. FR_EIO: there is none, or several that differ; the sentence names what was searched
// for, where, and similar names. FR_EDATA: its folder is faulty; the sentence has the fault.
fr_status fr_catalog_find(const fr_catalog *c, const char *name, const fr_catalog_item **out,
                          fr_error *err);

// A name that fr_catalog_find answers with this model, the shortest; its path where there is none.
enum { FR_CATALOG_NAME = PATH_MAX };
void fr_catalog_name(const fr_catalog *c, const fr_catalog_item *item, char name[FR_CATALOG_NAME]);

// The file that -m means: `name` itself where such a file is there or where it is written as a path
// (/…, ./…, ../…); the only model in it where it is a folder; else the model of that name. FR_EIO:
// a folder with no model or with several, a name that is not found; FR_EDATA: a model whose folder
// is faulty; FR_ENOMEM.
fr_status fr_model_path(char path[PATH_MAX], const char *name, fr_error *err);

#endif
