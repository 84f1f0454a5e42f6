// options.c — the options that several commands share.
#include "base/pool.h"
#include "cmd/lib/cmd.h"
#include "decode/draw/sampler.h"
#include <limits.h>
#include <string.h>

#define AT(member) offsetof(fr_cmd_args, member)
#define END                                                                                        \
    { .name = NULL }
#define DIGITS(number)    DIGITS_OF(number) // as they stand in the definition
#define DIGITS_OF(number) #number
static const char isa_names[] = "auto|scalar|avx2|avx-vnni|avx512|amx"; // by fr_isa
static const char kv_types[] = "f16|q8_0|f16+q8_0";                     // by fr_kv_type

// clang-format off
#define MODEL   {"model",    'm', FR_OPT_MODEL, AT(model),  "MODEL", NULL, NULL, "the model: a GGUF file, a folder that holds one, or a name from 'forerun models'", 0, 0, NULL}
#define THREADS {"threads",  't', FR_OPT_INT,  AT(threads), "N", NULL, "the physical cores this process may use", "number of compute threads", 1, FR_MAX_THREADS, NULL}
#define CONTEXT {"ctx-size", 'c', FR_OPT_INT,  AT(ctx),     "N", NULL, "as many as needed, at most the model's", "size of the context in tokens", 1, 1 << 24, NULL}
#define ISA     {"isa",      0,   FR_OPT_ENUM, AT(isa),     NULL, "auto", "auto, the best this CPU has", "instruction set of the kernels; all give the same bytes", 0, 0, isa_names}
#define LOWMEM  {"low-memory", 0, FR_OPT_FLAG, AT(low_memory), NULL, NULL, NULL, "leave the weights in the mapped file: less memory, no loading time, slower passes, the same bytes", 0, 0, NULL}
#define KV_TYPE {"kv-type",  0,   FR_OPT_ENUM, AT(kv_type), NULL, "f16", NULL, "type of the KV cache: q8_0 takes half the memory of f16 and rounds more, on some models far too much; f16+q8_0 rounds only the values and takes three quarters", 0, 0, kv_types}
static const fr_option model[] = {MODEL, THREADS, CONTEXT, ISA, LOWMEM, KV_TYPE, END};
static const fr_option engine[] = {MODEL, THREADS, ISA, LOWMEM, KV_TYPE, END};
static const fr_option file[] = {
    {"model",    'm', FR_OPT_MODEL, AT(model),  "MODEL", NULL, NULL, "the model: a GGUF file, a folder that holds one, or a name from 'forerun models'; its weights are not read", 0, 0, NULL},
    END};
static const fr_option draft[] = {
    {"drafter",   0, FR_OPT_SPEC,   AT(drafter),  "SPEC", "auto", NULL, "the drafter: NAME, NAME:FILE, several of these joined with '+', or auto", 0, 0, NULL},
    FR_CMD_TREE,
    {"no-adapt",  0, FR_OPT_FLAG,   AT(no_adapt), NULL, NULL, NULL, "use trees of the full size in every pass, whatever they cost (for comparisons)", 0, 0, NULL},
    {"draft-opt", 0, FR_OPT_LIST,   AT(draft_opts), "KEY=VALUE", NULL, NULL, "setting of the drafter; may be repeated ('forerun run --help-drafters' lists the settings)", 0, 0, NULL},
    FR_CMD_ACCEPT,
    END};
#define SAMPLING(temperature) \
    {"temp",           0,   FR_OPT_FLOAT, AT(temp),           "T", temperature, NULL, "temperature; 0: greedy", 0, FR_TEMPERATURE_MAX, NULL}, \
    {"top-k",          0,   FR_OPT_INT,   AT(top_k),          "N", DIGITS(FR_USUAL_TOP_K), NULL, "draw from the N likeliest tokens; 0: off", 0, INT_MAX, NULL}, \
    {"top-p",          0,   FR_OPT_FLOAT, AT(top_p),          "P", DIGITS(FR_USUAL_TOP_P), NULL, "draw from the likeliest tokens whose probabilities add up to P; 1: off, 0: only the best token", 0, 1, NULL}, \
    {"min-p",          0,   FR_OPT_FLOAT, AT(min_p),          "P", DIGITS(FR_USUAL_MIN_P), NULL, "drop tokens less probable than P times the best token; 0: off", 0, 1, NULL}, \
    {"repeat-penalty", 0,   FR_OPT_FLOAT, AT(repeat_penalty), "R", "1",    NULL, "make tokens of the preceding text less likely; 1: off", 0.01, FR_REPEAT_PENALTY_MAX, NULL}, \
    {"repeat-last-n",  0,   FR_OPT_INT,   AT(repeat_last_n),  "N", DIGITS(FR_USUAL_REPEAT_LAST_N), NULL, "number of preceding tokens that the penalty applies to; -1: the whole context, 0: none", -1, INT_MAX, NULL}, \
    {"seed",           's', FR_OPT_U64,   AT(seed),           "N", NULL, "random; it is printed", "seed of the random draws; the same seed gives the same bytes", 0, 0, NULL}, \
    END
static const fr_option sampling[] = {SAMPLING("0")};
static const fr_option chat_sampling[] = {SAMPLING("0.7")};
static const fr_option serve_sampling[] = {SAMPLING(DIGITS(FR_USUAL_TEMPERATURE))};
#define QUIET {"quiet", 'q', FR_OPT_FLAG, AT(quiet), NULL, NULL, NULL, "print no progress and no statistics on stderr", 0, 0, NULL}
static const fr_option output[] = {
    {"json",  0,   FR_OPT_FLAG, AT(json),  NULL, NULL, NULL, "print one JSON document and nothing else", 0, 0, NULL},
    QUIET,
    END};
static const fr_option quiet[] = {QUIET, END};
// clang-format on

const fr_option_group fr_cmd_model_options = {"Model", model};
const fr_option_group fr_cmd_engine_options = {"Model", engine};
const fr_option_group fr_cmd_file_options = {"Model", file};
const fr_option_group fr_cmd_draft_options = {"Drafting", draft};
const fr_option_group fr_cmd_sampling_options = {"Sampling", sampling};
const fr_option_group fr_cmd_chat_sampling_options = {"Sampling", chat_sampling};
const fr_option_group fr_cmd_serve_sampling_options = {"Sampling", serve_sampling};
const fr_option_group fr_cmd_output_options = {"Output", output};
const fr_option_group fr_cmd_quiet_options = {"Output", quiet};

const char *fr_cmd_isa(const fr_cmd_args *args) {
    return args->isa ? fr_isa_name((fr_isa)(args->isa - 1)) : "auto";
}

const char *fr_cmd_kv_type(const fr_cmd_args *args) {
    return fr_kv_type_name((fr_kv_type)args->kv_type);
}

fr_kv_type fr_cmd_kv_kind(const fr_cmd_args *args) {
    return (fr_kv_type)args->kv_type;
}
