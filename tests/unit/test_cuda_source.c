/* The GPU backend's own kernels, through the real compiler: needs its library, and no device. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_source.h"

static void they_compile_for_an_a100_and_an_h100(void **state)
{
    static const int architectures[] = { 80, 90 };

    (void)state;
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++) {
        char    *image = NULL;
        lm_error err;

        if (cuda_source_compile(architectures[i] / 10, architectures[i] % 10, &image, &err))
            fail_msg("%s", err.text);
        assert_non_null(image);
        free(image);
    }
}

/* What a device newer than the compiler gets: text, compiled once for those who read it. */
static int compile_newer(void **state)
{
    char    *image = NULL;
    lm_error err;

    if (cuda_source_compile(99, 0, &image, &err)) {
        print_error("%s\n", err.text);
        return -1;
    }
    *state = image;
    return 0;
}

static int free_newer(void **state)
{
    free(*state);
    return 0;
}

static void a_device_newer_than_the_compiler_gets_what_its_driver_can_translate(void **state)
{
    const char *image = *state;

    assert_non_null(strstr(image, ".version"));
    assert_non_null(strstr(image, "map_relu_bf16"));
    assert_non_null(strstr(image, "ld.global.v4")); /* memory moves in vectors */
}

/* Counts of an instruction: "ld.f32" is a generic load, "ld.global.f32" none. */
static size_t generic(const char *image, const char *what)
{
    static const char types[] = "fubsv"; /* of elements, or .v4 */
    size_t            n       = 0;

    for (const char *at = image; (at = strstr(at, what)); at += strlen(what))
        n += at[strlen(what)] && strchr(types, at[strlen(what)]) && at > image &&
             (at[-1] == '\t' || at[-1] == ' ') && strncmp(at + strlen(what), "shared", 6) != 0;
    return n;
}

/* Operands by number, of which there are up to nine, are read from where the arguments are: a compiler
 * that copied these into memory of each thread would make every load slower. */
static void memory_is_read_and_written_as_the_devices(void **state)
{
    const char *image = *state;

    assert_non_null(strstr(image, ".entry map_many_f32"));
    assert_null(strstr(image, ".local"));
    assert_int_equal(generic(image, "ld."), 0);
    assert_int_equal(generic(image, "st."), 0);
}

static void one_that_is_too_old_is_refused_with_the_compilers_words(void **state)
{
    char    *image = NULL;
    lm_error err;

    (void)state;
    assert_int_equal(cuda_source_compile(2, 0, &image, &err), LM_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "sm_20"));
    assert_null(image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_compile_for_an_a100_and_an_h100),
        cmocka_unit_test(a_device_newer_than_the_compiler_gets_what_its_driver_can_translate),
        cmocka_unit_test(memory_is_read_and_written_as_the_devices),
        cmocka_unit_test(one_that_is_too_old_is_refused_with_the_compilers_words),
    };

    return cmocka_run_group_tests(tests, compile_newer, free_newer);
}
