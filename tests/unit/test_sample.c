/* Looks at devices: below a made-up root, through a made-up library. */
#include "folder.h"

#include <sys/stat.h>

#include "sample/cpu.h"
#include "sample/gpu_nvml.h"
#include "sample/sampler.h"

/* Writes a file and the folders above it. */
static void put_file(const char *path, const char *text)
{
    char  part[200];
    FILE *out;

    for (const char *p = path; (p = strchr(p, '/')); p++) {
        snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
        mkdir(part, 0700);
    }
    out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static void empty_root(void)
{
    assert_int_equal(system("rm -rf sys proc"), 0);
}

static int enter(void **state)
{
    return folder_enter(state) || setenv("LAYERMETER_SYSTEM_ROOT", ".", 1) ||
           setenv("LAYERMETER_NVML", "/nowhere/libnvidia-ml.so.1", 1);
}

static int leave(void **state)
{
    return system("rm -rf sys proc") || folder_leave(state);
}

#define RAPL "sys/class/powercap/"

static void put_zone(const char *folder, const char *name, const char *energy, const char *range)
{
    char path[120];

    snprintf(path, sizeof path, RAPL "%s/name", folder);
    put_file(path, name);
    snprintf(path, sizeof path, RAPL "%s/energy_uj", folder);
    put_file(path, energy);
    snprintf(path, sizeof path, RAPL "%s/max_energy_range_uj", folder);
    put_file(path, range);
}

/* ---- CPUs -------------------------------------------------------------------------------------
 */

static void packages_and_their_memory_add_up_and_nothing_counts_twice(void **state)
{
    cpu_power *p;

    (void)state;
    empty_root();
    put_zone("intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
    put_zone("intel-rapl:0:0", "core\n", "1000000\n", "262143328850\n");
    put_zone("intel-rapl:0:1", "dram\n", "0\n", "65712999613\n");
    put_zone("intel-rapl:1", "package-1\n", "5000000\n", "262143328850\n");
    put_zone("intel-rapl:2", "psys\n", "1000000\n", "262143328850\n");
    put_zone("intel-rapl-mmio:0", "package-0\n", "1000000\n", "262143328850\n");
    assert_int_equal(cpu_power_open(&p, NULL), LM_OK);
    assert_string_equal(cpu_power_source(p), "RAPL package-0, dram, package-1");
    assert_close(cpu_power_joules(p), 0, 0);

    put_file(RAPL "intel-rapl:0/energy_uj", "31000000\n");   /* 30 J */
    put_file(RAPL "intel-rapl:0:0/energy_uj", "21000000\n"); /* within the package's */
    put_file(RAPL "intel-rapl:0:1/energy_uj", "4000000\n");  /* 4 J */
    put_file(RAPL "intel-rapl:1/energy_uj", "7500000\n");    /* 2.5 J */
    put_file(RAPL "intel-rapl:2/energy_uj", "99000000\n");
    assert_close(cpu_power_joules(p), 36.5, 1e-12);
    assert_close(cpu_power_joules(p), 36.5, 1e-12);
    cpu_power_close(p);
}

static void a_counter_that_wraps_around_goes_on(void **state)
{
    cpu_power *p;

    (void)state;
    empty_root();
    put_zone("intel-rapl:0", "package-0\n", "262143000000\n", "262143328850\n");
    assert_int_equal(cpu_power_open(&p, NULL), LM_OK);
    put_file(RAPL "intel-rapl:0/energy_uj",
             "671150\n"); /* 0.32885 J to the end, 0.67115 J from 0 */
    assert_close(cpu_power_joules(p), 1, 1e-9);
    put_file(RAPL "intel-rapl:0/energy_uj", "262143000000\n");
    assert_close(cpu_power_joules(p), 1 + 262143 - 0.67115, 1e-12);
    put_file(RAPL "intel-rapl:0/energy_uj", "");
    assert_true(isnan(cpu_power_joules(p)));
    cpu_power_close(p);
}

static void without_counters_a_sensor_of_power_is_read(void **state)
{
    cpu_power *p;

    (void)state;
    empty_root();
    put_file("sys/class/hwmon/hwmon0/name", "amdgpu\n");
    put_file("sys/class/hwmon/hwmon0/power1_input", "300000000\n");
    put_file("sys/class/hwmon/hwmon1/name", "power_meter\n");
    put_file("sys/class/hwmon/hwmon1/power1_average", "410000000\n");
    assert_int_equal(cpu_power_open(&p, NULL), LM_OK);
    assert_string_equal(cpu_power_source(p), "hwmon power_meter (whole machine)");
    assert_close(cpu_power_watts(p), 410, 1e-12);
    assert_true(isnan(cpu_power_joules(p)));
    cpu_power_close(p);
    put_file("sys/class/hwmon/hwmon2/name", "zenpower\n"); /* the CPUs alone */
    put_file("sys/class/hwmon/hwmon2/power1_input", "95500000\n");
    assert_int_equal(cpu_power_open(&p, NULL), LM_OK);
    assert_string_equal(cpu_power_source(p), "hwmon zenpower");
    assert_close(cpu_power_watts(p), 95.5, 1e-12);
    cpu_power_close(p);
}

static void no_power_of_cpus_is_one_line_that_says_why(void **state)
{
    cpu_power *p;
    lm_error   err;

    (void)state;
    empty_root();
    assert_int_equal(cpu_power_open(&p, &err), LM_E_NOTFOUND);
    assert_error(
        err, LM_E_NOTFOUND,
        "no power of CPUs: neither RAPL in /sys/class/powercap (module intel_rapl_msr) nor "
        "a sensor in /sys/class/hwmon");
    if (geteuid() == 0)
        return; /* root reads everything */
    put_zone("intel-rapl:0", "package-0\n", "1\n", "262143328850\n");
    assert_int_equal(chmod(RAPL "intel-rapl:0/energy_uj", 0), 0);
    assert_int_equal(cpu_power_open(&p, &err), LM_E_IO);
    assert_error(err, LM_E_IO,
                 "/sys/class/powercap/intel-rapl:0/energy_uj: Permission denied: only root reads "
                 "it: run as root, or 'chmod a+r' it");
}

static void load_of_cpus_is_what_they_did_between_two_looks(void **state)
{
    sampler      *s;
    device_sample now;

    (void)state;
    empty_root();
    put_file("proc/stat", "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 50 0 50 350 50 0 0 0\n"
                          "cpu1 50 0 50 350 50 0 0 0\n");
    put_file("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable:  400 kB\n");
    put_file("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000\n");
    put_file("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3000000\n");
    assert_int_equal(sampler_open(NULL, &s, NULL), LM_OK); /* no GPU: the CPUs */
    assert_int_equal(s->n, 1);
    assert_string_equal(s->device[0].index, "cpu");
    now = sampler_look(s, 0);
    assert_true(isnan(now.busy) && isnan(now.watts) && isnan(now.joules) && !now.held_known);
    assert_close(now.memory_bytes, 600 * 1024, 0);
    assert_close(now.clock_mhz, 2500, 1e-12);
    /* 60 ticks of work, 20 idle, 20 waiting for a disk */
    put_file("proc/stat", "cpu  140 10 110 720 120 0 0 0 0 0\ncpu0 1\n");
    assert_close(sampler_look(s, 0).busy, 60, 1e-12);
    sampler_close(s);
}

/* ---- GPUs -------------------------------------------------------------------------------------
 */

static void without_a_library_or_a_driver_one_line_says_so(void **state)
{
    sampler *s;
    size_t   n;
    lm_error err;

    (void)state;
    assert_int_equal(nvml_count(&n, &err), LM_E_UNSUPPORTED);
    assert_error(
        err, LM_E_UNSUPPORTED,
        "no NVML, which comes with NVIDIA's driver: /nowhere/libnvidia-ml.so.1: cannot open shared object file: No such "
        "file or directory");
    assert_int_equal(sampler_open("0", &s, &err), LM_E_UNSUPPORTED);
    assert_int_equal(sampler_open("first", &s, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "expected numbers of GPUs, all or cpu (0,2,cpu), found 'first'");
}

#ifdef FAKE_NVML
static int enter_fake(void **state)
{
    (void)state;
    return setenv("LAYERMETER_NVML", FAKE_NVML, 1) || setenv("LAYERMETER_FAKE_NVML", "nvml.txt", 1);
}

static void a_gpu_tells_load_power_energy_clocks_and_what_holds_them(void **state)
{
    sampler      *s;
    device_sample now;

    (void)state;
    folder_file("nvml.txt", "1 busy 88\n1 memory_busy 12\n1 memory 1073741824\n1 power 251500\n"
                            "1 energy 1234567\n1 clock 1410\n1 held 36\n");
    assert_int_equal(sampler_open("1", &s, NULL), LM_OK);
    assert_string_equal(s->device[0].index, "1");
    assert_string_equal(s->device[0].name, "Fake GPU");
    now = sampler_look(s, 0);
    assert_close(now.busy, 88, 0);
    assert_close(now.memory_busy, 12, 0);
    assert_close(now.memory_bytes, 1073741824.0, 0);
    assert_close(now.watts, 251.5, 1e-12);
    assert_close(now.joules, 1234.567, 1e-12);
    assert_close(now.clock_mhz, 1410, 0);
    assert_close(now.memory_clock_mhz, 2619, 0);
    assert_close(now.limit_watts, 700, 0);
    assert_close(now.celsius, 41, 0);
    assert_true(now.held_known && now.held == (HELD_POWER_CAP | HELD_THERMAL) && !now.lost);
    folder_file("nvml.txt", "1 power 404\n1 energy 404\n1 held 404\n"); /* what it does not know */
    now = sampler_look(s, 0);
    assert_true(isnan(now.watts) && isnan(now.joules) && !now.held_known && !now.lost);
    folder_file("nvml.txt", "1 lost 1\n");
    now = sampler_look(s, 0);
    assert_true(now.lost && isnan(now.busy) && isnan(now.watts) && isnan(now.clock_mhz));
    sampler_close(s);
}

static void gpus_are_taken_by_number_once_each_and_the_cpu_by_name(void **state)
{
    sampler *s;
    lm_error err;

    (void)state;
    folder_file("nvml.txt", "");
    assert_int_equal(sampler_open(NULL, &s, NULL), LM_OK);
    assert_int_equal(s->n, 2);
    sampler_close(s);
    assert_int_equal(sampler_open("1, cpu, 1", &s, NULL), LM_OK);
    assert_int_equal(s->n, 2);
    assert_string_equal(s->device[1].index, "cpu");
    sampler_close(s);
    assert_int_equal(sampler_open("2", &s, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND, "no GPU 2: there are 2, from 0");
    setenv("LAYERMETER_FAKE_GPUS", "0", 1);
    assert_int_equal(sampler_open("all", &s, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND, "no GPU is there");
    assert_int_equal(sampler_open(NULL, &s, NULL), LM_OK); /* the CPUs */
    sampler_close(s);
    unsetenv("LAYERMETER_FAKE_GPUS");
    setenv("LAYERMETER_FAKE_NO_DRIVER", "1", 1);
    assert_int_equal(sampler_open("0", &s, &err), LM_E_UNSUPPORTED);
    assert_error(err, LM_E_UNSUPPORTED, "NVML, nvmlInit_v2: Driver Not Loaded (9)");
    unsetenv("LAYERMETER_FAKE_NO_DRIVER");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packages_and_their_memory_add_up_and_nothing_counts_twice),
        cmocka_unit_test(a_counter_that_wraps_around_goes_on),
        cmocka_unit_test(without_counters_a_sensor_of_power_is_read),
        cmocka_unit_test(no_power_of_cpus_is_one_line_that_says_why),
        cmocka_unit_test(load_of_cpus_is_what_they_did_between_two_looks),
        cmocka_unit_test(without_a_library_or_a_driver_one_line_says_so),
#ifdef FAKE_NVML
        cmocka_unit_test_setup(a_gpu_tells_load_power_energy_clocks_and_what_holds_them,
                               enter_fake),
        cmocka_unit_test_setup(gpus_are_taken_by_number_once_each_and_the_cpu_by_name, enter_fake),
#endif
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
