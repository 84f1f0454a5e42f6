// packs.c — goes through the folders of packs; a folder that is looked at twice, by two paths,
// counts once.
#include "cmd/doctor/doctor.h"
#include "draft/pack/form.h"
#include "draft/pack/speed.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct search {
    fr_doctor_packs *packs;
    const fr_doctor_model *model;
} search;

static void add_pack(void *user, const char *path, const fr_pack *p) {
    const search *s = user;
    fr_doctor_packs *packs = s->packs;
    packs->folder[packs->n_folders - 1].n++;
    if (packs->n == FR_DOCTOR_PACKS) return;
    fr_doctor_pack *pack = &packs->pack[packs->n++];
    *pack = (fr_doctor_pack){.drafter = p->form->name};
    snprintf(pack->path, sizeof pack->path, "%s", path);
    snprintf(pack->target_name, sizeof pack->target_name, "%s", p->target_name);
    if (!s->model->facts.runs || strcmp(p->target, s->model->profile.key.model) != 0) return;
    const fr_cost *cost = s->model->tuned ? &s->model->profile.cost : NULL;
    pack->fits = true;
    pack->speed = fr_pack_speed(p, cost, s->model->layers, s->model->weights);
}

// Of a folder's real path; NULL: there was none, and errno says why.
static int fault_of(const char *path) {
    struct stat s;
    if (!path) return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    if (stat(path, &s)) return errno;
    if (!S_ISDIR(s.st_mode)) return ENOTDIR;
    return access(path, R_OK | X_OK) ? errno : 0;
}

static void add_folder(void *user, const char *folder) {
    const search *s = user;
    fr_doctor_packs *packs = s->packs;
    if (packs->n_folders == FR_DOCTOR_FOLDERS) return;
    fr_doctor_folder *f = &packs->folder[packs->n_folders];
    char *real = realpath(folder, NULL);
    *f = (fr_doctor_folder){.found = real};
    f->fault = fault_of(real);
    snprintf(f->path, sizeof f->path, "%s", real ? real : folder);
    free(real);
    for (int i = 0; i < packs->n_folders; i++)
        if (!strcmp(packs->folder[i].path, f->path)) return;
    packs->n_folders++;
    if (f->found) fr_pack_list(f->path, add_pack, user);
}

// Those that bring most first; without a model as they were found, folder by folder.
static int by_speed(const void *a, const void *b) {
    const fr_doctor_pack *x = a, *y = b;
    if (x->speed != y->speed) return x->speed > y->speed ? -1 : 1;
    return strcmp(x->path, y->path);
}

void fr_doctor_find_packs(fr_doctor_packs *packs, const fr_doctor_model *model) {
    search s = {packs, model};
    packs->n = packs->n_folders = 0;
    fr_pack_folders(model->path, add_folder, &s);
    if (model->path) qsort(packs->pack, (size_t)packs->n, sizeof *packs->pack, by_speed);
}
