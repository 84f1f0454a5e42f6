// registry.h — drafters by name, and the drafter that a SPEC describes.
#ifndef FR_DRAFT_REGISTRY_H
#define FR_DRAFT_REGISTRY_H
#include "draft/shared/config.h"

#define FR_DRAFTER(name) extern const fr_drafter_method fr_##name##_method;
#define FR_LEARNER(name) FR_DRAFTER(name)
#include "draft/drafters.def"
#undef FR_DRAFTER
#undef FR_LEARNER

#define FR_DRAFTER_AUTO "prompt-lookup" // the meaning of "auto" without a profile

// Whether SPEC can be read, before anything is loaded: names, and that files are named where they
// are needed. FR_EARG.
fr_status fr_drafter_check(const char *spec, fr_error *err);

// Opens what SPEC describes (NULL or "auto": the best that this model has). `used`
// becomes the names of what drafts. FR_EARG: no such drafter or option; else the error of a part,
// of its file or its memory.
fr_drafter_open_spec_fn fr_drafter_open;

// Methods of the program's own, after those of the library, up to NULL. The library holds an empty
// table for programs that have none: one that defines it is linked with its own.
extern const fr_drafter_method *const fr_drafter_more_methods[];

const fr_drafter_method *fr_drafter_method_at(int index); // NULL past the last
int fr_drafter_find(const char *name, size_t bytes);      // its index, or -1

#endif
