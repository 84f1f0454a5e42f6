// text_batch.h — many texts through one target at once: every pass carries rows of all of them.
//
// A pass of 32 rows takes little longer per row than the machine needs at best, so 32 texts that
// each wait for one token are answered several times faster than one after the other. A *member* is
// one text on its way: its KV, its tokens, and what a sample keeps of its rows (shard.h). Rows of
// prompts fill what the waiting members leave free. A row's result does not depend on its company
// (docs/numerics.md), so an answer is the bytes that `run` gives for the same prompt and seed.
//
// A member keeps its context when it takes its next text and evaluates only what differs: what all
// prompts begin with is read once a member, and a conversation's next turn continues where the last
// one ended.
#ifndef FR_TRAIN_DATA_TEXT_BATCH_H
#define FR_TRAIN_DATA_TEXT_BATCH_H
#include "decode/draw/sampler.h"
#include "model/forward.h"
#include "text/tokenizer.h"
#include "train/data/shard.h"

enum { FR_TEXT_BATCH_MAX = 128 };

typedef struct fr_batch_text { // what a member is to read, and whether it is to write
    uint64_t key;
    const int32_t *ids; // [n], copied; 1 <= n, n + n_predict <= n_ctx
    int n;
    const uint8_t
        *answer;   // [n] or NULL: token i counts as the target's; its row before has a distribution
    int n_predict; // most new tokens; 0: reads only
    fr_sampling sampling;
} fr_batch_text;

typedef struct fr_text_batch_user {
    void *user;
    // The next text for `member`; false: there is none left.
    bool (*next)(void *user, int member, fr_batch_text *text);
    // A text is at its end: the sample (valid during the call) holds it with what was written from
    // ids[n_prompt] on. To continue with the same member, fill *more and return true.
    bool (*done)(void *user, int member, const fr_sample *sample, int n_prompt,
                 fr_batch_text *more);
    bool (*keep_going)(void *user); // polled before every pass
} fr_text_batch_user;

typedef struct fr_text_batch_stats {
    uint64_t passes, rows, texts;
    uint64_t written, given;      // tokens of answers: the target's own, and of texts that had them
    double seconds, pass_seconds; // all; in passes alone
} fr_text_batch_stats;

typedef struct fr_text_batch fr_text_batch;
typedef struct fr_text_batch_size {
    int n_members;      // texts at once, 1..FR_TEXT_BATCH_MAX
    int n_ctx;          // tokens of a text at most
    fr_kv_type kv_type; // how their keys and values are kept
} fr_text_batch_size;
// `tokenizer` determines the tokens that end an answer. FR_ENOMEM; FR_EUNSUP: heads that kv_type
// does not support.
fr_status fr_text_batch_open(fr_text_batch **out, const fr_model *m, const fr_tokenizer *tokenizer,
                             const fr_shard_format *keep, const fr_text_batch_size *size,
                             fr_error *err);
void fr_text_batch_close(fr_text_batch *l); // NULL is fine
size_t fr_text_batch_bytes(const fr_model *m, const fr_shard_format *keep,
                           const fr_text_batch_size *size);
// Runs until no member has a text. FR_EINTR: keep_going returned false; FR_EDATA: the model's
// logits or final states are not finite, which ends all texts.
fr_status fr_text_batch_run(fr_text_batch *l, const fr_text_batch_user *user, fr_error *err);
// Between passes: every member's KV is sound and without scratch, and of its text no more is read,
// kept or written than there is.
bool fr_text_batch_is_sound(const fr_text_batch *l);
fr_text_batch_stats fr_text_batch_report(const fr_text_batch *l);
// Seconds of a pass with one row in each of the first `rows` members (at most n_members), after the
// contexts that they have now: the least of a few. What the members could do at best.
double fr_text_batch_pass_seconds(fr_text_batch *l, int rows);

#endif
