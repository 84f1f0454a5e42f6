// test_families.c — the words of each family, by hand from its rule. Words are separated by "¦".
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "text/families.h"
#include "text/presplit.h"

#define CUT "¦"

typedef struct words {
    char text[1024];
    size_t n;
} words;

static fr_status add_word(void *user, const char *word, size_t bytes, fr_error *err) {
    words *w = user;
    (void)err;
    assert_true(bytes > 0 && w->n + bytes + 4 < sizeof w->text);
    if (w->n) memcpy(w->text + w->n, CUT, 2), w->n += 2;
    memcpy(w->text + w->n, word, bytes);
    w->n += bytes;
    w->text[w->n] = 0;
    return FR_OK;
}

static void check_one(const char *family, size_t bytes, const char *joined) {
    fr_presplit *p;
    fr_presplit_state *s;
    fr_error err = {0};
    char text[1024];
    size_t n = 0;
    words w = {.n = 0};
    for (const char *c = joined; *c;)
        if (!strncmp(c, CUT, 2))
            c += 2;
        else
            text[n++] = *c++;
    if (fr_presplit_open(&p, family, bytes, &err)) fail_msg("%s", err.text);
    assert_int_equal(fr_presplit_state_open(&s, p, NULL), FR_OK);
    assert_int_equal(fr_presplit_run(p, s, text, n, add_word, &w, NULL), FR_OK);
    if (strcmp(w.text, joined) != 0)
        fail_msg("%.*s: '%s', and not '%s'", (int)bytes, family, w.text, joined);
    fr_presplit_state_close(s);
    fr_presplit_close(p);
}

// For each of the families, which are separated by spaces.
static void check(const char *families, const char *joined) {
    for (const char *at = families; *at;) {
        const size_t n = strcspn(at, " ");
        check_one(at, n, joined);
        at += n + (at[n] == ' ');
    }
}

static void qwen35_keeps_marks_in_their_words(void **state) {
    (void)state;
    check("qwen35", "हिन्दी¦ में¦!\u0301a¦ e\u0301\u0302x");
    check("qwen35", "don¦'T¦ ¦1¦2¦ ...\n\n¦  ¦ x");
    check("qwen2", "e¦\u0301x");
}

static void o200k_cuts_where_upper_case_follows_lower_case(void **state) {
    (void)state;
    static const char these[] = "gpt-4o llama4 kanana2 minimax-m2 talkie";
    check(these, "XMLHttp¦Request¦ i¦Phone¦ IPhone¦ café¦Éa");
    check(these, "We'LL¦ WE'Ve¦ don't¦ '¦tis");
    check(these, "a¦123¦45¦ ¦½²3¦4");
    check(these, "a¦ //\n/¦b¦ \n\n¦ ¦ c");
    check(these, "हिन्दी¦ में"); // marks belong to words
}

static void numbers_of_tiny_aya_are_cut_from_their_end(void **state) {
    (void)state;
    static const char these[] = "tiny_aya cohere2moe";
    check(these, "12¦345¦ ¦678¦,¦1¦234¦567");
    check(these, "١٢¦٣٤٥");                // other digits too
    check(these, "x¦123¦4¦abc¦ ¦123¦4¦_"); // not where the word goes on
}

static void kimi_s_chinese_characters_are_words_of_their_own(void **state) {
    (void)state;
    check("kimi-k2", "漢字¦かなHello¦World's¦ ¦漢¦123¦4¦ //\n¦/");
    check("kimi-k2", "ABC¦漢¦abcかな¦XMLHttp'S¦々漢¦ΑΒγδ¦ABC'll¦한국어¦A¦漢¦\u0301a");
}

static void youtu_cuts_at_scripts(void **state) {
    (void)state;
    check("youtu", "한국¦。「¦ㄅㄆ¦漢字¦a¦Bc's¦1¦ ¦2");
}

static void deepseek_v3_joins_a_sign_and_the_letters_after_it(void **state) {
    (void)state;
    static const char these[] = "deepseek-v3 hunyuan-dense joyai-llm hy_v4";
    check(these, "abc¦123¦4¦漢字かな¦ok¦?x¦ .\n¦don¦'t");
    check(these, "e\u0301x¦ ++¦\t¦\tv¦  ¦ w¦\n");
}

static void spark_s_newlines_are_single(void **state) {
    (void)state;
    check("spark2_5", "a¦.¦\n¦\n¦ ¦ b¦1¦2¦3¦4");
}

static void deepseek_llm_cuts_line_by_line_and_class_by_class(void **state) {
    (void)state;
    check("deepseek-llm", "a¦\n¦\n¦b¦ c¦12345¦ ¦漢字¦!¦  ");
    check("deepseek-llm", "Ü¦n¦ï¦ ...¦ ¦हिन्दी¦\r¦\n");
    check("deepseek-llm", "  ¦12¦  ¦漢¦   ¦\n¦  \t¦ a¦   ¦5");
}

static void deepseek_coder_s_digits_are_single(void **state) {
    (void)state;
    check("deepseek-coder", "x¦1¦2¦ y¦.¦ ,¦ ¦漢字¦ $¦\n¦\n");
}

static void signs_of_seed_coder_do_not_hold_newlines(void **state) {
    (void)state;
    check("seed-coder", "a¦ //¦\n¦b¦'Ll¦1¦2");
    check("qwen2", "a¦ //\n¦b");
}

static void contractions_of_ling(void **state) {
    (void)state;
    check("bailingmoe bailingmoe2 llada-moe", "it¦'S¦ we¦'LL¦ '¦tis¦ \n\n¦x¦ .\n¦1¦2");
}

static void phrases_of_exaone_go_on_after_single_spaces(void **state) {
    (void)state;
    check("exaone-moe", "Hello world foo¦,¦ a b¦ ¦ c¦ ¦1¦2¦ ..\n¦\n¦d");
    check("exaone-moe", "e\u0301 o\u0302x¦//\n¦/");
}

static void superbpe_cuts_nothing_but_numbers(void **state) {
    (void)state;
    check("superbpe", "The big, ¦1¦234¦567¦ cats\n\n sat ¦42");
}

static void afmoe_cuts_numbers_from_their_end_and_asian_scripts(void **state) {
    (void)state;
    check("afmoe", "ab¦1¦234¦ខ្មែរ¦cd¦+x¦ ¦한¦ .");
}

static void laguna_s_lines_are_apart(void **state) {
    (void)state;
    check("laguna", "a¦ ¦\n\n¦ b¦1¦2");
    check("qwen2", "a¦ \n\n¦ b¦1¦2");
}

static void minicpm5_s_numbers_have_three_digits(void **state) {
    (void)state;
    check("minicpm5", "a¦123¦45¦'S¦ ¦6");
}

static void ufakzeka_knows_no_contractions(void **state) {
    (void)state;
    check("ufakzeka", "Ankara¦'daki¦ it¦'s");
    check("qwen2", "Ankara¦'d¦aki");
}

static void blanks_of_jais_come_in_powers_of_two(void **state) {
    (void)state;
    check("jais-2", "a¦    ¦  ¦ x¦123¦4");
    check("jais-2", "a¦        ");
}

static void falcon_s_signs_are_apart(void **state) {
    (void)state;
    check("falcon", "a¦`¦ b¦ ¦123¦45¦+=¦ c");
}

static void bloom_s_words_end_at_signs(void **state) {
    (void)state;
    check("bloom poro-chat gpt3-finnish", "Hello¦,¦ world¦!¦ 12x¦  (¦y¦…।");
    check("viking", "Hello¦,¦ world¦!¦ ¦1¦2¦x");
}

static void chameleon_s_digits_signs_and_indents_are_single(void **state) {
    (void)state;
    check("chameleon", "IMGIMGABZ¦x¦<¦sentinel¦:¦7¦>¦\n¦    ¦y¦1¦,¦ z");
}

static void lines_alone_are_apart_where_merges_join_characters(void **state) {
    (void)state;
    check("gemma4 sarvam-moe", "a b, 12¦\n\n¦ c\t¦\n");
}

static void names_share_expressions(void **state) {
    (void)state;
    check("gpt-2 exaone4 gigachat a.x-4.0 mellum modern-bert trillion granite-docling jais",
          "it¦'s¦ 12¦ ...");
    check("smollm exaone minerva-7b mellum2", "it¦'s¦ ¦1¦2");
    check("qwen2 kormo f2llmv2 hunyuan solar-open grok-2", "it¦'S¦ ¦1¦2");
    check("llama-bpe falcon-h1 pixtral midm-2.0 lfm2 glm4 glm5 chatglm-bpe", "it¦'S¦ ¦123¦4");
}

static void names_of_one_expression_differ_in_what_else_they_say(void **state) {
    (void)state;
    static const struct {
        const char *name;
        unsigned is;
    } want[] = {
        {"lfm2", FR_WORDS_WHOLE | FR_WORDS_BOS},
        {"pixtral", FR_WORDS_WHOLE | FR_WORDS_BOS},
        {"glm4", FR_WORDS_WHOLE},
        {"chatglm-bpe", 0},
        {"youtu", FR_WORDS_WHOLE},
        {"minicpm5", FR_WORDS_WHOLE},
        {"chameleon", FR_WORDS_BOS},
        {"gpt-4o", 0},
        {"qwen35", 0},
        {"sarvam-moe", FR_WORDS_CHARS},
        {"gemma4", FR_WORDS_CHARS | FR_WORDS_GEMMA4},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const fr_word_family *f = fr_word_family_find(want[i].name, strlen(want[i].name));
        assert_non_null(f);
        assert_int_equal(f->is, want[i].is);
    }
}

// A name that stood twice would have the first row's rule.
static void each_name_stands_once(void **state) {
    (void)state;
    for (size_t f = 0; f < fr_n_word_families; f++)
        for (const char *at = fr_word_families[f].names; *at;) {
            const size_t n = strcspn(at, " ");
            assert_true(n > 0);
            assert_ptr_equal(fr_word_family_find(at, n), &fr_word_families[f]);
            at += n + (at[n] == ' ');
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qwen35_keeps_marks_in_their_words),
        cmocka_unit_test(o200k_cuts_where_upper_case_follows_lower_case),
        cmocka_unit_test(numbers_of_tiny_aya_are_cut_from_their_end),
        cmocka_unit_test(kimi_s_chinese_characters_are_words_of_their_own),
        cmocka_unit_test(youtu_cuts_at_scripts),
        cmocka_unit_test(deepseek_v3_joins_a_sign_and_the_letters_after_it),
        cmocka_unit_test(spark_s_newlines_are_single),
        cmocka_unit_test(deepseek_llm_cuts_line_by_line_and_class_by_class),
        cmocka_unit_test(deepseek_coder_s_digits_are_single),
        cmocka_unit_test(signs_of_seed_coder_do_not_hold_newlines),
        cmocka_unit_test(contractions_of_ling),
        cmocka_unit_test(phrases_of_exaone_go_on_after_single_spaces),
        cmocka_unit_test(superbpe_cuts_nothing_but_numbers),
        cmocka_unit_test(afmoe_cuts_numbers_from_their_end_and_asian_scripts),
        cmocka_unit_test(laguna_s_lines_are_apart),
        cmocka_unit_test(minicpm5_s_numbers_have_three_digits),
        cmocka_unit_test(ufakzeka_knows_no_contractions),
        cmocka_unit_test(blanks_of_jais_come_in_powers_of_two),
        cmocka_unit_test(falcon_s_signs_are_apart),
        cmocka_unit_test(bloom_s_words_end_at_signs),
        cmocka_unit_test(chameleon_s_digits_signs_and_indents_are_single),
        cmocka_unit_test(lines_alone_are_apart_where_merges_join_characters),
        cmocka_unit_test(names_share_expressions),
        cmocka_unit_test(names_of_one_expression_differ_in_what_else_they_say),
        cmocka_unit_test(each_name_stands_once),
    };
    return cmocka_run_group_tests_name("text.families", tests, NULL, NULL);
}
