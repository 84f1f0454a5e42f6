// sized.h — structs of callers, who may have been compiled with an older or a newer forerun.h.
//
// Such a struct begins with its `size_t size`, ends without padding, and is only ever continued at
// its end; in what a later header has added, 0 is the default.
#ifndef FR_BASE_SIZED_H
#define FR_BASE_SIZED_H
#include "base/status.h"

// *to, of `known` bytes, becomes what `from` covers (NULL: nothing) and 0 beyond, its size `known`.
// `name` is the type's, for sentences. FR_EARG: the size is 0, less than itself, absurd or cuts a
// member; or bytes beyond what is known are not 0, for they ask for something that this library cannot
// do.
fr_status fr_sized_read(void *to, size_t known, const void *from, const char *name, fr_error *err);

// Whether a struct ends with this member: where padding follows, an older caller's padding would be
// taken for a later header's member.
#define FR_SIZED_ENDS_WITH(type, member)                                                           \
    _Static_assert(offsetof(type, member) + sizeof((type){0}.member) == sizeof(type),              \
                   #type " ends in padding");                                                      \
    _Static_assert(offsetof(type, size) == 0, #type " begins with its size")

#endif
