// facts.h — facts from a model file's header, for choosing a model to run.
#ifndef FR_CATALOG_FACTS_H
#define FR_CATALOG_FACTS_H
#include "model/config.h"
#include "text/tokenizer.h"

enum { FR_QUANTIZATION = 16 };

typedef struct fr_model_facts {
    uint64_t bytes, parameters;         // of all its files; 0: not known
    char architecture[64];              // "" : not known
    char quantization[FR_QUANTIZATION]; // "": not known
    char name[128];                     // general.name, ""
    bool runs;                          // it opens, where there is memory for it
    fr_error why;                       // why it does not
} fr_model_facts;

// Whether a file is a model that can be run, where there is memory for it: checks numbers, tensors and
// vocabulary, and that they fit each other. *out is its tokenizer, which the caller closes; NULL after
// an error. Errors are those of fr_model_check and fr_tokenizer_open, and FR_EDATA for more tokens than
// the embeddings have rows.
fr_status fr_model_judge(fr_tokenizer **out, const fr_gguf *g, fr_error *err);

// Reads the header, with the vocabulary, and tables of RoPE. *f is filled as far as the file can be
// read.
void fr_model_facts_read(fr_model_facts *f, const char *path);
uint64_t fr_model_parameters(const fr_gguf *g);   // values of all tensors
uint64_t fr_model_tensor_bytes(const fr_gguf *g); // of all tensors in the file
// The mixture that the file names (general.file_type), as Q4_K_M; else the type that most of its
// bytes have; "": not known.
void fr_model_quantization(const fr_gguf *g, char to[FR_QUANTIZATION]);

#endif
