// tree_option.h — the words of --tree: a number of nodes, or a shape from a file.
#ifndef FR_DECODE_TREE_OPTION_H
#define FR_DECODE_TREE_OPTION_H
#include "tree/shape.h"

typedef struct fr_tree_size {
    int nodes;      // most nodes, root included; 0: chosen by cost
    fr_shape shape; // n 0: any; else a pass takes the proposal's nodes that are in it
} fr_tree_size;

// "auto" (NULL too), a number of nodes besides the root, or the path of a file that holds a shape
// as text. FR_EARG: none of these; FR_EIO, FR_EDATA with the path.
fr_status fr_tree_size_read(fr_tree_size *out, const char *words, fr_error *err);

#endif
