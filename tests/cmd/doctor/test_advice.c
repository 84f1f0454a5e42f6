// What is advised, from machines that are made up.
#include "cmd/doctor/doctor.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static fr_doctor d;
static const uint64_t GB = 1000000000;

// A machine and a model with which nothing is wrong.
static void sound(void) {
    memset(&d, 0, sizeof d);
    d.machine = (fr_doctor_machine){.isa = "avx2", .threads = 4};
    d.machine.cpus.n_cores = 4;
    d.machine.system = (fr_machine){.n_cores = 4,
                                    .n_cpus = 8,
                                    .memory = 16 * GB,
                                    .available = 8 * GB,
                                    .huge_pages = "madvise",
                                    .governor = "performance",
                                    .turbo = FR_ON,
                                    .clock_khz = 3000000,
                                    .clock_most = 3000000};
    d.model.path = "models/m.gguf";
    d.model.facts.runs = true;
    d.model.weights = 2 * GB;
    d.model.tuned = true;
    d.model.profile.n_drafters = 1;
    d.model.profile.cost.held = 1;
    d.packs.n = 1;
    d.packs.pack[0].fits = true;
}

// One piece of advice, about `about`, with this in its remedy.
static void expect(const char *about, const char *remedy) {
    fr_doctor_advise(&d);
    if (d.n_advice != 1) fail_msg("%s: %d pieces of advice", about, d.n_advice);
    assert_string_equal(d.advice[0].about, about);
    if (!strstr(d.advice[0].remedy, remedy)) fail_msg("%s: %s", about, d.advice[0].remedy);
    assert_true(strlen(d.advice[0].what) > 10);
}

static void a_sound_machine_gets_no_advice(void **state) {
    (void)state;
    sound();
    fr_doctor_advise(&d);
    assert_int_equal(d.n_advice, 0);
}

static void what_is_not_known_is_no_fault(void **state) {
    (void)state;
    sound();
    d.machine.system = (fr_machine){0};
    fr_doctor_advise(&d);
    assert_int_equal(d.n_advice, 0);
}

static void each_fault_of_the_machine_has_its_remedy(void **state) {
    (void)state;
    sound();
    d.machine.isa = "scalar";
    expect("instruction sets", "AVX2");
    d.machine.system.is_virtual = true;
    expect("instruction sets", "-cpu host");
    sound();
    d.machine.cpus.n_cores = 2;
    expect("cores", "taskset");
    sound();
    d.machine.group.cpus = 1.5;
    expect("cores", "--cpus");
    sound();
    strcpy(d.machine.system.huge_pages, "never");
    expect("huge pages", "echo madvise");
    sound();
    strcpy(d.machine.system.governor, "powersave");
    expect("clock", "-g performance");
    sound();
    d.machine.system.turbo = FR_OFF;
    expect("clock", "echo 1 | sudo tee /sys/devices/system/cpu/cpufreq/boost");
    d.machine.system.turbo_by_intel = true;
    expect("clock", "echo 0 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo");
    sound();
    d.machine.system.clock_khz = 2000000;
    expect("clock", "3000MHz");
    sound();
    d.machine.system.swap_used = GB;
    expect("swap", "close");
    sound();
    d.machine.others.programs = 0.5;
    expect("other programs", "top");
    sound();
    d.machine.others.host = 0.5;
    expect("host", "dedicated CPUs");
}

static void each_fault_of_the_model_has_its_remedy(void **state) {
    (void)state;
    sound();
    d.model.weights = 9 * GB;
    expect("memory", "smaller quantization");
    sound();
    d.machine.group = (fr_control_group){.memory = 3 * GB, .memory_used = GB};
    expect("memory", "limit");
    assert_int_equal(fr_doctor_memory(&d.machine), 2 * GB);
    sound();
    d.model.profile.n_drafters = 0;
    expect("tuning", "forerun tune -m models/m.gguf");
    d.model.path = "my models/it's.gguf";
    expect("tuning", "forerun tune -m 'my models/it'\\''s.gguf'");
    sound();
    d.model.profile.cost.held = 1.4;
    expect("tuning", "forerun tune");
    sound();
    d.packs.pack[0].fits = false;
    expect("packs", "-o models/packs/eagle.gguf --time 60m");
    expect("packs", "mkdir -p models/packs/ && forerun train eagle");
    sound();
    d.model.facts.runs = false;
    d.packs.n = 0;
    expect("model", "forerun models");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_machine_gets_no_advice),
        cmocka_unit_test(what_is_not_known_is_no_fault),
        cmocka_unit_test(each_fault_of_the_machine_has_its_remedy),
        cmocka_unit_test(each_fault_of_the_model_has_its_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
