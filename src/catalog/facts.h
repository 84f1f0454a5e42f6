// facts.h — what a model file's header says to somebody who looks for a model to run.
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
    bool runs;                          // opens, where there is memory for it
    fr_error why;                       // else: the reason
} fr_model_facts;

// Whether a file is a model that can be run, where there is memory for it: numbers, tensors and
// vocabulary, and whether they fit each other. *out: its tokenizer, the caller's, or NULL after an
// error: those of fr_model_check and fr_tokenizer_open.
fr_status fr_model_judge(fr_tokenizer **out, const fr_gguf *g, fr_error *err);

// Reads the header alone. *f is filled as far as the file can be read.
void fr_model_facts_read(fr_model_facts *f, const char *path);
uint64_t fr_model_parameters(const fr_gguf *g); // values of all tensors
// The mixture that the file names (general.file_type), as Q4_K_M; else the type that most of its
// bytes have; "": not known.
void fr_model_quantization(const fr_gguf *g, char to[FR_QUANTIZATION]);

#endif
