// `forerun train` as a program: errors, a training that learns, one that is killed again and again.
#define _GNU_SOURCE
#include "cmd/program.h"
#include "support/near.h"
#include "support/tiny_model.h"
#include "train/checkpoint.h"
#include "train/made_data.h"
#include "train/train.h"
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

static char folder[64], model[128], line[2048];
static said *s;

static int drop(const char *path, const struct stat *st, int type, struct FTW *f) {
    (void)st;
    (void)type;
    (void)f;
    return remove(path);
}

static int set_up(void **state) {
    (void)state;
    fr_error err;
    fr_gguf *g;
    char path[128];
    s = malloc(sizeof *s);
    snprintf(folder, sizeof folder, "train_XXXXXX");
    if (!s || !mkdtemp(folder)) return 1;
    snprintf(model, sizeof model, "%s/tiny.gguf", folder);
    if (fr_tiny_write(&(fr_tiny_options){.n_layer = 2}, model, &err)) return 1;
    if (fr_gguf_open(&g, model, &err)) return 1;
    fr_shard_format f = {.d = 64, .n_taps = 1, .taps = {1}, .top = 8};
    const fr_gguf_tensor *embed = fr_gguf_tensor_find(g, "token_embd.weight");
    f.n_vocab = (int)embed->ne[1];
    fr_gguf_fingerprint(g, f.target);
    fr_gguf_close(g);
    snprintf(path, sizeof path, "%s/data", folder);
    if (make_shards(path, &f, 1, 200, &err)) return 1;
    snprintf(path, sizeof path, "%s/more", folder);
    if (make_shards(path, &f, 1000, 60, &err)) return 1;
    snprintf(path, sizeof path, "%s/few", folder);
    if (make_shards(path, &f, 1, 4, &err)) return 1;
    f.d = 32;
    snprintf(path, sizeof path, "%s/narrow", folder);
    if (make_shards(path, &f, 1, 20, &err)) return 1;
    f.d = 64;
    f.n_vocab++;
    snprintf(path, sizeof path, "%s/wordy", folder);
    if (make_shards(path, &f, 1, 20, &err)) return 1;
    f.n_vocab--;
    strcpy(f.target, "ffffffffffffffffffffffffffffffff");
    snprintf(path, sizeof path, "%s/another", folder);
    return make_shards(path, &f, 1, 20, &err);
}

static int tear_down(void **state) {
    (void)state;
    free(s);
    return nftw(folder, drop, 8, FTW_DEPTH | FTW_PHYS);
}

// A command line of the usual training with this pack, and what else it has.
static const char *train(const char *pack, const char *rest) {
    snprintf(line, sizeof line,
             "train medusa -m %s --data %s/data -o %s/%s -t 1 --vocab 320 --batch-rows 128 %s",
             model, folder, folder, pack, rest);
    return line;
}

static const char *path_of(const char *name) {
    static char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static double real_at(const json_t *o, const char *key) {
    return json_number_value(json_object_get(o, key));
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    static const struct {
        const char *format;
        int code;
        const char *says;
    } wrong[] = {
        {"train medusa --data %s/data -o %s/p --steps 1", 2, "-m: a MODEL"},
        {"train square -m %s/tiny.gguf --data %s/data -o p --steps 1", 2, "expected a drafter"},
        {"train medusa -m %s/tiny.gguf -o %s/p --steps 1", 2, "--data"},
        {"train medusa -m %s/tiny.gguf --data %s/data --steps 1", 2, "-o"},
        {"train medusa -m %s/tiny.gguf --data %s/data -o p", 2, "--time or --steps"},
        {"train medusa -m %s/tiny.gguf --data %s/data -o p --time 5", 2, "90s"},
        {"train medusa -m %s/tiny.gguf --data %s/nowhere -o p --steps 1", 1, "No such file"},
        {"train medusa -m %s/tiny.gguf --data %s/tiny.gguf -o p --steps 1", 1,
         "tiny.gguf, line 1: JSON"},
        {"train medusa -m %s/tiny.gguf --data %s/few -o p --steps 1", 1, "more than 4 samples"},
        {"train medusa -m %s/tiny.gguf --data %s/another -o p --steps 1", 1, "ffffffff"},
        {"train medusa -m %s/tiny.gguf --data %s/narrow -o p --steps 1", 1, "states of 64 values"},
        {"train medusa -m %s/tiny.gguf --data %s/wordy -o p --steps 1", 1, "states of 64 values"},
        {"train medusa -m %s/tiny.gguf --data %s/data -o p --steps 1 --resume", 1,
         "nothing to resume"},
        {"train medusa -m %s/tiny.gguf --data %s/data -o %s/nowhere/p --steps 1", 1, "nowhere/p"},
        {"train medusa -m %s/tiny.gguf --data %s/data -o p --steps 1 --vocab 9", 2, "--vocab 9"},
        {"train medusa -m %s/tiny.gguf --data %s/data -o p --steps 1 --set tap=1", 2,
         "go together"},
        {"train medusa -m %s/tiny.gguf --data %s/data -o p --steps 1 --init %s/tiny.gguf", 1,
         "general.type"},
        {"train medusa -m %s/tiny.gguf --data %s/data -o p --steps 1 --given", 2, "--given"},
        {"train medusa -m %s/tiny.gguf --data %s/data -o p --steps 1 --tokens 9", 2, "--tokens"},
        {"train medusa -m %s/tiny.gguf --data %s/data -o p --steps 1 --shares 60,40", 2,
         "expected 1 numbers"},
        {"train medusa -m %s/tiny.gguf --data %s/data -o p --steps 1 --shares 90", 2, "100"},
        {"train eagle -m %s/tiny.gguf --data %s/data -o p --steps 1 --set taps=0,1", 2,
         "the data has no states of layer 0"},
        // Before files are looked at, let alone answered.
        {"train eagle -m %s/tiny.gguf --data %s/nowhere -o p --steps 1 --set init=x", 2,
         "init=VALUE"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(line, sizeof line, wrong[i].format, folder, folder, folder);
        if (run_line(s, line) != wrong[i].code || !strstr(s->err, wrong[i].says))
            fail_msg("%s: exit code %d: %s", line, s->code, s->err);
        assert_int_equal(lines_in(s->err), 1);
        assert_int_equal(s->n_out, 0);
    }
}

// The last point of the curve is far better than the first, which is what the target's own state
// says of tokens that it was not asked for.
static void a_training_learns(void **state) {
    (void)state;
    json_error_t e;
    const size_t room = 512 << 20;
    if (run_line(s, train("learns.gguf", "--steps 400 --json -q --lr 0.01 --held-out 16")))
        fail_msg("%s", s->err);
    assert_int_equal(s->n_err, 0);
    json_t *o = json_loads(s->out, 0, &e), *curve = json_object_get(o, "curve");
    assert_non_null(o);
    assert_int_equal(real_at(o, "steps"), 400);
    assert_int_equal(json_array_size(curve), 21);
    const json_t *first = json_array_get(curve, 0), *last = json_array_get(curve, 20);
    assert_true(real_at(last, "held_out_loss") < 0.7 * real_at(first, "held_out_loss"));
    assert_true(real_at(last, "tokens_per_pass") > real_at(first, "tokens_per_pass") + 0.3);
    const json_t *errors = json_object_get(last, "accuracy_error");
    assert_int_equal(json_array_size(errors), json_array_size(json_object_get(last, "accuracy")));
    assert_true(json_number_value(json_array_get(errors, 0)) > 0);
    assert_true(real_at(o, "peak_rss_bytes") < (double)room);
    assert_near(real_at(o, "coverage"), 1, 1e-9);
    json_decref(o);
    // The pack is one that drafts, and the bytes stay those of plain decoding.
    snprintf(line, sizeof line,
             "run -m %s -t 1 -p hello -n 40 --ignore-eos --raw --drafter none -q", model);
    if (run_line(s, line)) fail_msg("%s", s->err);
    char plain[4096];
    snprintf(plain, sizeof plain, "%s", s->out);
    snprintf(line, sizeof line,
             "run -m %s -t 1 -p hello -n 40 --ignore-eos --raw --drafter medusa:%s/learns.gguf -q",
             model, folder);
    if (run_line(s, line)) fail_msg("%s", s->err);
    assert_string_equal(s->out, plain);
    // Nobody's training is written over.
    assert_int_equal(run_line(s, train("learns.gguf", "--steps 400")), 1);
    assert_non_null(strstr(s->err, "--resume"));
}

// Tokens of so many steps and the last step's learning rate; the held-out loss at the end.
static double loss_after(const char *pack, const char *rest, double *tokens, double *rate) {
    if (run_line(s, train(pack, rest))) fail_msg("%s", s->err);
    json_t *o = json_loads(s->out, 0, NULL), *curve = json_object_get(o, "curve");
    const json_t *last = json_array_get(curve, json_array_size(curve) - 1);
    const double loss = real_at(last, "held_out_loss");
    *tokens = real_at(o, "tokens");
    *rate = real_at(last, "lr");
    json_decref(o);
    return loss;
}

static void options_of_learning_reach_it(void **state) {
    (void)state;
    double tokens[3], rate[3];
    const double plain =
        loss_after("plain.gguf", "--steps 40 --lr 0.01 --json -q", &tokens[0], &rate[0]);
    const double twice = loss_after("twice.gguf", "--steps 40 --lr 0.01 --accumulate 2 --json -q",
                                    &tokens[1], &rate[1]);
    const double mean =
        loss_after("mean.gguf", "--steps 40 --lr 0.01 --lr-end 0.8 --average 0.5 --json -q",
                   &tokens[2], &rate[2]);
    assert_true(tokens[1] > 1.8 * tokens[0] && tokens[2] == tokens[0]);
    assert_near(rate[0], 0.001, 1e-4); // a tenth is left
    assert_near(rate[1], 0.001, 1e-4);
    assert_near(rate[2], 0.008, 1e-4);
    assert_true(plain != twice && plain != mean);
}

static void what_it_takes_is_said_and_kept(void **state) {
    (void)state;
    double memory, disk;
    struct stat pack, checkpoint;
    if (run_line(s, train("takes.gguf", "--steps 3 --json"))) fail_msg("%s", s->err);
    const char *at = strstr(s->err, "takes at most");
    assert_non_null(at);
    assert_int_equal(
        sscanf(at, "takes at most %lf MB of memory besides the mapped data, %lf", &memory, &disk),
        2);
    json_t *o = json_loads(s->out, 0, NULL);
    assert_non_null(o);
    assert_true(real_at(o, "peak_rss_bytes") <= 1e6 * (memory + 1));
    assert_int_equal(stat(path_of("takes.gguf"), &pack), 0);
    assert_int_equal(stat(path_of("takes.gguf.ckpt"), &checkpoint), 0);
    assert_true((double)(pack.st_size + checkpoint.st_size) <= 1e6 * (disk + 1));
    json_decref(o);
}

// Parameters, moments, best parameters and curve of two checkpoints are the same bits; seconds are
// each one's own.
static void expect_same(const char *a, const char *b) {
    fr_checkpoint x, y;
    fr_map mx, my;
    fr_error err;
    char path[160];
    snprintf(path, sizeof path, "%s", path_of(a));
    if (fr_checkpoint_read(&x, &mx, path, &err)) fail_msg("%s", err.text);
    if (fr_checkpoint_read(&y, &my, path_of(b), &err)) fail_msg("%s", err.text);
    assert_int_equal(x.n_floats, y.n_floats);
    for (int i = 0; i < 4; i++)
        assert_memory_equal(x.block[i], y.block[i], x.n_floats * sizeof(float));
    assert_int_equal(x.curve_bytes, y.curve_bytes);
    const fr_train_point *p = x.curve, *q = y.curve;
    for (size_t i = 0; i < x.curve_bytes / sizeof *p; i++) {
        assert_true(p[i].step == q[i].step && p[i].rows == q[i].rows);
        assert_memory_equal(&p[i].held_loss, &q[i].held_loss, sizeof p->held_loss);
        assert_memory_equal(&p[i].loss, &q[i].loss, sizeof p->loss);
    }
    fr_map_close(&mx);
    fr_map_close(&my);
}

// Starts or goes on, and is killed after so many milliseconds; true: it was done before.
static bool run_and_kill(const char *pack, const char *rest, int ms) {
    struct stat st;
    char name[160];
    snprintf(name, sizeof name, "%s.ckpt", pack);
    snprintf(line, sizeof line, "%s%s%s", rest, stat(path_of(name), &st) ? "" : " --resume", "");
    char text[2048], *argv[64] = {(char *)FR_PROGRAM};
    snprintf(text, sizeof text, "%s", train(pack, strcpy(name, line)));
    int n = 1, status;
    for (char *w = strtok(text, " "); w && n < 63; w = strtok(NULL, " "))
        argv[n++] = w;
    const pid_t child = fork();
    if (!child) {
        execv(FR_PROGRAM, argv);
        _exit(127);
    }
    usleep((useconds_t)ms * 1000);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status));
    return WIFEXITED(status);
}

static void kills_change_nothing(void **state) {
    (void)state;
    enum { KILLS = 20 };
    const unsigned start = (unsigned)getpid();
    unsigned seed = start;
    struct stat st;
    char rest[128];
    snprintf(rest, sizeof rest, "--steps 150 --checkpoint-every 0 -q");
    if (run_line(s, train("whole.gguf", "--steps 150 --checkpoint-every 1000 -q")))
        fail_msg("%s", s->err);
    // Longer and longer on a machine too busy to come to a checkpoint.
    int kills = 0, ms = 100;
    while (kills < KILLS && !run_and_kill("killed.gguf", rest, 20 + rand_r(&seed) % ms)) {
        kills++;
        ms += stat(path_of("killed.gguf.ckpt"), &st) ? ms : 0;
    }
    print_message("seed %u: %d kills\n", start, kills);
    assert_true(kills >= 3);
    run_line(s, train("killed.gguf", "--steps 150 --checkpoint-every 0 -q --resume"));
    if (s->code) fail_msg("%s", s->err);
    expect_same("whole.gguf.ckpt", "killed.gguf.ckpt");
    // Damage is seen, another training's checkpoint is not taken.
    run_line(s, train("killed.gguf", "--steps 150 -q --resume --seed 5"));
    assert_int_equal(s->code, 1);
    assert_non_null(strstr(s->err, "expected seed=5, found seed=0"));
    FILE *f = fopen(path_of("killed.gguf.ckpt"), "r+");
    fseek(f, 5000, SEEK_SET);
    const int byte = fgetc(f);
    fseek(f, 5000, SEEK_SET);
    fputc(byte ^ 1, f);
    fclose(f);
    run_line(s, train("killed.gguf", "--steps 150 -q --resume"));
    assert_int_equal(s->code, 1);
    assert_non_null(strstr(s->err, "damaged"));
}

// Options that change what is learned from, by their names.
static void what_differs_is_named(void **state) {
    static const struct {
        const char *rest, *says;
    } wrong[] = {{"--held-out 6", "expected held-out=6, found held-out=4"},
                 {"--average 0.5", "expected average=0.5, found none"},
                 {"--limit-rows 500", "expected limit-rows=500, found limit-rows=0"},
                 {"--set variant=hydra", "expected set=variant=hydra, found none"}};
    char rest[160];
    (void)state;
    if (run_line(s, train("named.gguf", "--steps 2 -q"))) fail_msg("%s", s->err);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(rest, sizeof rest, "--steps 2 -q --resume %s", wrong[i].rest);
        assert_int_not_equal(run_line(s, train("named.gguf", rest)), 0);
        if (!strstr(s->err, wrong[i].says)) fail_msg("%s: %s", rest, s->err);
    }
}

// The mean of a shorter way is not judged in place of what is learned on a longer one.
static void a_longer_way_is_learned_from(void **state) {
    (void)state;
    if (run_line(s, train("longer.gguf", "--steps 20 --average 0.2 -q --lr 0.01")))
        fail_msg("%s", s->err);
    if (run_line(s, train("longer.gguf", "--steps 300 --average 0.1 --lr 0.01 --resume")) != 1 ||
        !strstr(s->err, "expected average=0.1"))
        fail_msg("%s", s->err);
    if (run_line(s, train("longer.gguf", "--steps 300 --average 0.2 --lr 0.01 --json --resume")))
        fail_msg("%s", s->err);
    assert_non_null(strstr(s->err, "continues after step 20"));
    assert_non_null(strstr(s->err, "the planned length was 20 steps"));
    json_t *o = json_loads(s->out, 0, NULL), *curve = json_object_get(o, "curve");
    double before = 0;
    int same = 0;
    for (size_t i = 0; i < json_array_size(curve); i++) {
        const double loss = real_at(json_array_get(curve, i), "held_out_loss");
        same += i && loss == before;
        before = loss;
    }
    assert_true(json_array_size(curve) > 10);
    assert_int_equal(same, 0);
    json_decref(o);
}

static double steps_made(const char *rest) {
    if (run_line(s, train("early.gguf", rest))) fail_msg("%s", s->err);
    json_t *o = json_loads(s->out, 0, NULL);
    const double steps = real_at(o, "steps");
    json_decref(o);
    return steps;
}

// With a rate of 0 nothing gets better.
static void an_early_end_is_gone_on_with(void **state) {
    (void)state;
    assert_true(steps_made("--steps 200 --lr 0 --json -q") == 60);
    if (run_line(s, train("early.gguf", "--steps 200 --lr 0 --resume"))) fail_msg("%s", s->err);
    assert_non_null(strstr(s->err, "of step 0 of 60, ended early"));
    assert_non_null(strstr(s->err, "a longer --time, more --steps or another --patience"));
    assert_true(steps_made("--steps 200 --lr 0 --json -q --resume --patience 8") == 80);
    assert_true(steps_made("--steps 210 --lr 0 --json -q --resume") == 140);
    assert_true(steps_made("--steps 210 --lr 0 --json -q --resume --patience 0") == 210);
}

static void an_interrupt_leaves_pack_and_checkpoint(void **state) {
    (void)state;
    struct stat st;
    fr_gguf *g;
    fr_error err;
    run_with(s, train("stopped.gguf", "--time 1h -q --json"), "", 0, 700, NULL);
    assert_int_equal(s->code, 130);
    assert_string_equal(s->err, "forerun: interrupted\n");
    assert_int_equal(stat(path_of("stopped.gguf.ckpt"), &st), 0);
    assert_int_equal(fr_gguf_open(&g, path_of("stopped.gguf"), &err), FR_OK);
    fr_gguf_close(g);
    json_t *o = json_loads(s->out, 0, NULL);
    const double steps = real_at(o, "steps");
    const int time = (int)real_at(o, "seconds") + 2;
    assert_true(steps > 0);
    json_decref(o);
    // Goes on from there to its time.
    char rest[80];
    snprintf(rest, sizeof rest, "--time %ds -q --json --resume", time);
    run_line(s, train("stopped.gguf", rest));
    if (s->code) fail_msg("%s", s->err);
    o = json_loads(s->out, 0, NULL);
    assert_true(real_at(o, "steps") > steps);
    assert_true(real_at(o, "seconds") >= time && real_at(o, "seconds") < time + 60);
    json_decref(o);
}

// As programs wrote it that did not know these lines yet.
static void cut_identity(const char *name, const char *from) {
    fr_checkpoint c;
    fr_map map;
    fr_error err;
    if (fr_checkpoint_read(&c, &map, path_of(name), &err)) fail_msg("%s", err.text);
    const char *at = memmem(c.identity, c.identity_bytes, from, strlen(from));
    assert_non_null(at);
    c.identity_bytes = (size_t)(at - c.identity);
    if (fr_checkpoint_write(&c, path_of(name), &err)) fail_msg("%s", err.text);
    fr_map_close(&map);
}

static const char *train_by_shares(const char *first, const char *then, const char *rest) {
    snprintf(line, sizeof line,
             "train medusa -m %s --data %s/%s,%s/%s --shares 50,50 -o %s/shares.gguf -t 1 "
             "--vocab 320 --batch-rows 128 --steps 4 -q %s",
             model, folder, first, folder, then, folder, rest);
    return line;
}

// The same folders in another order are another way to go.
static void folders_in_another_order_are_another_training(void **state) {
    (void)state;
    if (run_line(s, train_by_shares("data", "more", ""))) fail_msg("%s", s->err);
    assert_int_equal(run_line(s, train_by_shares("more", "data", "--resume")), 1);
    assert_non_null(strstr(s->err, "of another training: expected folders="));
    if (run_line(s, train_by_shares("data", "more", "--resume"))) fail_msg("%s", s->err);
    cut_identity("shares.gguf.ckpt", "folders=");
    if (run_line(s, train_by_shares("data", "more", "--resume"))) fail_msg("%s", s->err);
}

// A pack of the same name and size that drafts other tokens.
static void another_vocabulary_is_another_training(void **state) {
    static const char *const data[] = {"data", "more"};
    char rest[256];
    (void)state;
    snprintf(rest, sizeof rest, "--steps 2 -q --init %s/words.gguf", folder);
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line,
                 "train medusa -m %s --data %s/%s -o %s/words.gguf -t 1 --vocab 300 --steps 1 -q",
                 model, folder, data[i], folder);
        if (run_line(s, line)) fail_msg("%s", s->err);
        assert_int_equal(run_line(s, train("worded.gguf", rest)), i);
        remove(path_of("words.gguf.ckpt"));
        strcat(rest, i ? "" : " --resume");
    }
    assert_non_null(strstr(s->err, "of another training: expected draft-vocab="));
}

// The tiny model's pack takes less than this, its checkpoint more.
enum { LIMIT = 100000 };

static pid_t start(const char *command) {
    char text[2048], *argv[64] = {(char *)FR_PROGRAM};
    snprintf(text, sizeof text, "%s", command);
    int n = 1;
    for (char *word = strtok(text, " "); word && n < 63; word = strtok(NULL, " "))
        argv[n++] = word;
    const pid_t child = fork();
    if (!child) {
        execv(FR_PROGRAM, argv);
        _exit(127);
    }
    return child;
}

// A limit on the size of files is what a test can set; a full disk gives the same errors.
static void room_is_asked_for_before_the_work(void **state) {
    struct rlimit before, less;
    struct stat st;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    less = before;
    less.rlim_cur = LIMIT;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    run_line(s, train("roomless.gguf", "--steps 1"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(s->code, 1);
    assert_non_null(strstr(s->err, "roomless.gguf: expected to write a file of"));
    assert_int_equal(lines_in(s->err), 1);
    assert_int_not_equal(stat(path_of("roomless.gguf.ckpt"), &st), 0);
}

static void write_answered(const char *name, int n, const char *answer) {
    FILE *f = fopen(path_of(name), "w");
    assert_non_null(f);
    for (int i = 0; i < n; i++)
        fprintf(f,
                "{\"id\": \"p-%d\", \"messages\": [{\"role\": \"user\", \"content\": \"%d?\"}, "
                "{\"role\": \"assistant\", \"content\": \"%s\"}]}\n",
                i, i, answer);
    fclose(f);
}

// Answers that are given take as much as answers that are written; --tokens wants a part of them.
static void room_is_asked_for_given_answers(void **state) {
    static const char *const tokens[] = {"", "--tokens 100"};
    struct rlimit before, less;
    char answer[401];
    (void)state;
    memset(answer, 'a', 400);
    answer[400] = 0;
    write_answered("long.jsonl", 200, answer);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    less = before;
    less.rlim_cur = 50 * LIMIT;
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line,
                 "train medusa -m %s --data %s/long.jsonl --given --steps 1 -o %s/long.gguf -t 1 "
                 "--vocab 320 --batch-rows 512 -q %s",
                 model, folder, folder, tokens[i]);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
        run_line(s, line);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        const bool asked = strstr(s->err, "long.gguf.data: expected to write a file of") != NULL;
        if (asked != !i) fail_msg("%s: %s", line, s->err);
    }
}

// A draft vocabulary has no more tokens than the model, whatever is asked for.
static void room_is_asked_for_as_much_as_is_needed(void **state) {
    struct rlimit before, less;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    less = before;
    less.rlim_cur = 100 * LIMIT;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    run_line(s, train("wordy.gguf", "--steps 1 -q --vocab 16777216"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    if (s->code) fail_msg("%s", s->err);
}

static void a_checkpoint_that_does_not_fit_takes_nothing_with_it(void **state) {
    struct rlimit less = {LIMIT, LIMIT};
    struct stat pack, first, last;
    fr_checkpoint c;
    fr_map map;
    fr_gguf *g;
    fr_error err;
    int status;
    (void)state;
    const pid_t child = start(train("filled.gguf", "--time 1h --checkpoint-every 0 -q --lr 0.01"));
    while (stat(path_of("filled.gguf.ckpt"), &first)) { // the first of both is there
        if (waitpid(child, &status, WNOHANG)) fail_msg("it ended before its checkpoint");
        usleep(10000);
    }
    assert_int_equal(prlimit(child, RLIMIT_FSIZE, &less, NULL), 0);
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_int_equal(stat(path_of("filled.gguf"), &pack), 0);
    assert_true(pack.st_size < LIMIT);
    assert_int_equal(stat(path_of("filled.gguf.ckpt"), &last), 0);
    assert_true(last.st_size > LIMIT);
    assert_int_equal(fr_gguf_open(&g, path_of("filled.gguf"), &err), FR_OK);
    fr_gguf_close(g);
    assert_int_equal(fr_checkpoint_read(&c, &map, path_of("filled.gguf.ckpt"), &err), FR_OK);
    fr_map_close(&map);
}

// Ctrl-C while the model answers: there is no checkpoint yet, and the answers are gone on with.
static void interrupted_answers_are_gone_on_with(void **state) {
    struct stat st;
    char command[512];
    (void)state;
    FILE *f = fopen(path_of("many.jsonl"), "w");
    assert_non_null(f);
    for (int i = 0; i < 20000; i++)
        fprintf(f, "{\"messages\": [{\"role\": \"user\", \"content\": \"%d?\"}]}\n", i);
    fclose(f);
    const char *format = "train medusa -m %s --data %s/many.jsonl --tokens %d --steps 3 -o "
                         "%s/many.gguf -t 1 --vocab 320 --batch-rows 256 --depth 2 -q%s";
    snprintf(command, sizeof command, format, model, folder, 100000000, folder, "");
    run_with(s, command, "", 0, 1500, NULL);
    assert_int_equal(s->code, 130);
    assert_int_equal(stat(path_of("many.gguf.data"), &st), 0);
    assert_int_not_equal(stat(path_of("many.gguf.ckpt"), &st), 0);
    // As many as are there are enough now.
    snprintf(command, sizeof command, format, model, folder, 1, folder, " --resume");
    if (run_line(s, command)) fail_msg("%s", s->err);
    assert_int_equal(stat(path_of("many.gguf.ckpt"), &st), 0);
    assert_int_equal(stat(path_of("many.gguf"), &st), 0);
}

static void a_pack_is_what_another_training_begins_with(void **state) {
    (void)state;
    if (run_line(s, train("first.gguf", "--steps 100 --type f32 --json -q --lr 0.01 --vocab 270")))
        fail_msg("%s", s->err);
    json_t *o = json_loads(s->out, 0, NULL);
    const double best = real_at(json_object_get(o, "best"), "loss");
    json_decref(o);
    snprintf(line, sizeof line, "--steps 1 --json -q --lr 0 --init %s/first.gguf", folder);
    char rest[256];
    if (run_line(s, train("second.gguf", strcpy(rest, line)))) fail_msg("%s", s->err);
    o = json_loads(s->out, 0, NULL);
    assert_int_equal(real_at(o, "draft_vocab"), 270);
    assert_near(real_at(json_object_get(o, "best"), "loss"), best, 1e-6);
    json_decref(o);
}

// One bit of a weight, after the training was done.
static void a_damaged_pack_is_refused_by_all(void **state) {
    static const char *const lines[] = {
        "run -m %1$s -p x -n 4 --drafter medusa:%2$s", "inspect --json %2$s",
        "train medusa -m %1$s --data %3$s/data -o %3$s/never.gguf -t 1 --steps 1 -q --init %2$s"};
    char path[160];
    (void)state;
    if (run_line(s, train("sound.gguf", "--steps 1 -q"))) fail_msg("%s", s->err);
    snprintf(path, sizeof path, "%s", path_of("sound.gguf"));
    for (int damaged = 0; damaged < 2; damaged++)
        for (size_t i = 0; i < 3; i++) {
            snprintf(line, sizeof line, lines[i], model, path, folder);
            run_line(s, line);
            const bool shows = i == 1; // what a file holds, and why it is of no use
            if (s->code != damaged) fail_msg("%s: %d: %s", line, s->code, s->err);
            const char *why = strstr(shows ? s->out : s->err, "forerun.checksum: damaged");
            if (!why != !damaged || (shows && lines_in(s->err) != damaged))
                fail_msg("%s: %s", line, s->err);
            if (i < 2 || damaged) continue;
            FILE *f = fopen(path, "r+b");
            assert_non_null(f);
            fseek(f, -1000, SEEK_END);
            const int was = getc(f);
            fseek(f, -1000, SEEK_END);
            putc(was ^ 1, f);
            fclose(f);
            unlink(path_of("never.gguf"));
            unlink(path_of("never.gguf.ckpt"));
        }
    assert_int_not_equal(access(path_of("never.gguf"), F_OK), 0);
}

// The loss of first values: a rate of 0 leaves them.
static double first_loss(const char *method, const char *pack, const char *rest) {
    snprintf(line, sizeof line,
             "train %s -m %s --data %s/data -o %s/%s -t 1 --vocab 320 --batch-rows 128 --steps 1 "
             "--type f32 --json -q --lr 0 %s",
             method, model, folder, folder, pack, rest);
    if (run_line(s, line)) fail_msg("%s: %s", line, s->err);
    json_t *o = json_loads(s->out, 0, NULL);
    const double loss = real_at(json_object_get(o, "best"), "loss");
    json_decref(o);
    return loss;
}

// Maps that the pack of --init has not are fitted, as without it; the final state, where it is the
// last of the layers, is handed on as it is.
static void what_a_pack_does_not_give_is_fitted(void **state) {
    const struct {
        const char *from, *method, *first, *then, *both;
    } cases[] = {{"hidden-transfer", "hidden-transfer", "--set layers=1", "--set layers=1/1",
                  "--set layers=1/1"},
                 {"eagle", "eagle", "--set ffn=32", "--set ffn=32 --set taps=1",
                  "--set ffn=32 --set taps=1"},
                 {"eagle", "eagle", "--set ffn=32", "--set ffn=32 --set taps=1,2", "--set ffn=32"},
                 {"eagle", "chimera", "--set ffn=32", "--set ffn=32", "--set ffn=32"},
                 {"chimera", "eagle", "--set ffn=32", "--set ffn=32", "--set ffn=32"},
                 {"chimera", "hidden-state", "--set ffn=32", "--set ffn=32", "--set ffn=32"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32], rest[256];
        snprintf(name, sizeof name, "given%zu.gguf", i);
        first_loss(cases[i].from, name, cases[i].first);
        snprintf(rest, sizeof rest, "%s --init %s/%s", cases[i].then, folder, name);
        snprintf(name, sizeof name, "fitted%zu.gguf", i);
        const double found = first_loss(cases[i].method, name, rest);
        snprintf(name, sizeof name, "alone%zu.gguf", i);
        assert_near(found, first_loss(cases[i].method, name, cases[i].both), 1e-4);
    }
}

enum { TURNED = 500000 };

// A target that is turned by another RoPE base than blocks by themselves, and shards of it.
static void make_turned_target(void) {
    char path[128];
    fr_error err;
    fr_gguf *g;
    fr_shard_format f = {.d = 64, .top = 8};
    snprintf(path, sizeof path, "%s", path_of("turned.gguf"));
    assert_int_equal(
        fr_tiny_write(&(fr_tiny_options){.n_layer = 2, .rope_base = TURNED}, path, &err), FR_OK);
    assert_int_equal(fr_gguf_open(&g, path, &err), FR_OK);
    f.n_vocab = (int)fr_gguf_tensor_find(g, "token_embd.weight")->ne[1];
    fr_gguf_fingerprint(g, f.target);
    fr_gguf_close(g);
    assert_int_equal(make_shards(path_of("turned"), &f, 1, 20, &err), FR_OK);
}

static float rope_base_of(const char *pack) {
    fr_gguf *g;
    fr_error err;
    float base;
    if (fr_gguf_open(&g, path_of(pack), &err)) fail_msg("%s", err.text);
    if (fr_gguf_get_f32(g, "forerun.rope_base", &base, &err)) fail_msg("%s", err.text);
    fr_gguf_close(g);
    return base;
}

// Its attention was learned for those angles.
static void a_block_keeps_its_rope_base(void **state) {
    static const struct {
        const char *method, *pack, *set, *from;
        float base;
    } lines[] = {{"eagle", "own.gguf", "--set init=last-layer", NULL, TURNED},
                 {"eagle", "own-eagle.gguf", "", "own.gguf", TURNED},
                 {"hidden-state", "own-state.gguf", "", "own-eagle.gguf", TURNED},
                 {"chimera", "own-chimera.gguf", "", "own-state.gguf", TURNED},
                 {"eagle", "own-last.gguf", "", "own-chimera.gguf", TURNED},
                 {"eagle", "usual.gguf", "", NULL, 10000},
                 {"eagle", "usual-eagle.gguf", "--set init=last-layer", "usual.gguf", 10000}};
    (void)state;
    make_turned_target();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char init[160] = "";
        if (lines[i].from) snprintf(init, sizeof init, "--init %s", path_of(lines[i].from));
        snprintf(line, sizeof line,
                 "train %s -m %s/turned.gguf --data %s/turned -o %s/%s -t 1 --vocab 320 "
                 "--batch-rows 128 --steps 1 -q --set ffn=32 %s %s",
                 lines[i].method, folder, folder, folder, lines[i].pack, lines[i].set, init);
        if (run_line(s, line)) fail_msg("%s: %s", line, s->err);
        assert_true(rope_base_of(lines[i].pack) == lines[i].base);
    }
}

// A medusa's heads mean nothing to a block: it begins as ever, but for the tokens that it drafts.
static void a_pack_of_another_drafter_gives_its_vocabulary(void **state) {
    double loss[2], vocab[2];
    (void)state;
    if (run_line(s, train("heads.gguf", "--steps 1 --json -q --vocab 320"))) fail_msg("%s", s->err);
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line,
                 "train eagle -m %s --data %s/data -o %s/block.gguf -t 1 --batch-rows 128 "
                 "--steps 1 --json --lr 0 --set ffn=32 %s%s%s",
                 model, folder, folder, i ? "--init " : "--vocab 320", i ? folder : "",
                 i ? "/heads.gguf" : "");
        if (run_line(s, line)) fail_msg("%s", s->err);
        assert_int_equal(!strstr(s->err, "starts with the draft vocabulary alone"), !i);
        json_t *o = json_loads(s->out, 0, NULL);
        vocab[i] = real_at(o, "draft_vocab");
        loss[i] = real_at(json_object_get(o, "best"), "loss");
        json_decref(o);
        remove(path_of("block.gguf"));
        remove(path_of("block.gguf.ckpt"));
    }
    assert_near(vocab[0], vocab[1], 0);
    assert_near(loss[0], loss[1], 1e-6);
}

static void write_prompts(const char *name) {
    FILE *f = fopen(path_of(name), "w");
    assert_non_null(f);
    for (int i = 0; i < 12; i++)
        fprintf(f,
                "{\"id\": \"p-%d\", \"messages\": [{\"role\": \"user\", \"content\": \"%d?\"}]}\n",
                i, i);
    fclose(f);
}

// From prompts to text, each drafter: the model answers, a pack comes of it, and with the pack the
// model says what it says without.
static void prompts_become_packs_that_draft(void **state) {
    static const char *const METHODS[] = {"medusa", "eagle", "hidden-state", "ppd",
                                          "hidden-transfer"};
    (void)state;
    write_prompts("prompts.jsonl");
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        static char plain[SAID_MOST];
        snprintf(line, sizeof line,
                 "train %s -m %s --data %s/prompts.jsonl --tokens 400 --steps 3 -o %s/%s.gguf -t 1 "
                 "--vocab 320 --batch-rows 256 --depth 2",
                 METHODS[i], model, folder, folder, METHODS[i]);
        if (run_line(s, line)) fail_msg("%s: %s", line, s->err);
        snprintf(line, sizeof line, "inspect %s/%s.gguf", folder, METHODS[i]);
        assert_int_equal(run_line(s, line), 0);
        assert_non_null(strstr(s->out, "prompts.jsonl"));
        snprintf(line, sizeof line, "%s/prompts", folder);
        assert_null(strstr(s->out, line)); // names, not places
        snprintf(line, sizeof line, "run -m %s -p 77? -n 40 --drafter none --json", model);
        assert_int_equal(run_line(s, line), 0);
        const char *text = strstr(s->out, "\"tokens\"");
        assert_non_null(text);
        snprintf(plain, sizeof plain, "%.*s", (int)strcspn(text, "]"), text);
        snprintf(line, sizeof line,
                 "run -m %s -p 77? -n 40 --drafter %s:%s/%s.gguf --no-adapt --json", model,
                 METHODS[i], folder, METHODS[i]);
        if (run_line(s, line)) fail_msg("%s: %s", line, s->err);
        assert_non_null(strstr(s->out, plain));
        assert_non_null(strstr(s->out, METHODS[i]));
    }
}

// Answers of an earlier training are learned from only where they are what the line asks for.
static void other_answers_are_not_taken_over(void **state) {
    static const struct {
        const char *data, *how, *says;
    } lines_of[] = {
        {"mine.jsonl", "", NULL},
        {"mine.jsonl", "", NULL},
        {"mine.jsonl", "--given",
         "given answers of the files in --data, found those of own mine.jsonl"},
        {"yours.jsonl", "", "own answers of the files in --data, found those of own mine.jsonl"}};
    (void)state;
    write_answered("mine.jsonl", 12, "It is so, and that is all.");
    write_answered("yours.jsonl", 12, "It is not so.");
    for (size_t i = 0; i < sizeof lines_of / sizeof *lines_of; i++) {
        remove(path_of("taken.gguf.ckpt"));
        snprintf(line, sizeof line,
                 "train medusa -m %s --data %s/%s --tokens 300 --steps 2 -o %s/taken.gguf -t 1 "
                 "--vocab 320 --batch-rows 256 -q %s",
                 model, folder, lines_of[i].data, folder, lines_of[i].how);
        assert_int_equal(run_line(s, line), lines_of[i].says ? 1 : 0);
        if (lines_of[i].says && !strstr(s->err, lines_of[i].says)) fail_msg("%s", s->err);
    }
}

// The line that the pack says it was made by.
static bool command_has(const char *pack, const char *text) {
    snprintf(line, sizeof line, "inspect %s/%s --json", folder, pack);
    assert_int_equal(run_line(s, line), 0);
    return strstr(s->out, text) != NULL;
}

static void a_pack_tells_the_whole_line(void **state) {
    (void)state;
    write_answered("told.jsonl", 12, "It is so, and that is all.");
    snprintf(line, sizeof line,
             "train medusa -m %s --data %s/told.jsonl --given --tokens 5000 --limit-rows 700 "
             "--judgements 3 --steps 2 -o %s/told.gguf -t 1 --vocab 320 --batch-rows 256 -q",
             model, folder, folder);
    if (run_line(s, line)) fail_msg("%s", s->err);
    assert_true(command_has("told.gguf", " --given --tokens 5000 --limit-rows 700 "));
    assert_true(command_has("told.gguf", " --judgements 3"));
}

// Prompts give an eagle three layers to learn from, --init those of the pack; folders of shards and
// a line that says otherwise do not. Its steps rise, but not those of a chain that has learned.
static void an_eagle_is_trained_by_the_recipe(void **state) {
    static const char *const REST = "-t 1 --vocab 320 --batch-rows 256 --depth 2 --steps 2";
    (void)state;
    fr_error err;
    char deep[128];
    snprintf(deep, sizeof deep, "%s/deep.gguf", folder);
    assert_int_equal(fr_tiny_write(&(fr_tiny_options){.n_layer = 9}, deep, &err), FR_OK);
    write_prompts("few.jsonl");
    const struct {
        const char *pack, *data, *more;
        bool three, rise;
    } cases[] = {{"three.gguf", "few.jsonl", "", true, true},
                 {"folder.gguf", "three.gguf.data", "", false, true},
                 {"again.gguf", "three.gguf.data", "--init %s/three.gguf", true, false},
                 {"none.gguf", "few.jsonl", "--set taps=none", false, true},
                 {"level.gguf", "three.gguf.data", "--set steps-rise=0", false, false},
                 {"state.gguf", "three.gguf.data", "--init %s/none.gguf", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char more[256];
        snprintf(more, sizeof more, cases[i].more, folder);
        snprintf(line, sizeof line, "train eagle -m %s --data %s/%s -o %s/%s %s %s%s", deep, folder,
                 cases[i].data, folder, cases[i].pack, REST,
                 strstr(cases[i].data, "jsonl") ? "--tokens 400 " : "", more);
        if (run_line(s, line)) fail_msg("%s: %s", line, s->err);
        assert_int_equal(command_has(cases[i].pack, "taps=2,4,6"), cases[i].three);
        assert_int_equal(command_has(cases[i].pack, "steps-rise=1"), cases[i].rise);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(a_training_learns),
        cmocka_unit_test(options_of_learning_reach_it),
        cmocka_unit_test(what_it_takes_is_said_and_kept),
        cmocka_unit_test(kills_change_nothing),
        cmocka_unit_test(folders_in_another_order_are_another_training),
        cmocka_unit_test(another_vocabulary_is_another_training),
        cmocka_unit_test(what_differs_is_named),
        cmocka_unit_test(a_longer_way_is_learned_from),
        cmocka_unit_test(an_early_end_is_gone_on_with),
        cmocka_unit_test(an_interrupt_leaves_pack_and_checkpoint),
        cmocka_unit_test(room_is_asked_for_before_the_work),
        cmocka_unit_test(room_is_asked_for_as_much_as_is_needed),
        cmocka_unit_test(room_is_asked_for_given_answers),
        cmocka_unit_test(a_checkpoint_that_does_not_fit_takes_nothing_with_it),
        cmocka_unit_test(interrupted_answers_are_gone_on_with),
        cmocka_unit_test(a_pack_is_what_another_training_begins_with),
        cmocka_unit_test(a_damaged_pack_is_refused_by_all),
        cmocka_unit_test(what_a_pack_does_not_give_is_fitted),
        cmocka_unit_test(a_block_keeps_its_rope_base),
        cmocka_unit_test(a_pack_of_another_drafter_gives_its_vocabulary),
        cmocka_unit_test(prompts_become_packs_that_draft),
        cmocka_unit_test(other_answers_are_not_taken_over),
        cmocka_unit_test(a_pack_tells_the_whole_line),
        cmocka_unit_test(an_eagle_is_trained_by_the_recipe)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
