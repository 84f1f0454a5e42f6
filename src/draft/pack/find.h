// find.h — finds packs in the folders where they are searched, by method and target.
//
// Folders, in this order: packs/ beside the model, packs/ beside the program's folder and under
// ../share/forerun of it, FR_PACKS_DIR (where the build is installed), and
// $XDG_DATA_HOME/forerun/packs (~/.local/share if that is not set). The working folder is not
// searched, because other users may write to it. A file is identified by its metadata, not by its
// name.
#ifndef FR_DRAFT_PACK_FIND_H
#define FR_DRAFT_PACK_FIND_H
#include "draft/pack/pack.h"

enum { FR_PACK_PATH = 4096 };

// The pack of `form` for this target that is expected to bring most; of equal ones the first.
// FR_EIO: there is none, the sentence names the target's fingerprint and where it was looked for.
fr_status fr_pack_find(char path[FR_PACK_PATH], const fr_pack_form *form, const fr_gguf *target,
                       fr_error *err);
// Called for every folder that is searched, in order, and for every pack in it. `target`: the
// model's path; NULL leaves out the folder beside it.
typedef void fr_pack_folder_fn(void *user, const char *folder);
typedef void fr_pack_visit_fn(void *user, const char *path, const fr_pack *p);
void fr_pack_folders(const char *target, fr_pack_folder_fn *visit, void *user);
void fr_pack_list(const char *folder, fr_pack_visit_fn *visit, void *user);

#endif
