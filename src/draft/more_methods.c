// more_methods.c — methods that a program adds: none. Where a program defines the table itself, the
// linker leaves this file in the library, so nothing else may stand in it.
#include "draft/registry.h"

const fr_drafter_method *const fr_drafter_more_methods[] = {NULL};
