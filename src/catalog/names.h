// names.h — what the names of model files say. Private to src/catalog.
#ifndef FR_CATALOG_NAMES_H
#define FR_CATALOG_NAMES_H
#include <stdbool.h>
#include <stddef.h>

bool fr_name_same(const char *a, const char *b); // whatever their case (ASCII)
// Whether `text` begins so, whatever its case.
bool fr_name_begins(const char *text, const char *begin);

// Whether a file of this name is a model, or the first part of one, that runs by itself: a .gguf,
// but no projector, importance matrix or drafter's companion by the names that these have.
bool fr_name_is_model(const char *name);

// Whether a file is of this quantization by its name: QUANT followed by '.' or '-', anywhere in it,
// whatever its case.
bool fr_name_has_quant(const char *name, const char *quant);
// The word for the quantization: the letters, digits and '_' after the last '-' or '.' of the name
// without its ending. Its bytes, *at where it begins; 0: there is none.
size_t fr_name_quant(const char *name, const char **at);

#endif
