// qtype.c — the table of tensor types.
#include "kern/qtype.h"
#include <assert.h>
#include <stddef.h>

// clang-format off
static const fr_qtype types[FR_TYPE_LIMIT] = {
    [FR_TYPE_F32]    = {FR_TYPE_F32,    "f32",    1,   4},
    [FR_TYPE_F16]    = {FR_TYPE_F16,    "f16",    1,   2},
    [FR_TYPE_Q4_0]   = {FR_TYPE_Q4_0,   "q4_0",   32,  18},
    [FR_TYPE_Q4_1]   = {FR_TYPE_Q4_1,   "q4_1",   32,  20},
    [FR_TYPE_Q5_0]   = {FR_TYPE_Q5_0,   "q5_0",   32,  22},
    [FR_TYPE_Q5_1]   = {FR_TYPE_Q5_1,   "q5_1",   32,  24},
    [FR_TYPE_Q8_0]   = {FR_TYPE_Q8_0,   "q8_0",   32,  34},
    [FR_TYPE_Q2_K]   = {FR_TYPE_Q2_K,   "q2_k",   256, 84},
    [FR_TYPE_Q3_K]   = {FR_TYPE_Q3_K,   "q3_k",   256, 110},
    [FR_TYPE_Q4_K]   = {FR_TYPE_Q4_K,   "q4_k",   256, 144},
    [FR_TYPE_Q5_K]   = {FR_TYPE_Q5_K,   "q5_k",   256, 176},
    [FR_TYPE_Q6_K]   = {FR_TYPE_Q6_K,   "q6_k",   256, 210},
    [FR_TYPE_IQ4_NL] = {FR_TYPE_IQ4_NL, "iq4_nl", 32,  18},
    [FR_TYPE_IQ4_XS] = {FR_TYPE_IQ4_XS, "iq4_xs", 256, 136},
    [FR_TYPE_BF16]   = {FR_TYPE_BF16,   "bf16",   1,   2},
};

// Types that files hold and this engine does not read.
static const struct { uint32_t id; const char *name; } others[] = {
    {4, "q4_2"},     {5, "q4_3"},     {9, "q8_1"},    {15, "q8_k"},   {16, "iq2_xxs"}, {17, "iq2_xs"},
    {18, "iq3_xxs"}, {19, "iq1_s"},   {21, "iq3_s"},  {22, "iq2_s"},  {24, "i8"},      {25, "i16"},
    {26, "i32"},     {27, "i64"},     {28, "f64"},    {29, "iq1_m"},  {34, "tq1_0"},   {35, "tq2_0"},
    {39, "mxfp4"},
};
// clang-format on

const fr_qtype *fr_qtype_of(uint32_t id) {
    if (id >= FR_TYPE_LIMIT || !types[id].name) return NULL;
    return &types[id];
}

const char *fr_qtype_name(uint32_t id) {
    const fr_qtype *t = fr_qtype_of(id);
    if (t) return t->name;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].id == id) return others[i].name;
    return "unknown type";
}

int64_t fr_qtype_row_bytes(fr_type type, int64_t n) {
    const fr_qtype *t = fr_qtype_of((uint32_t)type);
    assert(t && n >= 0 && n % t->block == 0);
    return n / t->block * t->bytes;
}
