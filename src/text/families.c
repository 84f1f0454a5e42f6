// families.c — the expressions, then the table of families.
//
// Where a family's tokenizer.json is published, its expressions stand here as they are there. Some
// of llama.cpp's are simpler, see docs/models.md.
#include "text/families.h"
#include <string.h>

// Unicode's White_Space, spelled out: what \s means differs between the engines that tokenizers are
// trained with.
#define SPACE                                                                                      \
    "\\t-\\r "                                                                                     \
    "\\x{85}\\xA0\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}"
#define S     "[" SPACE "]"
#define NOT_S "[^" SPACE "]"
#define OTHER "[^" SPACE "\\p{L}\\p{N}]" // neither space nor letter nor number
#define FRONT "[^\\r\\n\\p{L}\\p{N}]?"   // what a word may begin with

#define BLANKS      "|" S "+(?!" NOT_S ")|" S "+"
#define LINES       "|" S "*[\\r\\n]+" BLANKS
#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"

#define GPT2                 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?" OTHER "+" BLANKS
#define WORDS_AND(number)    FRONT "\\p{L}+|" number "| ?" OTHER "+[\\r\\n]*" LINES
#define WITH_NUMBERS(number) CONTRACTION "|" WORDS_AND(number)
#define QWEN35                                                                                     \
    CONTRACTION "|" FRONT "[\\p{L}\\p{M}]+|\\p{N}| ?[^" SPACE "\\p{L}\\p{M}\\p{N}]+[\\r\\n]"       \
                "*" LINES

// Words where an upper-case letter after a lower-case one begins another word.
#define UPPER                       "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER                       "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED_OF(upper, lower, end) FRONT upper "*" lower "+" end "|" FRONT upper "+" lower "*" end
#define CASED(end)                  CASED_OF(UPPER, LOWER, end)
#define TEKKEN                      CASED("") "|\\p{N}| ?" OTHER "+[\\r\\n/]*" LINES
#define O200K(number)               CASED(CONTRACTION "?") "|" number "| ?" OTHER "+[\\r\\n/]*" LINES
// Kimi K2: the same without Chinese characters, which are words of their own. Script Han, spelled out:
// to newer versions of PCRE2, \p{Han} also means punctuation used with it.
#define HAN                                                                                        \
    "\\x{2E80}-\\x{2FD5}\\x{3005}\\x{3007}\\x{3021}-\\x{3029}\\x{3038}-\\x{303B}"                  \
    "\\x{3400}-\\x{4DBF}\\x{4E00}-\\x{9FFF}\\x{F900}-\\x{FAD9}\\x{16FE2}\\x{16FE3}"                \
    "\\x{16FF0}\\x{16FF1}\\x{20000}-\\x{323AF}"
// UPPER and LOWER by what they are not: one class each, because a group repeated for each character
// takes memory for each.
#define UPPER_NOT_HAN "[^\\p{Ll}\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}" HAN "]"
#define LOWER_NOT_HAN "[^\\p{Lu}\\p{Lt}\\p{N}\\p{P}\\p{S}\\p{Z}\\p{C}" HAN "]"
#define KIMI                                                                                       \
    "[" HAN "]+|" CASED_OF(UPPER_NOT_HAN, LOWER_NOT_HAN, CONTRACTION "?") "|\\p{N}{1,3}| ?" OTHER  \
                                                                          "+[\\r\\n]*" LINES

// DeepSeek V3: an ASCII sign and the letters after it are one word.
#define SIGNED_WORDS                                                                               \
    "[!-/:-@\\[-`{-~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+"
#define CHINESE "\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{30FF}" // and kana
// DeepSeek LLM's list of letters that have case.
#define CASED_LETTERS                                                                              \
    "A-Za-z"                                                                                       \
    "\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{293}"      \
    "\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}"          \
    "\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}"                 \
    "\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}"                     \
    "\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}"                 \
    "\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}"                 \
    "\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}"         \
    "\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}"        \
    "\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}"                 \
    "\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}"         \
    "\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}"         \
    "\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}"                   \
    "\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}"                  \
    "\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}"                 \
    "\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}"                 \
    "\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}"             \
    "\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}"         \
    "\\x{1E900}-\\x{1E943}"
#define FULL_WIDTH_SIGNS                                                                           \
    "\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}"
// A run, from its first blank: from each of them the rest would be searched for the end.
#define BLANKS_AT_END "(?<!" S ")" S "++\\z"
#define FROM_U800     "[\\x{800}-\\x{9FA5}\\x{AC00}-\\x{D7FF}]+"
// AFMoE: ideographs, kana, Thai, Lao, Khmer, Myanmar, Hangul.
#define ASIAN                                                                                      \
    "[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{F900}-\\x{FAFF}\\x{3040}-\\x{30FF}"                \
    "\\x{FF65}-\\x{FF9F}\\x{2F00}-\\x{2FDF}\\x{E40}-\\x{EFF}\\x{1780}-\\x{17FF}"                   \
    "\\x{1000}-\\x{109F}\\x{AA60}-\\x{AA7F}\\x{A9E0}-\\x{A9FF}\\x{AC00}-\\x{D7AF}"                 \
    "\\x{1100}-\\x{11FF}]+"
// Youtu: Hangul, East Asian punctuation, Bopomofo, ideographs and kana.
#define YOUTU_SCRIPTS                                                                              \
    "[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+|"                                                   \
    "[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}\\x{2019}\\x{2014}\\x{FF1A}\\x{FF1B}\\x{FF0C}"  \
    "\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+|[\\x{3105}-\\x{312F}]+|[" CHINESE "]+"
// BLOOM: a word ends where one of these signs stands.
#define BLOOM " ?[^" SPACE "()|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C}]+"
// Jais 2: runs of blanks are cut in powers of two. Within a run there is no newline ahead; without
// the look behind, each part would search the rest of the run for one.
#define NEWLINES "(?:(?<=[\\r\\n])|(?<!" S "))" S "*[\\r\\n]+"
#define POWERS_OF_TWO                                                                              \
    S "{512}(?!" NOT_S ")|" S "{256}(?!" NOT_S ")|" S "{128}(?!" NOT_S ")|" S "{64}(?!" NOT_S      \
      ")|" S "{32}(?!" NOT_S ")|" S "{16}(?!" NOT_S ")|" S "{8}(?!" NOT_S ")|" S "{4}(?!" NOT_S    \
      ")|" S "{1,2}(?!" NOT_S ")|" S
// EXAONE MoE: letters go on after a single space.
#define PHRASES "(?:\\p{L}\\p{M}*+(?: \\p{L}\\p{M}*+)*+)++"
// A number that does not go on as a word.
#define DIGITS_ALONE "\\p{Nd}++(?:(?![\\p{L}\\p{M}\\p{N}\\p{Pc}])|(*SKIP)(*FAIL))"
#define LINES_APART  "[^\\n]+|\\n+"

enum { WHOLE = FR_WORDS_WHOLE, BOS = FR_WORDS_BOS, CHARS = FR_WORDS_CHARS };

const fr_word_family fr_word_families[] = {
    // The rule of the byte-level pre-tokenizer alone.
    {.names = "gpt-2 gpt2 phi-2 mpt olmo exaone4 gigachat a.x-4.0 mellum modern-bert trillion "
              "granite-docling jais",
     .patterns = {GPT2}},
    // Digits one by one, then that rule on what lies between.
    {.names = "smollm starcoder refact command-r codeshell exaone minerva-7b mellum2",
     .patterns = {"\\p{N}", GPT2}},
    {.names = "qwen2 stablelm2 deepseek-r1-qwen megrez kormo f2llmv2 hunyuan solar-open grok-2",
     .patterns = {WITH_NUMBERS("\\p{N}")}},
    {.names = "qwen35", .patterns = {QWEN35}},
    {.names = "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2",
     .patterns = {WITH_NUMBERS("\\p{N}{1,3}")},
     .is = WHOLE | BOS},
    {.names = "glm4 glm5", .patterns = {WITH_NUMBERS("\\p{N}{1,3}")}, .is = WHOLE},
    {.names = "dbrx smaug-bpe chatglm-bpe", .patterns = {WITH_NUMBERS("\\p{N}{1,3}")}},
    {.names = "tekken", .patterns = {TEKKEN}, .is = WHOLE | BOS},
    {.names = "gpt-4o llama4 kanana2 minimax-m2 talkie", .patterns = {O200K("\\p{N}{1,3}")}},
    {.names = "tiny_aya cohere2moe", .patterns = {DIGITS_ALONE, O200K("\\p{N}{1,3}")}, .threes = 1},
    {.names = "kimi-k2", .patterns = {KIMI}},
    {.names = "youtu", .patterns = {YOUTU_SCRIPTS, O200K("\\p{N}")}, .is = WHOLE},
    {.names = "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
     .patterns = {"\\p{N}{1,3}", "[" CHINESE "]+", SIGNED_WORDS "[\\r\\n]*" LINES}},
    {.names = "spark2_5",
     .patterns = {"\\p{N}{1,3}", "[" CHINESE "]+", SIGNED_WORDS "|[\\r\\n]" BLANKS, "\\p{N}"}},
    {.names = "afmoe", .patterns = {"\\p{N}+", ASIAN, SIGNED_WORDS "[\\r\\n]*" LINES}, .threes = 1},
    {.names = "deepseek-llm",
     .patterns = {"[\\r\\n]", S "?[" CASED_LETTERS "]+", S "?[!-/:-~" FULL_WIDTH_SIGNS "]+",
                  BLANKS_AT_END, FROM_U800, "\\p{N}+"}},
    {.names = "deepseek-coder",
     .patterns = {"[\\r\\n]", S "?\\p{L}+", S "?\\p{P}+", FROM_U800, "\\p{N}"}},
    {.names = "seed-coder",
     .patterns = {CONTRACTION "|" FRONT "\\p{L}+|\\p{N}| ?[^" SPACE "\\p{L}\\p{N}\\r\\n]+" LINES}},
    {.names = "bailingmoe bailingmoe2 llada-moe",
     .patterns = {"'(?i:[sdmt]|ll|ve|re)|" FRONT "\\p{L}+|\\p{N}| ?" OTHER "+[\\r\\n]*|" S
                  "*[\\r\\n]" BLANKS}},
    {.names = "exaone-moe",
     .patterns = {CONTRACTION "|" FRONT PHRASES "|\\p{N}| ?" OTHER "+[\\r\\n/]?|" S
                              "*[\\r\\n]" BLANKS}},
    {.names = "superbpe", .patterns = {"\\p{N}+", "\\p{Nd}+"}, .threes = 2},
    {.names = "laguna", .patterns = {LINES_APART, WITH_NUMBERS("\\p{N}")}},
    {.names = "minicpm5", .patterns = {"\\p{N}{1,3}", WITH_NUMBERS("\\p{N}+")}, .is = WHOLE},
    {.names = "ufakzeka", .patterns = {WORDS_AND("\\p{N}")}},
    {.names = "jais-2",
     .patterns = {CONTRACTION "|" FRONT "\\p{L}+|\\p{N}{1,3}| ?" OTHER "+[\\r\\n]*|" NEWLINES
                              "|" POWERS_OF_TWO}},
    {.names = "falcon", .patterns = {"[\\p{P}$+<=>^~|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {.names = "bloom poro-chat gpt3-finnish", .patterns = {BLOOM}},
    {.names = "viking", .patterns = {BLOOM, "\\p{N}"}},
    {.names = "chameleon",
     .patterns = {"<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", "[\\t\\n]|    |  ", "\\p{N}",
                  "[\\p{P}!-/:-@\\[-`{-~]", GPT2},
     .is = BOS},
    {.names = "gemma4", .patterns = {LINES_APART}, .is = CHARS | FR_WORDS_GEMMA4},
    {.names = "sarvam-moe", .patterns = {LINES_APART}, .is = CHARS},
    {.names = "default", .patterns = {"[\\p{P}$+<=>^~|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
};
const size_t fr_n_word_families = sizeof fr_word_families / sizeof *fr_word_families;

const fr_word_family *fr_word_family_find(const char *name, size_t bytes) {
    for (size_t i = 0; i < fr_n_word_families; i++)
        for (const char *at = fr_word_families[i].names; *at;) {
            const size_t n = strcspn(at, " ");
            if (n == bytes && memcmp(at, name, n) == 0) return &fr_word_families[i];
            at += n + (at[n] == ' ');
        }
    return NULL;
}
