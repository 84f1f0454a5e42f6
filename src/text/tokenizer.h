// tokenizer.h — text to token ids and back, with the vocabulary of the model file.
//
// Three kinds: byte-level BPE (tokenizer.ggml.model "gpt2": a regular expression splits text into
// words, ranked merges join their bytes), SentencePiece BPE ("llama": no words, scored merges,
// bytes as a last resort), and ranked merges of characters ("gemma4"). A tokenizer copies what it needs, so the file may be closed after open.
// It is read-only once open: any number of threads may use it at the same time. Functions that can
// fail return fr_status.
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

// Reads the tokenizer.ggml.* keys of `file`. FR_EDATA: a key is missing or broken; FR_EUNSUP: an
// unknown kind of tokenizer or of pre-split, which the sentence names.
fr_status fr_tokenizer_open(fr_tokenizer **out, const struct fr_gguf *file, fr_error *err);
void fr_tokenizer_close(fr_tokenizer *t); // NULL is fine

enum {
    FR_PARSE_SPECIAL =
        1, // control tokens written in the text become their ids; user-defined ones always do
};
// Appends the ids of text[0, bytes) to *ids; no BOS or EOS is added. Text may hold NUL. Invalid
// UTF-8 is not an error: BPE with ranked merges reads it as U+FFFD (one for every maximal part of a
// character, as stream.h), SentencePiece keeps it as byte tokens. Text without a token becomes the
// unknown token in SentencePiece and is left out elsewhere, as in the models' training. A
// word of more than 1 MiB is cut. On failure *ids is unchanged. FR_EARG: more than 1 GiB of text;
// FR_ENOMEM.
fr_status fr_tokenizer_encode(const fr_tokenizer *t, const char *text, size_t bytes, unsigned flags,
                              fr_ids *ids, fr_error *err);
// The same for a text that may be long; FR_EINTR: it is not wanted any more.
fr_status fr_tokenizer_encode_watched(const fr_tokenizer *t, const char *text, size_t bytes,
                                      unsigned flags, const fr_watch *watch, fr_ids *ids,
                                      fr_error *err);
// The same for a text with marks: a control token is read only where the template wrote all its
// bytes, and so is a user-defined one that marks calls, results or thinking, as Gemma 4's <|"|>.
// FR_MARK_PLAIN has the latter too. Borders between runs have no other effect.
fr_status fr_tokenizer_encode_marked(const fr_tokenizer *t, const fr_marked *text,
                                     const fr_watch *watch, fr_ids *ids, fr_error *err);
// A lower bound of the number of tokens that encode makes of the text, in far less time. Callers
// use it to refuse texts that are too long.  [fewest.c]
size_t fr_tokenizer_fewest(const fr_tokenizer *t, const char *text, size_t bytes);

// Appends the bytes of ids (control tokens as they are spelled) to *text. This is the inverse of
// encode, so a space that encode put in front is removed. Bytes need not be valid UTF-8. A space
// after the unknown token stays: SentencePiece's "<unk>a", read with FR_PARSE_SPECIAL, is decoded
// as "<unk> a". The unknown token has two origins, which the ids do not distinguish. After "<unk>"
// in the text encode inserts a space; after a character without a token the space is the text's
// own. FR_EARG: an id outside the vocabulary.
fr_status fr_tokenizer_decode(const fr_tokenizer *t, const int32_t *ids, size_t n, fr_buffer *text,
                              fr_error *err);

// Appends the text of ids that a model generated, as sessions stream it: the bytes of each token
// (fr_token_shown) up to the first token that ends an answer. A space before the first token stays.
// The text is whole UTF-8, with U+FFFD for invalid bytes. Ids may be outside the vocabulary.
// FR_ENOMEM leaves *text as it was.
fr_status fr_tokenizer_answer(const fr_tokenizer *t, const int32_t *ids, size_t n, fr_buffer *text,
                              fr_error *err);

// The bytes of one token, NUL-terminated, control tokens as they are spelled; *bytes is their
// number. They live as long as the tokenizer. Outside the vocabulary: NULL and 0.
const char *fr_token_bytes(const fr_tokenizer *t, int32_t id, size_t *bytes);
// The bytes that a token adds to generated text. Control tokens, unknown tokens, and the rows that
// pad a model's matrices beyond its vocabulary add none. Never NULL.
const char *fr_token_shown(const fr_tokenizer *t, int32_t id, size_t *bytes);
size_t fr_token_longest(const fr_tokenizer *t); // the most bytes any token has
fr_token_type fr_token_type_of(const fr_tokenizer *t,
                               int32_t id); // FR_TOKEN_UNUSED outside the vocabulary
bool fr_token_is_control(const fr_tokenizer *t, int32_t id); // control or unknown: not text
bool fr_token_is_end(const fr_tokenizer *t,
                     int32_t id); // a model that generates it has finished

// The special token with exactly these bytes, or -1.
int32_t fr_tokenizer_find(const fr_tokenizer *t, const char *text, size_t bytes);
// Whether the text contains the spelling of a token that never becomes text: a control token, or
// one that ends an answer.
bool fr_tokenizer_names_control(const fr_tokenizer *t, const char *text, size_t bytes);
int fr_tokenizer_size(const fr_tokenizer *t); // ids are 0..size-1

// Ids with a task of their own (-1: the file names none), and whether a prompt begins with bos and
// ends with eos.
typedef struct fr_special_ids {
    int32_t bos, eos, eot, eom, unknown, pad;
    int32_t fim_prefix, fim_suffix, fim_middle, fim_pad, fim_repository, fim_file; // fim.h
    int32_t fim_end; // Code Llama's, at the end of a middle
    bool add_bos, add_eos, add_space_prefix;
} fr_special_ids;
const fr_special_ids *fr_tokenizer_special(const fr_tokenizer *t);
// A sentence about a wrong entry of the file that was left out, such as an id beyond the
// vocabulary. NULL: none.
const char *fr_tokenizer_note(const fr_tokenizer *t);

#endif
