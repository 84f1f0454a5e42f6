// engine.h — what an engine is made of, for programs of this project that need more than
// forerun.h.
#ifndef FR_ENGINE_ENGINE_H
#define FR_ENGINE_ENGINE_H
#include "catalog/facts.h"
#include "decode/decoder.h"
#include "draft/shared/shared.h"
#include "engine/text.h"
#include "tune/profile.h"
#include <stdatomic.h>

enum { FR_PROFILE_PATH = 4096 };

struct fr_engine {
    // The caller, until fr_engine_close, and each open object that was opened of it. The last one
    // that closes frees the engine.
    atomic_int n_keepers;
    fr_gguf *gguf;
    fr_tokenizer *tokenizer;
    fr_text *text; // of the two
    fr_pool *pool;
    fr_model model;
    fr_shared shared; // what its sessions' drafters know of the model
    fr_engine_info info;
    char quantization[FR_QUANTIZATION]; // as info names it
    fr_profile *profile;                // NULL: fr_engine_profile was not asked
    char profile_path[FR_PROFILE_PATH]; // "": kept nowhere
    bool profile_found;                 // there was one for this model and machine, good or not
    uint64_t unfit_packs;               // a bit of each drafter whose pack `auto` could not open
};

void fr_engine_keep(fr_engine *e); // one keeper more, until its fr_engine_close

// Has every proposal of the session's drafter shown to `watch` (decoder.h); NULL ends it.
void fr_session_watch(fr_session *s, fr_watch_fn *watch, void *user);

// From the next step on the hook, which the caller owns, chooses rows (decode/step_hook.h); NULL
// ends it. For a session that does not adapt, under the exact rule.
void fr_session_hook(fr_session *s, fr_step_hook *hook);

// Lets the drafter propose at every place of the generated text without using the proposals: each
// pass has the root alone, so tokens are those of plain decoding, one a step. `watch` gets each
// proposal, after `dists` got its distributions. False: the drafter has no distributions, or is
// composed of several, and only proposals are reported. Call it before the first generation.
bool fr_session_ask_everywhere(fr_session *s, fr_watch_fn *watch, const fr_dist_watch *dists,
                               void *user);

// A session that is paused takes no part in its group's steps. Its context stays as it is, and its
// generation continues later with the same bytes. A new generation is not paused.
void fr_session_pause(fr_session *s, bool paused);
// Of prompts that a group reads in the same steps, those of a lower order come first, though a part
// of each is read in every step. 0 until it is set.
void fr_session_order(fr_session *s, int order);
// Continues an ended generation of the same request: answer[n] are the tokens that it had given.
// `stream` gets their text again, and the bytes are those of a generation that was never ended. The
// prompt and the n tokens are not scored again: result.prompt_logprobs is NULL, as are the first n
// of result.logprobs. FR_EARG: an id is none of the vocabulary; FR_ECONTEXT: prompt and answer do
// not fit the context; otherwise as fr_session_begin.
fr_status fr_session_begin_again(fr_session *s, const fr_request *request, const int32_t *answer,
                                 int n, fr_error *err);

// The decoder is sound and drafts with the session's drafter; of a generation at work, no more
// tokens are out than there is room for. Without one it owns nothing.
bool fr_session_is_sound(const fr_session *s);

// Measures the cost of passes anew, every pass `rounds` times, and keeps it, after
// fr_engine_profile. *note as there. FR_ENOMEM, FR_EINTR.
fr_status fr_engine_measure(fr_engine *e, int rounds, fr_progress_fn *progress, void *user,
                            fr_error *note, fr_error *err);
// Writes the profile back to where it is kept, if it is; what others tuned in the meantime stays.
// FR_EIO, FR_ENOMEM.
fr_status fr_engine_keep_profile(const fr_engine *e, fr_error *err);

// Fills e->info, once everything else is open.
void fr_engine_take_facts(fr_engine *e, double load_seconds);

#endif
