// doctor.h — what `doctor` found out; how it is found, judged and shown.
#ifndef FR_CMD_DOCTOR_DOCTOR_H
#define FR_CMD_DOCTOR_DOCTOR_H
#include "base/control_group.h"
#include "base/cpus.h"
#include "base/machine.h"
#include "catalog/facts.h"
#include "cmd/lib/cmd.h"
#include "cmd/lib/cpu_use.h"
#include "draft/pack/find.h"
#include "kern/kern.h"
#include "tune/profile.h"
#include <limits.h>

enum { FR_DOCTOR_FOLDERS = 8, FR_DOCTOR_PACKS = 64, FR_DOCTOR_CONTEXT = 4096 };

typedef struct fr_doctor_machine {
    char cpu[128];
    fr_machine system;
    fr_control_group group;
    fr_cpus cpus;
    int threads; // that commands compute with by default
    const char *isa;
    bool has[FR_ISA_COUNT];
    double read_one, read_all; // bytes a second, by one thread and by all; 0: not measured
    fr_cpu_others others;      // while that was measured
} fr_doctor_machine;

typedef struct fr_doctor_folder {
    char path[FR_PACK_PATH];
    bool found;
    int fault; // errno where it is there and cannot be read; 0: none
    int n;     // packs in it
} fr_doctor_folder;

typedef struct fr_doctor_pack {
    char path[FR_PACK_PATH];
    char target_name[128];
    const char *drafter; // its name
    bool fits;           // the model, where one was given
    double speed;        // ... and is expected to make it so many times as fast
} fr_doctor_pack;

typedef struct fr_doctor_packs {
    fr_doctor_folder folder[FR_DOCTOR_FOLDERS];
    fr_doctor_pack pack[FR_DOCTOR_PACKS];
    int n_folders, n;
} fr_doctor_packs;

typedef struct fr_doctor_model {
    const char *path; // borrowed
    fr_model_facts facts;
    uint64_t weights, kv; // bytes; keys and values of FR_DOCTOR_CONTEXT tokens, or all it has
    int layers, context;  // tokens that `kv` is for
    bool tuned;           // profile holds measured passes
    fr_profile profile;
} fr_doctor_model;

typedef struct fr_advice {
    const char *about;     // "memory", "cores", ...
    char what[320];        // the finding, a sentence
    char remedy[PATH_MAX]; // what to do, a command or a setting
} fr_advice;

enum { FR_DOCTOR_ADVICE = 24 };
typedef struct fr_doctor {
    fr_doctor_machine machine;
    fr_doctor_model model; // path NULL: none was given
    fr_doctor_packs packs;
    fr_advice advice[FR_DOCTOR_ADVICE];
    int n_advice;
} fr_doctor;

// Memory that this process can still have: the system's and its control group's. 0: not known.
uint64_t fr_doctor_memory(const fr_doctor_machine *m);
// Memory that running the model takes, about.
uint64_t fr_doctor_need(const fr_doctor_model *m);

void fr_doctor_look(fr_doctor_machine *m); // all but reading memory
// Reads memory for about a second: with one thread, with all. FR_ENOMEM; the rates then stay 0.
fr_status fr_doctor_read_memory(fr_doctor_machine *m, fr_error *err);
// `model` holds what is known of the model; its path NULL: none was given.
void fr_doctor_find_packs(fr_doctor_packs *packs, const fr_doctor_model *model);
// A model that cannot be run is told in facts.why.
void fr_doctor_look_at_model(fr_doctor_model *model, const fr_doctor_machine *machine,
                             const char *path);
void fr_doctor_advise(fr_doctor *d); // from all the rest

void fr_doctor_print(const fr_doctor *d);
json_t *fr_doctor_json(const fr_doctor *d);

#endif
