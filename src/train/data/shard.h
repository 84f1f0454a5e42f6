// shard.h — what a target gave on texts, kept in files: the training data of feature drafters.
//
// A *sample* is one conversation: its tokens, the final hidden state of every row, residuals of
// chosen layers, and the distribution of the next token for tokens of answers (the likeliest `top`
// tokens). A *shard* is a file of some samples with a checksum over all of it, written whole or not
// at all (a temporary file, synced, renamed); a folder of shards is a data set. Whoever is
// interrupted continues with the samples whose keys are not there yet. The files are mapped, so a
// data set may be larger than memory.
#ifndef FR_TRAIN_DATA_SHARD_H
#define FR_TRAIN_DATA_SHARD_H
#include "base/status.h"
#include "gguf/gguf.h"

enum { FR_SHARD_TAPS = 8, FR_SHARD_TOP = 64, FR_SHARD_BYTES = 64 << 20 }; // of a file, about

typedef struct fr_shard_format {
    char target[FR_GGUF_FINGERPRINT]; // fingerprint of the model that the states are of
    int d, n_vocab;
    int n_taps, taps[FR_SHARD_TAPS]; // layers whose residual is kept, ascending
    int top;                         // tokens of a distribution, 1..FR_SHARD_TOP
} fr_shard_format;

enum {                       // flags of a row
    FR_ROW_ANSWER = 1,       // the token after it is the target's own: it counts in a loss
    FR_ROW_DISTRIBUTION = 2, // it has a distribution
};

// n rows, and the n + 1 tokens that they read and predict: row i read ids[i], its distribution is
// that of ids[i + 1]. f16 numbers are IEEE half bits (kern/half.h).
typedef struct fr_sample {
    uint64_t key; // which text it is of, unique in a data set
    int n;
    int whole;      // 0, or the rows that it had before it was cut to n: the stride of tap
    int dist_first; // the first row that may have a distribution; rows [dist_first, n) have room for one
    const int32_t *ids;      // [n + 1]
    const uint8_t *flags;    // [n]
    const uint16_t *final;   // [n][d]: after the final norm
    const uint16_t *tap;     // [n_taps][n or whole][d], or NULL
    const int32_t *dist_id;  // [n - dist_first][top], likeliest first
    const uint16_t *dist_lp; // [n - dist_first][top]: log probability at temperature 1, f16
} fr_sample;

// ---------------------------------------------------------------- reading
typedef struct fr_shards fr_shards;
// All shards of a folder, checked; samples in the order of their keys. FR_EIO, FR_ENOMEM; FR_EDATA:
// a damaged file (named), files that differ in format, or another target than `target` (NULL: any);
// FR_EINTR: `progress` (NULL: none), which counts files, ended it.
// A folder without shards is an empty data set: its count is 0, its format all zeros.
fr_status fr_shards_open(fr_shards **out, const char *dir, const char *target,
                         fr_progress_fn *progress, void *user, fr_error *err);
void fr_shards_close(fr_shards *s); // NULL is fine
const fr_shard_format *fr_shards_format(const fr_shards *s);
int fr_shards_count(const fr_shards *s);
uint64_t fr_shards_answers(const fr_shards *s);                   // rows with FR_ROW_ANSWER
void fr_shards_sample(const fr_shards *s, int i, fr_sample *out); // pointers into the mapping
bool fr_shards_has(const fr_shards *s, uint64_t key);

// ---------------------------------------------------------------- writing
typedef struct fr_shard_writer fr_shard_writer;
// Continues in a folder that may hold shards already (made if missing). FR_EDATA: of another
// format.
fr_status fr_shard_writer_open(fr_shard_writer **out, const char *dir,
                               const fr_shard_format *format, fr_error *err);
// Copies the sample; a shard that has become large is written. FR_ENOMEM, FR_EIO.
fr_status fr_shard_writer_add(fr_shard_writer *w, const fr_sample *sample, fr_error *err);
// Writes what was added since the last shard. FR_EIO: nothing is left half-written.
fr_status fr_shard_writer_flush(fr_shard_writer *w, fr_error *err);
void fr_shard_writer_close(fr_shard_writer *w); // drops what was not flushed; NULL is fine
// Bytes on disk of `rows` rows, `dists` of them with a distribution: the estimate before a capture
// starts.
uint64_t fr_shard_bytes(const fr_shard_format *f, uint64_t rows, uint64_t dists);

#endif
