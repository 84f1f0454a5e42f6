// Models by name: caches of other programs are made in a home of their own, and every name is
// either one file or a sentence.
#include "catalog/catalog.h"
#include "catalog/facts.h"
#include "support/edit_model.h"
#include "support/home.h"
#include <errno.h>
#include <sys/stat.h>

static fr_catalog catalog;
static fr_error err;

// The path of a name; NULL where it has none, with the sentence in `err`.
static const char *find(const char *name) {
    static char path[PATH_MAX];
    err = (fr_error){0};
    const fr_status st = fr_model_path(path, name, &err);
    if (st && !err.text[0]) fail_msg("%s: no sentence", name);
    return st ? NULL : path;
}

static void expect(const char *name, const char *path) {
    const char *found = find(name);
    if (!found || strcmp(found, path))
        fail_msg("%s: %s, not %s", name, found ? found : err.text, path);
}

static void expect_error_of(fr_status code, const char *name, const char *sentence) {
    const char *found = find(name);
    if (found || err.code != code || !strstr(err.text, sentence))
        fail_msg("%s: %d '%s', not %d '%s'", name, (int)err.code, found ? found : err.text,
                 (int)code, sentence);
}

static void expect_error(const char *name, const char *sentence) {
    expect_error_of(FR_EIO, name, sentence);
}

// Every model is found by the name that is told for it, and none is another's.
static void check_names(size_t n) {
    char name[FR_CATALOG_NAME];
    assert_int_equal(fr_catalog_open(&catalog, &err), FR_OK);
    assert_int_equal(catalog.n, n);
    for (size_t i = 0; i < catalog.n; i++) {
        const fr_catalog_item *item = &catalog.item[i], *found;
        fr_catalog_name(&catalog, item, name);
        if (item->fault || *name == '/') continue; // told by path
        if (fr_catalog_find(&catalog, name, &found, &err) || found != item)
            fail_msg("%s: not %s", name, item->path);
    }
    fr_catalog_close(&catalog);
}

static const char *name_of(const char *path) {
    static char name[FR_CATALOG_NAME];
    snprintf(name, sizeof name, "?");
    assert_int_equal(fr_catalog_open(&catalog, &err), FR_OK);
    for (size_t i = 0; i < catalog.n; i++)
        if (!strcmp(catalog.item[i].path, path)) fr_catalog_name(&catalog, &catalog.item[i], name);
    fr_catalog_close(&catalog);
    return name;
}

#define SNAPSHOT(repo, commit, file) at_home(HUB "/models--" repo "/snapshots/" commit "/" file)

static void hugging_face_is_found_by_repository_and_quantization(void **state) {
    (void)state;
    home_begin();
    put_text(at_home(HUB "/models--Org--Repo-GGUF/refs/main"), COMMIT_A "\n");
    put_snapshot(HUB, "Org--Repo-GGUF", COMMIT_A, "repo-q4_k_m.gguf", 32);
    put_snapshot(HUB, "Org--Repo-GGUF", COMMIT_A, "repo-Q8_0.gguf", 32);
    put_snapshot(HUB, "Org--Repo-GGUF", COMMIT_A, "repo-BF16.gguf", 32);
    put_snapshot(HUB, "Org--Repo-GGUF", COMMIT_A, "mmproj-repo-F16.gguf", 32);
    put_snapshot(HUB, "Org--Repo-GGUF", COMMIT_A, "IQ2/repo-IQ2_M-00002-of-00002.gguf", 32);
    put_snapshot(HUB, "Org--Repo-GGUF", COMMIT_A, "IQ2/repo-IQ2_M-00001-of-00002.gguf", 32);
    put_text(SNAPSHOT("Org--Repo-GGUF", COMMIT_A, "README.md"), "x");
    put_snapshot(HUB, "Org--Eight", COMMIT_A, "a-F32.gguf", 32);
    put_snapshot(HUB, "Org--Eight", COMMIT_A, "b.Q8_0.gguf", 32);
    put_snapshot(HUB, "Org--Plain", COMMIT_A, "model.gguf", 32);
    put_snapshot(HUB, "Org--Plain", COMMIT_A, "other.gguf", 32);
    put_snapshot(HUB, "Alone", COMMIT_A, "a-Q4_0.gguf", 32);
    put_model(at_home(HUB "/datasets--Org--Data/snapshots/" COMMIT_A "/a-Q4_0.gguf"), 32);
    expect("Org/Repo-GGUF", SNAPSHOT("Org--Repo-GGUF", COMMIT_A, "repo-q4_k_m.gguf"));
    expect("org/repo-gguf", SNAPSHOT("Org--Repo-GGUF", COMMIT_A, "repo-q4_k_m.gguf"));
    expect("hf.co/Org/Repo-GGUF:bf16", SNAPSHOT("Org--Repo-GGUF", COMMIT_A, "repo-BF16.gguf"));
    expect("Org/Repo-GGUF:q8_0", SNAPSHOT("Org--Repo-GGUF", COMMIT_A, "repo-Q8_0.gguf"));
    expect("Org/Repo-GGUF:IQ2_M",
           SNAPSHOT("Org--Repo-GGUF", COMMIT_A, "IQ2/repo-IQ2_M-00001-of-00002.gguf"));
    expect("Org/Repo-GGUF/repo-Q8_0.gguf", SNAPSHOT("Org--Repo-GGUF", COMMIT_A, "repo-Q8_0.gguf"));
    expect("Org/Repo-GGUF/IQ2/repo-IQ2_M-00001-of-00002.gguf",
           SNAPSHOT("Org--Repo-GGUF", COMMIT_A, "IQ2/repo-IQ2_M-00001-of-00002.gguf"));
    expect("Org/Eight", SNAPSHOT("Org--Eight", COMMIT_A, "b.Q8_0.gguf"));
    expect("Org/Plain", SNAPSHOT("Org--Plain", COMMIT_A, "model.gguf"));
    expect("Alone", SNAPSHOT("Alone", COMMIT_A, "a-Q4_0.gguf"));
    expect_error("Org/Repo-GGUF:Q2_K", "not among the files of that model here: "
                                       "Org/Repo-GGUF:IQ2_M, Org/Repo-GGUF:BF16");
    expect_error("Org/Repo-GGUF:Q8", "not among the files"); // not the beginning of another's
    expect_error("Org/Nothing", "no such file, and no model of that name in ~/" HUB);
    check_names(9);
    assert_string_equal(name_of(SNAPSHOT("Org--Plain", COMMIT_A, "model.gguf")),
                        "Org/Plain/model.gguf");
    home_end();
}

static void commits_are_taken_from_refs_or_as_they_are(void **state) {
    (void)state;
    home_begin();
    // refs/main has one file; what only another commit has is found too.
    put_text(at_home(HUB "/models--o--two/refs/main"), COMMIT_B);
    put_snapshot(HUB, "o--two", COMMIT_A, "m-Q4_0.gguf", 32);
    put_snapshot(HUB, "o--two", COMMIT_B, "m-Q4_0.gguf", 32);
    put_snapshot(HUB, "o--two", COMMIT_A, "m-Q6_K.gguf", 32);
    expect("o/two:Q4_0", SNAPSHOT("o--two", COMMIT_B, "m-Q4_0.gguf"));
    expect("o/two:Q6_K", SNAPSHOT("o--two", COMMIT_A, "m-Q6_K.gguf"));
    // refs that lead out of the cache, to nothing, or that are none.
    static const char *const refs[] = {"../../../elsewhere", "", "main\n", COMMIT_B COMMIT_B "a"};
    put_snapshot(HUB, "o--refs", COMMIT_A, "m-Q4_0.gguf", 32);
    put_model(at_home("elsewhere/evil-Q4_K_M.gguf"), 32);
    for (size_t i = 0; i < sizeof refs / sizeof *refs; i++) {
        put_text(at_home(HUB "/models--o--refs/refs/main"), refs[i]);
        expect("o/refs", SNAPSHOT("o--refs", COMMIT_A, "m-Q4_0.gguf"));
    }
    // A link to a blob that is gone: the file is listed, and opening it says what is wrong.
    put_link(at_home(HUB "/models--o--gone/snapshots/" COMMIT_A "/m-Q4_0.gguf"), "../../blobs/0");
    expect("o/gone", SNAPSHOT("o--gone", COMMIT_A, "m-Q4_0.gguf"));
    // A folder of links in a circle ends.
    put_link(at_home(HUB "/models--o--circle/snapshots/" COMMIT_A "/again"), "..");
    expect_error("o/circle", "no model of that name");
    check_names(4);
    home_end();
}

static void llama_cpp_is_found_in_both_layouts(void **state) {
    (void)state;
    home_begin();
#define FLAT ".cache/llama.cpp/"
    put_model(at_home(FLAT "org_some_repo_m-Q4_K_M.gguf"), 32);
    put_model(at_home(FLAT "org_some_repo_m-Q2_K.gguf"), 32);
    put_text(at_home(FLAT "org_some_repo_m-Q2_K.gguf.etag"), "x");
    put_text(at_home(FLAT "manifest=org=some=latest.json"), "{}");
    put_text(at_home(FLAT "manifest=org=some_repo=latest.json"), "not even JSON");
    put_model(at_home(FLAT "ai_smollm2_135M-Q4_0.gguf"), 32);
    put_snapshot(".cache/llama.cpp", "new--layout", COMMIT_A, "n-Q8_0.gguf", 32);
    expect("org/some_repo", at_home(FLAT "org_some_repo_m-Q4_K_M.gguf"));
    expect("ORG/some_repo:q2_k", at_home(FLAT "org_some_repo_m-Q2_K.gguf"));
    expect("org/some_repo/m-Q2_K.gguf", at_home(FLAT "org_some_repo_m-Q2_K.gguf"));
    expect("org_some_repo_m-Q2_K.gguf", at_home(FLAT "org_some_repo_m-Q2_K.gguf"));
    // Without a manifest the name is taken apart by the question.
    expect("ai/smollm2:135M", at_home(FLAT "ai_smollm2_135M-Q4_0.gguf"));
    expect("ai/smollm2", at_home(FLAT "ai_smollm2_135M-Q4_0.gguf"));
    expect("new/layout",
           at_home(".cache/llama.cpp/models--new--layout/snapshots/" COMMIT_A "/n-Q8_0.gguf"));
    assert_string_equal(name_of(at_home(FLAT "ai_smollm2_135M-Q4_0.gguf")),
                        "ai_smollm2_135M-Q4_0.gguf");
    assert_string_equal(name_of(at_home(FLAT "org_some_repo_m-Q2_K.gguf")), "org/some_repo:Q2_K");
    expect_error("org/some", "no model of that name");
    check_names(4);
    home_end();
}

static void ollama_is_found_by_name_and_tag(void **state) {
    (void)state;
    home_begin();
#define OLLAMA ".ollama/models"
    put_ollama(OLLAMA, "registry.ollama.ai/library/smol/latest", 32);
    put_ollama(OLLAMA, "registry.ollama.ai/library/smol/135m", 64);
    put_ollama(OLLAMA, "registry.ollama.ai/me/mine/v1", 32);
    put_ollama(OLLAMA, "hf.co/org/repo-GGUF/Q4_K_M", 32);
    put_ollama(OLLAMA, "registry.ollama.ai/library/gone/latest", 0);
    put_text(at_home(OLLAMA "/manifests/registry.ollama.ai/library/torn/latest"), "{\"layers\":[{");
    put_text(at_home(OLLAMA "/manifests/registry.ollama.ai/library/text/latest"),
             "{\"layers\":[]}");
    put_text(at_home(OLLAMA "/manifests/too/deep/a/b/c/d"), "{}");
    put_text(at_home(OLLAMA "/manifests/too/short"), "{}");
    for (int i = 0; i < 2; i++) {
        const char *tag = i ? "smol:135M" : "smol";
        const char *path = find(tag);
        if (!path || !strstr(path, "/blobs/sha256-")) fail_msg("%s: %s", tag, err.text);
    }
    assert_non_null(find("Smol:latest"));
    assert_non_null(find("me/mine:v1"));
    assert_non_null(find("hf.co/org/repo-GGUF:q4_k_m"));
    assert_null(find("me/mine")); // its tag is not latest
    assert_non_null(strstr(err.text, "not among the files of that model here: me/mine:v1"));
    expect_error_of(FR_EDATA, "gone", "is not there");
    expect_error_of(FR_EDATA, "torn", "JSON, line 1");
    expect_error_of(FR_EDATA, "text", "expected one model in GGUF, found 0");
    expect_error("smoll:latest", "near: smol:135m, smol:latest");
    check_names(7);
    // An older version wrote the colon.
    const char *path = find("me/mine:v1");
    char before[PATH_MAX], after[PATH_MAX];
    snprintf(before, sizeof before, "%s", path);
    snprintf(after, sizeof after, "%s", path);
    strstr(after, "sha256-")[6] = ':';
    assert_int_equal(rename(before, after), 0);
    expect("me/mine:v1", after);
    home_end();
}

// A digest is digits, so that nothing else can be opened by what a manifest says.
static void a_manifest_leads_nowhere_else(void **state) {
    (void)state;
    static const char *const digests[] = {
        "sha256:../../../secret.gguf",
        "sha256-0000000000000000000000000000000000000000000000000000000000000001",
        "sha256:000000000000000000000000000000000000000000000000000000000000000G",
        "sha256:00000000000000000000000000000000000000000000000000000000000000011",
        "/etc/passwd",
        ""};
    char text[512];
    home_begin();
    put_model(at_home("secret.gguf"), 32);
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++) {
        snprintf(text, sizeof text,
                 "{\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.model\",\"digest\":"
                 "\"%s\"}]}",
                 digests[i]);
        put_text(at_home(OLLAMA "/manifests/registry.ollama.ai/library/evil/latest"), text);
        expect_error_of(FR_EDATA, "evil", "expected sha256: and 64 hexadecimal digits");
    }
    put_text(at_home(OLLAMA "/manifests/registry.ollama.ai/library/evil/latest"),
             "{\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.model\",\"digest\":7}]}");
    expect_error_of(FR_EDATA, "evil", "expected sha256:");
    home_end();
}

static void lm_studio_is_found_in_both_places(void **state) {
    (void)state;
    home_begin();
    put_model(at_home(".lmstudio/models/pub/repo/m-Q4_K_M.gguf"), 32);
    put_model(at_home(".lmstudio/models/pub/repo/mmproj-m-F16.gguf"), 32);
    put_model(at_home(".cache/lm-studio/models/pub/old/m-Q4_0.gguf"), 32);
    put_model(at_home(".lmstudio/models/loose.gguf"), 32); // not where that program looks
    expect("pub/repo", at_home(".lmstudio/models/pub/repo/m-Q4_K_M.gguf"));
    expect("pub/repo/m-Q4_K_M.gguf", at_home(".lmstudio/models/pub/repo/m-Q4_K_M.gguf"));
    expect("pub/old:q4_0", at_home(".cache/lm-studio/models/pub/old/m-Q4_0.gguf"));
    check_names(2);
    home_end();
}

static void variables_move_the_folders(void **state) {
    (void)state;
    home_begin();
    put_snapshot("a", "o--r", COMMIT_A, "m-Q4_0.gguf", 32);
    put_snapshot("b/hub", "o--r", COMMIT_A, "m-Q4_0.gguf", 32);
    put_snapshot("c/huggingface/hub", "o--r", COMMIT_A, "m-Q4_0.gguf", 32);
    put_snapshot(HUB, "o--r", COMMIT_A, "m-Q4_0.gguf", 32);
    put_model(at_home("c/llama.cpp/flat-Q4_0.gguf"), 32);
    put_model(at_home("d/flat-Q4_0.gguf"), 32);
    put_ollama("e", "registry.ollama.ai/library/x/latest", 32);
    put_ollama(OLLAMA, "registry.ollama.ai/library/y/latest", 32);
#define FILE_OF(hub) at_home(hub "/models--o--r/snapshots/" COMMIT_A "/m-Q4_0.gguf")
    setenv("XDG_CACHE_HOME", at_home("c"), 1);
    expect("o/r", FILE_OF("c/huggingface/hub"));
    expect("flat-Q4_0.gguf", at_home("c/llama.cpp/flat-Q4_0.gguf"));
    setenv("LLAMA_CACHE", at_home("d"), 1);
    expect("flat-Q4_0.gguf", at_home("d/flat-Q4_0.gguf"));
    setenv("HF_HOME", at_home("b/"), 1);
    expect("o/r", FILE_OF("b/hub"));
    setenv("HF_HUB_CACHE", at_home("a"), 1);
    expect("o/r", FILE_OF("a"));
    setenv("OLLAMA_MODELS", at_home("e"), 1);
    assert_non_null(find("x"));
    assert_null(find("y"));
    // Set to nothing is not set.
    setenv("OLLAMA_MODELS", "", 1);
    setenv("HF_HUB_CACHE", "", 1);
    setenv("LLAMA_CACHE", "", 1);
    assert_non_null(find("y"));
    expect("o/r", FILE_OF("b/hub"));
    setenv("HF_HOME", "", 1);
    setenv("XDG_CACHE_HOME", "", 1);
    expect("o/r", FILE_OF(HUB));
    assert_null(find("flat-Q4_0.gguf"));
    setenv("HOME", "", 1);
    expect_error("o/r", "no such file, and no model of that name in ");
    home_end();
}

static void a_path_wins_and_a_folder_is_its_model(void **state) {
    (void)state;
    char before[PATH_MAX];
    home_begin();
    put_snapshot(HUB, "o--r", COMMIT_A, "m-Q4_0.gguf", 32);
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(home_path), 0);
    expect("o/r", SNAPSHOT("o--r", COMMIT_A, "m-Q4_0.gguf"));
    put_text(at_home("o/r"), "a file");
    expect("o/r", "o/r");
    expect("./o/r", "./o/r");
    expect("/nowhere/x.gguf", "/nowhere/x.gguf"); // who opens it says that it is not there
    expect("../nowhere", "../nowhere");
    assert_int_equal(chdir(before), 0);
    put_link(at_home("dangling"), "nowhere");
    expect(at_home("dangling"), at_home("dangling"));
    put_text(at_home("one/README"), "x");
    expect_error(at_home("one"), "is a folder without a model (.gguf) in it");
    put_model(at_home("one/m.gguf"), 32);
    put_model(at_home("one/mmproj-m.gguf"), 32);
    put_model(at_home("one/packs/p.gguf"), 32);
    expect(at_home("one"), at_home("one/m.gguf"));
    expect(at_home("one/"), at_home("one/m.gguf"));
    put_model(at_home("one/n.gguf"), 32);
    expect_error(at_home("one"), "is a folder with 2 models: give one of m.gguf, n.gguf");
    put_model(at_home("parts/m-00002-of-00002.gguf"), 32);
    put_model(at_home("parts/m-00001-of-00002.gguf"), 32);
    expect(at_home("parts"), at_home("parts/m-00001-of-00002.gguf"));
    home_end();
}

static void one_model_in_two_places_is_one_and_two_are_a_sentence(void **state) {
    (void)state;
    home_begin();
    put_snapshot(HUB, "o--r", COMMIT_A, "m-Q4_K_M.gguf", 32);
    put_model(at_home(".lmstudio/models/o/r/m-Q4_K_M.gguf"), 32);
    expect("o/r", SNAPSHOT("o--r", COMMIT_A, "m-Q4_K_M.gguf"));
    put_ollama(OLLAMA, "registry.ollama.ai/o/r/latest", 64);
    expect_error("o/r", "is two different files, ");
    expect("o/r:Q4_K_M", SNAPSHOT("o--r", COMMIT_A, "m-Q4_K_M.gguf"));
    assert_non_null(find("o/r:latest"));
    put_model(at_home(".lmstudio/models/o/r/m-Q4_K_M.gguf"), 64);
    expect_error("o/r:Q4_K_M", "m-Q4_K_M.gguf: give a path");
    check_names(3);
    home_end();
}

static void folders_that_cannot_be_read_are_said(void **state) {
    (void)state;
    home_begin();
    put_text(at_home(HUB), "a file where a folder should be");
    put_link(at_home(".ollama/models/manifests"), "manifests"); // a link to itself
    put_model(at_home(".lmstudio/models/p/r/m-Q4_0.gguf"), 32);
    if (geteuid()) {
        put_model(at_home(".lmstudio/models/closed/r/m-Q4_0.gguf"), 32);
        assert_int_equal(chmod(at_home(".lmstudio/models/closed"), 0), 0);
        expect_error("closed/r", "Permission denied");
        assert_int_equal(chmod(at_home(".lmstudio/models/closed"), 0700), 0);
    }
    expect_error("o/r", "hub (Not a directory)");
    expect_error("o/r", "Too many levels of symbolic links");
    assert_non_null(find("p/r"));
    home_end();
}

static void odd_names_are_taken_and_told_clean(void **state) {
    (void)state;
    static const char *const repos[] = {"o--sp ace",   "o--ünï",        "o--line\nbreak",
                                        "o--perc%s%n", "o--'quote\"",   "--",
                                        "o--",         "models--models"};
    char name[FR_CATALOG_NAME];
    home_begin();
    for (size_t i = 0; i < sizeof repos / sizeof *repos; i++)
        put_snapshot(HUB, repos[i], COMMIT_A, "m-Q4_0.gguf", 32);
    put_snapshot(HUB, "o--files", COMMIT_A, "-Q4_0.gguf", 32);
    put_snapshot(HUB, "o--files", COMMIT_A, ".gguf", 32); // hidden
    put_snapshot(HUB, "o--files", COMMIT_A, "gguf", 32);
    put_snapshot(HUB, "o--files", COMMIT_A, "a:b-Q8_0.gguf", 32);
    check_names(sizeof repos / sizeof *repos + 2);
    assert_non_null(find("o/sp ace"));
    assert_non_null(find("o/perc%s%n:q4_0"));
    assert_non_null(find("o/line\nbreak"));
    assert_null(find("o/line\nbreaks"));
    for (const char *s = err.text; *s; s++)
        assert_true((uint8_t)*s >= 0x20);
    // Names that are no names: no model's, at most a path that whoever opens it complains of.
    static const char *const none[] = {":", "/", ":Q4_0", "/o", "o//r", "hf.co/", "a/../b", ".."};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (find(none[i]) && strcmp(find(none[i]), none[i]) != 0)
            fail_msg("%s: %s", none[i], find(none[i]));
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_string_equal(find(name), name); // a path: who opens it says what is wrong
    char longer[PATH_MAX + 10];
    memset(longer, 'b', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    expect_error(longer, "too long a path");
    home_end();
}

// Names that a miss would suggest, each of which is a miss itself.
static void colons_in_folders_end(void **state) {
    (void)state;
    static const char *const paths[] = {"org/repo:x/m-Q4_0.gguf", "org/repo/repo:v1.gguf",
                                        "hf.co/model/a-Q4_0.gguf"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        home_begin();
        put_model(at_home(".lmstudio/models/%s", paths[i]), 32);
        check_names(1);
        find("org/repo");
        expect_error("model:Q8_0", "no such file");
        home_end();
    }
}

static void headers_say_what_runs(void **state) {
    (void)state;
    fr_model_facts f;
    fr_gguf_writer *w;
    home_begin();
    put_model(at_home("m.gguf"), 32);
    fr_model_facts_read(&f, at_home("m.gguf"));
    assert_true(f.runs);
    assert_string_equal(f.architecture, "llama");
    assert_string_equal(f.quantization, "Q8_0");
    assert_true(f.parameters > 1000 && f.bytes > f.parameters / 2);
    put_text(at_home("text.gguf"), "hello\n");
    fr_model_facts_read(&f, at_home("text.gguf"));
    assert_true(!f.runs && f.bytes == 6 && strstr(f.why.text, "text.gguf"));
    fr_model_facts_read(&f, at_home("none.gguf"));
    assert_true(!f.runs && !f.bytes && strstr(f.why.text, "No such file"));
    assert_int_equal(fr_gguf_writer_open(&w, &err), FR_OK);
    fr_gguf_writer_str(w, "general.architecture", "bert");
    fr_gguf_writer_u32(w, "general.file_type", 15);
    assert_int_equal(fr_gguf_writer_finish(w, at_home("bert.gguf"), &err), FR_OK);
    fr_gguf_writer_close(w);
    fr_model_facts_read(&f, at_home("bert.gguf"));
    assert_true(!f.runs && strstr(f.why.text, "bert"));
    assert_string_equal(f.architecture, "bert");
    assert_string_equal(f.quantization, "Q4_K_M");
    assert_int_equal(fr_gguf_writer_open(&w, &err), FR_OK);
    fr_tiny_add(w, &(fr_tiny_options){.n_layer = 1, .d = 32, .pre = "no such way"});
    assert_int_equal(fr_gguf_writer_finish(w, at_home("pre.gguf"), &err), FR_OK);
    fr_gguf_writer_close(w);
    fr_model_facts_read(&f, at_home("pre.gguf"));
    assert_true(!f.runs && strstr(f.why.text, "tokenizer.ggml.pre"));
    home_end();
}

// The list uses the function that opens a model: tensors and vocabulary count, not numbers alone.
static void what_is_listed_as_running_opens(void **state) {
    (void)state;
    const struct {
        fr_edit edits[2];
        const char *says; // NULL: it opens
    } files[] = {
        {{fr_edit_tensor("v.blk.0.attn_k.bias")}, NULL},
        {{fr_edit_u32("tokenizer.ggml.padding_token_id", 100000)}, NULL},
        {{fr_edit_tensor("blk.0.attn_sinks.weight")}, "blk.0.attn_sinks.weight"},
        {{fr_edit_u32("llama.block_count", 2)}, "blk.1.attn_norm.weight"},
        {{fr_edit_str("tokenizer.ggml.eos_token_id", "end")}, "tokenizer.ggml.eos_token_id"},
        {{fr_edit_u32s("tokenizer.ggml.token_type", (const uint32_t[]){1, 1}, 2)},
         "tokenizer.ggml.token_type"},
        {{fr_edit_f32("llama.rope.foo", 2)}, "llama.rope.foo"},
        {{fr_edit_str("general.architecture", "bert")}, "found 'bert'"},
    };
    const fr_tiny_options options = {.n_layer = 1, .d = 32};
    const fr_engine_options one = {.size = sizeof one, .threads = 1};
    home_begin();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        fr_model_facts f;
        fr_engine *engine;
        const char *path = at_home("m%zu.gguf", i);
        if (fr_edit_write(path, &options, files[i].edits, &err)) fail_msg("%s", err.text);
        fr_model_facts_read(&f, path);
        assert_int_equal(f.runs, !files[i].says);
        assert_int_equal(fr_engine_open(&engine, path, &one, &err) == FR_OK, f.runs);
        if (files[i].says && !strstr(f.why.text, files[i].says)) fail_msg("%s", f.why.text);
        if (files[i].says) assert_string_equal(f.why.text, err.text);
        if (i == 1)
            assert_non_null(strstr(fr_text_describe(fr_engine_text(engine))->note, "padding"));
        fr_engine_close(engine);
    }
    home_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hugging_face_is_found_by_repository_and_quantization),
        cmocka_unit_test(commits_are_taken_from_refs_or_as_they_are),
        cmocka_unit_test(llama_cpp_is_found_in_both_layouts),
        cmocka_unit_test(ollama_is_found_by_name_and_tag),
        cmocka_unit_test(a_manifest_leads_nowhere_else),
        cmocka_unit_test(lm_studio_is_found_in_both_places),
        cmocka_unit_test(variables_move_the_folders),
        cmocka_unit_test(a_path_wins_and_a_folder_is_its_model),
        cmocka_unit_test(one_model_in_two_places_is_one_and_two_are_a_sentence),
        cmocka_unit_test(folders_that_cannot_be_read_are_said),
        cmocka_unit_test(odd_names_are_taken_and_told_clean),
        cmocka_unit_test(colons_in_folders_end),
        cmocka_unit_test(headers_say_what_runs),
        cmocka_unit_test(what_is_listed_as_running_opens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
