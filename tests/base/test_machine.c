// What /proc and /sys say, from a folder that stands for the root.
#define _GNU_SOURCE
#include "base/control_group.h"
#include "base/machine.h"
#include "base/system_file.h"
#include "support/home.h"

static fr_machine m;
static fr_control_group g;

static int set_up(void **state) {
    (void)state;
    home_begin();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    home_end();
    return 0;
}

static void nothing_readable_is_nothing_known(void **state) {
    (void)state;
    const fr_machine none = {0};
    fr_machine_read(&m, home_path);
    fr_control_group_read(&g, home_path);
    assert_memory_equal(&m, &none, sizeof m);
    assert_true(g.cpus == 0 && g.memory == 0 && g.memory_used == 0);
}

// Two sockets of two cores with two threads each.
static void put_cpus(void) {
    char text[4096];
    size_t n = 0;
    for (int cpu = 0; cpu < 8; cpu++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "processor\t: %d\nphysical id\t: %d\ncore id\t\t: %d\n"
                              "flags\t\t: fpu vme%s avx2\n\n",
                              cpu, cpu / 2 % 2, cpu % 2 * 4, cpu == 7 ? " hypervisor" : "");
    put_text(at_home("proc/cpuinfo"), text);
}

static void cpus_are_counted_by_core_and_socket(void **state) {
    (void)state;
    put_cpus();
    fr_machine_read(&m, home_path);
    assert_int_equal(m.n_cpus, 8);
    assert_int_equal(m.n_cores, 4);
    assert_true(m.is_virtual);
}

static void memory_swap_and_settings_are_read(void **state) {
    (void)state;
    put_text(at_home("proc/meminfo"), "MemTotal:       2000 kB\nMemFree:  1 kB\n"
                                      "MemAvailable:   1500 kB\nSwapTotal: 800 kB\n"
                                      "SwapFree:   300 kB\n");
    put_text(at_home("sys/kernel/mm/transparent_hugepage/enabled"), "always madvise [never]\n");
    put_text(at_home("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), "powersave\n");
    put_text(at_home("sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq"), "2000000\n");
    put_text(at_home("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"), "3500000\n");
    put_text(at_home("sys/devices/system/cpu/cpufreq/boost"), "0\n");
    fr_machine_read(&m, home_path);
    assert_int_equal(m.memory, 2000 * 1024);
    assert_int_equal(m.available, 1500 * 1024);
    assert_int_equal(m.swap, 800 * 1024);
    assert_int_equal(m.swap_used, 500 * 1024);
    assert_string_equal(m.huge_pages, "never");
    assert_string_equal(m.governor, "powersave");
    assert_int_equal(m.clock_khz, 2000000);
    assert_int_equal(m.clock_most, 3500000);
    assert_int_equal(m.turbo, FR_OFF);
    assert_false(m.turbo_by_intel);
    put_text(at_home("sys/devices/system/cpu/intel_pstate/no_turbo"), "0\n");
    fr_machine_read(&m, home_path);
    assert_int_equal(m.turbo, FR_ON);
    assert_true(m.turbo_by_intel);
}

static void broken_files_say_nothing(void **state) {
    (void)state;
    put_text(at_home("proc/meminfo"), "MemTotal: many kB\nMemAvailable: -5 kB\nSwapTotal:\n"
                                      "SwapFree: 99999999999999999999999 kB\n");
    put_text(at_home("sys/kernel/mm/transparent_hugepage/enabled"), "always [madvise never\n");
    put_text(at_home("sys/devices/system/cpu/cpufreq/boost"), "");
    fr_machine_read(&m, home_path);
    assert_true(!m.memory && !m.available && !m.swap && !m.swap_used);
    assert_string_equal(m.huge_pages, "");
    assert_int_equal(m.turbo, FR_UNKNOWN);
}

// The group's own limits, its parent's and the root's: the tightest counts, of CPUs and of memory
// apart.
static void the_tightest_group_of_version_2_counts(void **state) {
    (void)state;
    put_text(at_home("proc/self/cgroup"), "0::/a/b\n");
    put_text(at_home("sys/fs/cgroup/a/b/cpu.max"), "max 100000\n");
    put_text(at_home("sys/fs/cgroup/a/cpu.max"), "150000 100000\n");
    put_text(at_home("sys/fs/cgroup/cpu.max"), "800000 100000\n");
    put_text(at_home("sys/fs/cgroup/a/b/memory.max"), "5000\n");
    put_text(at_home("sys/fs/cgroup/a/b/memory.current"), "3000\n");
    put_text(at_home("sys/fs/cgroup/a/b/memory.stat"), "anon 7\ninactive_file 1000\n");
    put_text(at_home("sys/fs/cgroup/a/memory.max"), "9000\n");
    put_text(at_home("sys/fs/cgroup/a/memory.current"), "3000\n");
    put_text(at_home("sys/fs/cgroup/memory.max"), "max\n");
    fr_control_group_read(&g, home_path);
    assert_true(g.cpus == 1.5);
    assert_int_equal(g.memory, 5000);
    assert_int_equal(g.memory_used, 2000);
}

static void a_group_leaves_what_it_grants_and_has_not_used(void **state) {
    static const struct {
        uint64_t granted, used, machine, room;
    } cases[] = {{0, 0, 100, 100},    {8, 3, 100, 5}, {200, 50, 100, 100},
                 {200, 150, 100, 50}, {8, 9, 100, 0}, {8, 3, 0, 5}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        g = (fr_control_group){.memory = cases[i].granted, .memory_used = cases[i].used};
        assert_int_equal(fr_control_group_room(&g, cases[i].machine), cases[i].room);
    }
}

static void groups_of_version_1_are_read_by_controller(void **state) {
    (void)state;
    put_text(at_home("proc/self/cgroup"), "4:memory:/m/n\n2:cpu,cpuacct:/c\n1:name=systemd:/x\n");
    put_text(at_home("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us"), "50000\n");
    put_text(at_home("sys/fs/cgroup/cpu/c/cpu.cfs_period_us"), "100000\n");
    put_text(at_home("sys/fs/cgroup/cpu/cpu.cfs_quota_us"), "-1\n");
    put_text(at_home("sys/fs/cgroup/cpu/cpu.cfs_period_us"), "100000\n");
    put_text(at_home("sys/fs/cgroup/memory/memory.limit_in_bytes"), "9223372036854771712\n");
    put_text(at_home("sys/fs/cgroup/memory/m/memory.limit_in_bytes"), "7000\n");
    put_text(at_home("sys/fs/cgroup/memory/m/memory.usage_in_bytes"), "6000\n");
    put_text(at_home("sys/fs/cgroup/memory/m/memory.stat"), "total_inactive_file 500\n");
    fr_control_group_read(&g, home_path);
    assert_true(g.cpus == 0.5);
    assert_int_equal(g.memory, 7000);
    assert_int_equal(g.memory_used, 5500);
}

static void a_key_is_a_whole_word(void **state) {
    (void)state;
    uint64_t v = 0;
    put_text(at_home("f"), "inactive_file_x 1\nactive 2\nactive_file: 3\n");
    assert_true(fr_system_entry(home_path, "/f", "active_file", &v));
    assert_int_equal(v, 3);
    assert_true(fr_system_entry(home_path, "/f", "active", &v));
    assert_int_equal(v, 2);
    assert_false(fr_system_entry(home_path, "/f", "inactive_file", &v));
    assert_false(fr_system_entry(home_path, "/none", "active", &v));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_readable_is_nothing_known, set_up),
        cmocka_unit_test_setup(cpus_are_counted_by_core_and_socket, set_up),
        cmocka_unit_test_setup(memory_swap_and_settings_are_read, set_up),
        cmocka_unit_test_setup(broken_files_say_nothing, set_up),
        cmocka_unit_test_setup(the_tightest_group_of_version_2_counts, set_up),
        cmocka_unit_test_setup(groups_of_version_1_are_read_by_controller, set_up),
        cmocka_unit_test(a_group_leaves_what_it_grants_and_has_not_used),
        cmocka_unit_test_setup(a_key_is_a_whole_word, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
