/* Plugins from shared objects: those of tests/abi/fake.c, and files that are none. */
#include "check.h"
#include "folder.h"

#include <sys/resource.h>

#include "layers/loader.h"
#include "layers/schema.h"
#include "network/metrics.h"

static char fakes[512]; /* the folder of the fakes */

static const char *fake(const char *file)
{
    static char path[600];

    snprintf(path, sizeof path, "%s/%s", fakes, file);
    return path;
}

static registry *empty(void)
{
    registry *reg;

    assert_int_equal(registry_new(&reg, NULL), LM_OK);
    return reg;
}

static void refused(const char *path, lm_status code, const char *text)
{
    registry *reg = empty();
    lm_error  err;

    assert_int_equal(loader_open_file(reg, path, 0, &err), code);
    assert_error(err, code, "%s: %s", path, text);
    assert_int_equal(registry_count(reg), 0);
    registry_free(reg);
}

static void a_good_plugin_is_loaded_with_its_origin(void **state)
{
    registry             *reg = empty();
    const registry_entry *entry;
    lm_error              err;

    (void)state;
    assert_int_equal(loader_open_file(reg, fake("good/fake.so"), 3, &err), LM_OK);
    assert_int_equal(registry_count(reg), 1);
    entry = registry_find(reg, "fake");
    assert_non_null(entry);
    assert_string_equal(entry->origin, fake("good/fake.so"));
    assert_string_equal(entry->plugin_name, "fake");
    assert_string_equal(entry->plugin_version, "1");
    assert_string_equal(entry->plugin_license, "Apache-2.0");
    assert_int_equal(entry->rank, 3);
    registry_free(reg);
}

static void what_is_no_plugin_of_this_abi_is_refused_by_its_exact_reason(void **state)
{
    static const struct {
        const char *file, *text;
        lm_status   code;
    } cases[] = {
        { "newer/fake.so", "built for plugin ABI 1.4, this host offers 1.3", LM_E_ABI },
        { "short_plugin/fake.so", "plugin descriptor is shorter than in ABI 1.0", LM_E_ABI },
        { "short_type/fake.so", "a layer type's descriptor is shorter than in ABI 1.0", LM_E_ABI },
        { "bad_second/fake.so", "type 'fake_second': infer and cost are required", LM_E_ARG },
        { "bad_schema/fake.so",
          "type 'fake': default: number: expected a whole number, found 'seven'", LM_E_ARG },
        { "no_symbol/fake.so", "no symbol layermeter_plugin_v1: not a plugin, or of another ABI",
          LM_E_ABI },
        { "nowhere.so", "No such file or directory", LM_E_IO },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refused(fake(cases[i].file), cases[i].code, cases[i].text);
}

static void text_and_folders_are_not_loadable(void **state)
{
    (void)state;
    refused(folder_file("text.so", "this is no shared object\n"), LM_E_ABI,
            "not loadable: file too short");
    refused(folder_file("long.so",
                        "this is no shared object, and it is longer than an ELF header is: "
                        "64 bytes and some more\n"),
            LM_E_ABI, "not loadable: invalid ELF header");
    refused("/tmp", LM_E_ABI, "not loadable: cannot read file data: Is a directory");
}

/* libm is there already, as a dependency: it must not be taken for a plugin all the same. */
static void a_library_is_no_plugin(void **state)
{
    static const char *const places[] = { "/usr/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6",
                                          "/usr/lib/aarch64-linux-gnu/libm.so.6",
                                          "/usr/lib/libm.so.6" };
    size_t                   i        = 0;

    (void)state;
    while (i < sizeof places / sizeof places[0] && access(places[i], R_OK))
        i++;
    if (i == sizeof places / sizeof places[0])
        skip();
    refused(places[i], LM_E_ABI, "no symbol layermeter_plugin_v1: not a plugin, or of another ABI");
}

static void an_earlier_folder_shadows_a_later_one(void **state)
{
    registry *reg = empty();
    lm_error  err;
    char      path[1200];

    (void)state;
    snprintf(path, sizeof path, "%s/twin:%s/good", fakes, fakes);
    setenv("LAYERMETER_PLUGIN_PATH", path, 1);
    assert_int_equal(loader_open_all(reg, NULL, 0, &err), LM_OK);
    assert_string_equal(registry_find(reg, "fake")->plugin_version, "2");
    /* the plugins built beside this program come last and are there as well */
    assert_non_null(registry_find(reg, "conv2d"));
    assert_int_equal(registry_find(reg, "fake")->rank, 1);
    assert_int_equal(registry_find(reg, "conv2d")->rank, 3);
    registry_free(reg);
}

static void a_named_file_shadows_all_folders(void **state)
{
    registry   *reg = empty();
    lm_error    err;
    char        path[600];
    const char *file;

    (void)state;
    snprintf(path, sizeof path, "%s/twin", fakes);
    setenv("LAYERMETER_PLUGIN_PATH", path, 1);
    file = fake("good/fake.so");
    assert_int_equal(loader_open_all(reg, &file, 1, &err), LM_OK);
    assert_string_equal(registry_find(reg, "fake")->plugin_version, "1");
    assert_int_equal(registry_find(reg, "fake")->rank, 0);
    registry_free(reg);
}

static void one_type_twice_in_a_folder_names_both_files(void **state)
{
    registry *reg = empty();
    lm_error  err;
    char      path[600];

    (void)state;
    snprintf(path, sizeof path, "%s/clash", fakes);
    setenv("LAYERMETER_PLUGIN_PATH", path, 1);
    assert_int_equal(loader_open_all(reg, NULL, 0, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "%s/b.so: type 'fake' comes from %s/a.so already", path, path);
    registry_free(reg);
}

static void a_search_path_that_is_not_there_is_named(void **state)
{
    registry *reg = empty();
    lm_error  err;

    (void)state;
    setenv("LAYERMETER_PLUGIN_PATH", "/nowhere/at/all", 1);
    assert_int_equal(loader_open_all(reg, NULL, 0, &err), LM_E_IO);
    assert_error(err, LM_E_IO,
                 "/nowhere/at/all: No such file or directory (in LAYERMETER_PLUGIN_PATH)");
    registry_free(reg);
}

/* Too few descriptors are not a folder without plugins. */
static void a_folder_that_cannot_be_opened_is_named(void **state)
{
    registry     *reg = empty();
    struct rlimit old, none;
    lm_error      err;

    (void)state;
    unsetenv("LAYERMETER_PLUGIN_PATH");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){ 3, old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(loader_open_all(reg, NULL, 0, &err), LM_E_IO);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_non_null(strstr(err.text, "Too many open files"));
    registry_free(reg);
}

static void a_file_without_a_slash_is_sought_here_and_not_in_library_paths(void **state)
{
    registry *reg = empty();
    lm_error  err;

    (void)state;
    assert_int_equal(symlink(fake("good/fake.so"), "here.so"), 0);
    assert_int_equal(loader_open_file(reg, "here.so", 0, &err), LM_OK);
    assert_string_equal(registry_find(reg, "fake")->origin, "here.so");
    registry_free(reg);
}

/* The same file under two names: by a path with a doubled slash, and by a link. */
static void a_plugin_that_is_open_already_is_found_again(void **state)
{
    registry *reg = empty();
    lm_error  err;

    (void)state;
    assert_int_equal(loader_open_file(reg, fake("good/fake.so"), 0, &err), LM_OK);
    assert_int_equal(loader_open_file(reg, fake("good//fake.so"), 1, &err), LM_OK);
    assert_int_equal(symlink(fake("good/fake.so"), "link.so"), 0);
    assert_int_equal(loader_open_file(reg, "link.so", 2, &err), LM_OK);
    assert_int_equal(registry_count(reg), 1);
    registry_free(reg);
}

/* Everything counted of a network whose linear layers are those of `first`, a file, or as shipped.
 */
static net_metrics count_with(const char *first, const registry_entry **linear, registry **reg)
{
    const bind_options options = { .batch = 3, .dtype = LM_F32 };
    const char        *text    = "[network]\nname = n\n[x]\ntype = input\nshape = 7x5\n"
                                 "[a]\ntype = linear\nfeatures = 11\n"
                                 "[b]\ntype = linear\nfeatures = 2\nbias = no\n";
    network           *net     = NULL;
    bound_network     *bound   = NULL;
    net_metrics        metrics = { 0 };
    lm_error           err     = { LM_OK, "" };

    *reg = empty();
    unsetenv("LAYERMETER_PLUGIN_PATH");
    if (loader_open_all(*reg, &first, first != NULL, &err) ||
        network_load(folder_file("n.ini", text), NULL, &net, &err) ||
        bind_network(net, *reg, &options, &bound, &err) ||
        metrics_of_network(bound, NULL, &metrics, &err))
        fail_msg("%s", err.text);
    *linear = registry_find(*reg, "linear");
    bound_network_free(bound);
    network_free(net);
    return metrics;
}

static void a_plugin_of_abi_1_0_counts_as_it_always_did(void **state)
{
    registry             *now, *then;
    const registry_entry *shipped, *old;
    const net_metrics     a = count_with(NULL, &shipped, &now);
    net_metrics           b = count_with(fake("old.so"), &old, &then);

    (void)state;
    assert_string_equal(old->origin, fake("old.so"));
    assert_int_equal(old->own->param_size, 56);
    assert_string_equal(schema_param(&old->type, 1).name, "bias");
    assert_null(schema_param(&old->type, 1).unit);
    assert_string_not_equal(shipped->origin, old->origin);
    /* 5 * 11 + 11 and 11 * 2 parameters; 3 * 7 rows */
    assert_int_equal(b.params, 66 + 22);
    assert_int_equal(b.macs_linear, 21 * (55 + 22));
    /* 1.0 had no sums over rows: its bias's gradient was as long as the output, not as the bias */
    b.written_bytes -= 4 * (21 - 1) * 11;
    assert_memory_equal(&a, &b, sizeof a);
    registry_free(now);
    registry_free(then);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_plugin_is_loaded_with_its_origin),
        cmocka_unit_test(a_folder_that_cannot_be_opened_is_named),
        cmocka_unit_test(what_is_no_plugin_of_this_abi_is_refused_by_its_exact_reason),
        cmocka_unit_test(text_and_folders_are_not_loadable),
        cmocka_unit_test(a_library_is_no_plugin),
        cmocka_unit_test(an_earlier_folder_shadows_a_later_one),
        cmocka_unit_test(a_named_file_shadows_all_folders),
        cmocka_unit_test(one_type_twice_in_a_folder_names_both_files),
        cmocka_unit_test(a_search_path_that_is_not_there_is_named),
        cmocka_unit_test(a_file_without_a_slash_is_sought_here_and_not_in_library_paths),
        cmocka_unit_test(a_plugin_that_is_open_already_is_found_again),
        cmocka_unit_test(a_plugin_of_abi_1_0_counts_as_it_always_did),
    };
    const char *build = getenv("LAYERMETER_BUILD");

    if (!build)
        return 77;
    snprintf(fakes, sizeof fakes, "%s/tests/abi/fakes", build);
    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
