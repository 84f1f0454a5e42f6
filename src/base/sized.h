// sized.h — structs of callers, which may be compiled with an older or a newer forerun.h.
//
// Such a struct begins with its `size_t size`, ends without padding, and only grows at its end; 0
// is the default of members that a later header has added.
#ifndef FR_BASE_SIZED_H
#define FR_BASE_SIZED_H
#include "base/status.h"

// Copies `from` (NULL: nothing) to *to, of `known` bytes; bytes that `from` lacks become 0, and its
// size becomes `known`. `name` is the type's, for errors. FR_EARG: the size is 0, smaller than the
// size member, absurd or cuts a member. Or bytes beyond `known` are not 0: they request a feature
// that this library lacks.
fr_status fr_sized_read(void *to, size_t known, const void *from, const char *name, fr_error *err);

// Whether a struct ends with this member: where padding follows, an older caller's padding would be
// taken for a later header's member.
#define FR_SIZED_ENDS_WITH(type, member)                                                           \
    _Static_assert(offsetof(type, member) + sizeof((type){0}.member) == sizeof(type),              \
                   #type " ends in padding");                                                      \
    _Static_assert(offsetof(type, size) == 0, #type " begins with its size")

#endif
