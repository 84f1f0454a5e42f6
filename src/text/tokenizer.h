// tokenizer.h — text to token ids and back, as the model file's own vocabulary says.
//
// Two kinds: byte-level BPE (tokenizer.ggml.model "gpt2": a regular expression splits text into
// words, ranked merges join their bytes) and SentencePiece BPE ("llama": no words, scored merges,
// bytes as a last resort). A tokenizer copies what it needs, so the file may be closed after open.
// It is read-only once open: any number of threads may use one at the same time. What can fail
// returns fr_status.
#ifndef FR_TEXT_TOKENIZER_H
#define FR_TEXT_TOKENIZER_H
#include "base/watch.h"
#include "text/marked.h"

struct fr_gguf;
typedef struct fr_tokenizer fr_tokenizer;

// A growable list of token ids. {0} is empty; fr_ids_free returns it to that.
typedef struct fr_ids {
    int32_t *data;
    size_t n, cap;
} fr_ids;
fr_status fr_ids_push(fr_ids *ids, int32_t id,
                      fr_error *err); // FR_ENOMEM leaves the list as it was
void fr_ids_free(fr_ids *ids);

typedef enum fr_token_type { // the values of tokenizer.ggml.token_type
    FR_TOKEN_NORMAL = 1,
    FR_TOKEN_UNKNOWN = 2,
    FR_TOKEN_CONTROL = 3,
    FR_TOKEN_USER = 4, // matched in text before anything else
    FR_TOKEN_UNUSED = 5,
    FR_TOKEN_BYTE = 6,
} fr_token_type;

// Reads the tokenizer.ggml.* keys of `file`. FR_EDATA: a key is missing or broken; FR_EUNSUP: a
// kind of tokenizer or of pre-split that is not known, named in the sentence.
fr_status fr_tokenizer_open(fr_tokenizer **out, const struct fr_gguf *file, fr_error *err);
void fr_tokenizer_close(fr_tokenizer *t); // NULL is fine

enum {
    FR_PARSE_SPECIAL =
        1, // control tokens written in the text become their ids; user-defined ones always do
};
// Appends the ids of text[0, bytes) to *ids; no BOS or EOS is added. Text may hold NUL. Invalid
// UTF-8 is not an error: byte-level BPE reads it as U+FFFD (one for every maximal part of a
// character, as stream.h), SentencePiece keeps it as byte tokens. What the vocabulary has no token
// for becomes the unknown token in SentencePiece and is left out in byte-level BPE, as the models
// were trained. A word of more than 1 MiB is cut. On failure *ids holds what it held before.
// FR_EARG: more than 1 GiB of text; FR_ENOMEM.
fr_status fr_tokenizer_encode(const fr_tokenizer *t, const char *text, size_t bytes, unsigned flags,
                              fr_ids *ids, fr_error *err);
// The same of a text that may be long; FR_EINTR: it is not wanted any more.
fr_status fr_tokenizer_encode_watched(const fr_tokenizer *t, const char *text, size_t bytes,
                                      unsigned flags, const fr_watch *watch, fr_ids *ids,
                                      fr_error *err);
// The same of text that is known by who wrote it: control tokens are read where all their bytes are
// the template's. Where two runs meet, nothing else changes.
fr_status fr_tokenizer_encode_marked(const fr_tokenizer *t, const fr_marked *text,
                                     const fr_watch *watch, fr_ids *ids, fr_error *err);
// A lower bound of the tokens that encode makes of the text, in far less time. A text for which there is
// no room can be refused by it.  [fewest.c]
size_t fr_tokenizer_fewest(const fr_tokenizer *t, const char *text, size_t bytes);

// Appends the bytes that ids stand for (control tokens as they are written) to *text: the inverse
// of encode, so a space that encode put in front is taken away. Bytes need not be valid UTF-8.
// Behind the unknown token a space stays: SentencePiece's "<unk>a", read with FR_PARSE_SPECIAL,
// comes back as "<unk> a". The ids do not tell whether the text said <unk>, behind which encode
// puts a space, or held a character without a token, behind which the space is the text's own.
// FR_EARG: an id outside the vocabulary.
fr_status fr_tokenizer_decode(const fr_tokenizer *t, const int32_t *ids, size_t n, fr_buffer *text,
                              fr_error *err);

// Appends the text of ids that a model generated, as a session hands it out: the bytes of each
// (fr_token_shown), so that a space in front of the first stays, up to the first token that ends an
// answer, as whole UTF-8 with U+FFFD for what is none. Ids may lie outside the vocabulary.
// FR_ENOMEM leaves *text as it was.
fr_status fr_tokenizer_answer(const fr_tokenizer *t, const int32_t *ids, size_t n, fr_buffer *text,
                              fr_error *err);

// The bytes of one token, control tokens as they are written; *bytes is their number. Lives as long
// as the tokenizer, NUL-terminated. Outside the vocabulary: NULL and 0.
const char *fr_token_bytes(const fr_tokenizer *t, int32_t id, size_t *bytes);
// The bytes that a token adds to generated text: none where it is control, unknown, or one of the
// rows that pad a model's matrices beyond its vocabulary. Never NULL.
const char *fr_token_shown(const fr_tokenizer *t, int32_t id, size_t *bytes);
size_t fr_token_longest(const fr_tokenizer *t); // the most bytes any token has
fr_token_type fr_token_type_of(const fr_tokenizer *t,
                               int32_t id); // FR_TOKEN_UNUSED outside the vocabulary
bool fr_token_is_control(const fr_tokenizer *t, int32_t id); // control or unknown: not text
bool fr_token_is_end(const fr_tokenizer *t,
                     int32_t id); // a model that gives this token has finished

// The special token that is exactly these bytes, or -1.
int32_t fr_tokenizer_find(const fr_tokenizer *t, const char *text, size_t bytes);
// Whether the text holds the spelling of a token that never becomes text: a control token, or one that
// ends an answer.
bool fr_tokenizer_names_control(const fr_tokenizer *t, const char *text, size_t bytes);
int fr_tokenizer_size(const fr_tokenizer *t); // ids are 0..size-1

// Ids with a task of their own, -1 where the file names none, and whether a prompt begins with bos
// / ends with eos.
typedef struct fr_special_ids {
    int32_t bos, eos, eot, eom, unknown, pad;
    int32_t fim_prefix, fim_suffix, fim_middle, fim_pad, fim_repository, fim_file; // fim.h
    int32_t fim_end; // Code Llama's, at the end of a middle
    bool add_bos, add_eos, add_space_prefix;
} fr_special_ids;
const fr_special_ids *fr_tokenizer_special(const fr_tokenizer *t);
// A sentence on a wrong entry of the file that was left out, as an id beyond the vocabulary. NULL: none.
const char *fr_tokenizer_note(const fr_tokenizer *t);

#endif
