// options.h — options of a drafter of the lab that is one of forerun's with something changed.
#ifndef LAB_DRAFT_OPTIONS_H
#define LAB_DRAFT_OPTIONS_H
#include "draft/shared/config.h"

enum { LAB_OPTIONS = 64, LAB_OPTIONS_ADDED = 2 };

// Reads those of `all` (NULL-terminated, or NULL) that are in the table `own` into `self`; the
// others, which are forerun's drafter's, go to rest, NULL-terminated, with room for
// LAB_OPTIONS_ADDED more. FR_EARG as fr_drafter_read; more than that leaves room for.
fr_status lab_read_options(void *self, const char *name, const fr_drafter_option *own,
                           const char *const *all, const char *rest[LAB_OPTIONS], fr_error *err);

#endif
