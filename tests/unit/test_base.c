/* Small things everything stands on: errors, arenas, names, files, graphs, units. */
#include "folder.h"

#include <stdalign.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/names.h"
#include "base/text.h"
#include "base/graph.h"

/* ---- errors
 * ---------------------------------------------------------------------------------------- */

static void an_error_is_told_and_prefixed(void **state)
{
    lm_error err;

    (void)state;
    assert_int_equal(lm_error_set(&err, LM_E_SHAPE, "%d is odd", 7), LM_E_SHAPE);
    lm_error_prefix(&err, "layer '%s'", "c2");
    lm_error_prefix(&err, "%s:%d", "n.ini", 41);
    assert_error(err, LM_E_SHAPE, "n.ini:41: layer 'c2': 7 is odd");
    assert_int_equal(lm_error_set(NULL, LM_E_IO, "nobody listens"), LM_E_IO);
    lm_error_prefix(NULL, "nor here");
}

static void a_long_error_is_cut_and_ends(void **state)
{
    char     words[600];
    lm_error err;

    (void)state;
    memset(words, 'w', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    for (int n = 480; n < 600; n++) {
        lm_error_set(&err, LM_E_ARG, "%.*s", n, words);
        assert_int_equal(strlen(err.text), n < 508 ? n : 507);
        lm_error_prefix(&err, "file:%d", 1);
        assert_memory_equal(err.text, "file:1: www", 11);
        assert_int_equal(strlen(err.text), n + 8 < 508 ? n + 8 : 507);
    }
    for (int n = 490; n < 600; n++) { /* a prefix that leaves no room */
        lm_error_set(&err, LM_E_ARG, "short");
        lm_error_prefix(&err, "%.*s", n, words);
        assert_true(strlen(err.text) <= 507);
    }
}

/* ---- memory
 * ---------------------------------------------------------------------------------------- */

static void an_arena_gives_zeroed_aligned_memory_of_any_size(void **state)
{
    static const size_t sizes[] = { 0, 1, 7, 16, 100, 5000, 16384, 16385, 100000, 3 };
    arena              *a       = arena_new();
    char               *last    = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *p = arena_alloc(a, sizes[i]);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(p[k], 0);
        memset(p, 0x5A, sizes[i]);
        assert_true(p != last);
        last = sizes[i] ? p : NULL;
    }
    assert_null(arena_alloc(a, SIZE_MAX));
    assert_null(arena_array(a, SIZE_MAX / 8 + 1, 8));
    assert_string_equal(arena_text(a, "abcdef", 3), "abc");
    arena_free(a);
    arena_free(NULL);
}

static void ten_thousand_names_are_found_and_no_others(void **state)
{
    static char text[10000][8];
    names       set = { NULL, 0, 0 };

    (void)state;
    assert_int_equal(names_find(&set, "none"), NAMES_NONE);
    for (size_t i = 0; i < 10000; i++) {
        snprintf(text[i], sizeof text[i], "n%zu", i);
        assert_true(names_add(&set, text[i], i));
    }
    for (size_t i = 0; i < 10000; i++)
        assert_int_equal(names_find(&set, text[i]), i);
    assert_int_equal(names_find(&set, "n10000"), NAMES_NONE);
    assert_int_equal(names_find(&set, ""), NAMES_NONE);
    names_free(&set);
    assert_int_equal(names_find(&set, "n1"), NAMES_NONE);
}

/* ---- files
 * ----------------------------------------------------------------------------------------- */

static size_t files_here(void)
{
    DIR   *folder = opendir(".");
    size_t n      = 0;

    for (struct dirent *entry; (entry = readdir(folder));)
        n += entry->d_name[0] != '.';
    closedir(folder);
    return n;
}

static void a_draft_appears_when_committed_and_leaves_nothing_else(void **state)
{
    file_draft   draft;
    char        *text;
    size_t       size;
    lm_error     err;
    const size_t before = files_here();

    (void)state;
    assert_int_equal(file_draft_open(&draft, "d.txt", &err), LM_OK);
    fputs("first", draft.stream);
    assert_int_not_equal(access("d.txt", F_OK), 0);
    assert_int_equal(file_draft_commit(&draft, &err), LM_OK);
    file_draft_drop(&draft); /* fine after a commit */
    assert_int_equal(file_read_text("d.txt", &text, &size, &err), LM_OK);
    assert_string_equal(text, "first");
    assert_int_equal(size, 5);
    free(text);
    assert_int_equal(files_here(), before + 1);

    assert_int_equal(file_draft_open(&draft, "d.txt", &err), LM_OK);
    fputs("second", draft.stream);
    file_draft_drop(&draft);
    assert_int_equal(file_read_text("d.txt", &text, &size, &err), LM_OK);
    assert_string_equal(text, "first"); /* what was there stays */
    free(text);
    assert_int_equal(files_here(), before + 1);

    assert_int_equal(file_draft_open(&draft, "gone/d.txt", &err), LM_E_IO);
    assert_error(err, LM_E_IO, "gone/d.txt: No such file or directory");
    file_draft_drop(&draft); /* and after a failed open */
}

static void a_draft_takes_the_place_of_no_pipe_and_of_no_link(void **state)
{
    file_draft  draft;
    struct stat info;
    char       *text;
    size_t      size;
    lm_error    err;

    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(symlink("pipe", "to_pipe"), 0);
    assert_int_equal(file_draft_open(&draft, "pipe", &err), LM_E_IO);
    assert_error(err, LM_E_IO, "pipe: is not a regular file");
    assert_int_equal(file_draft_open(&draft, "to_pipe", &err), LM_E_IO);
    assert_error(err, LM_E_IO, "to_pipe: is not a regular file");
    file_draft_drop(&draft);

    assert_int_equal(file_draft_open(&draft, "l.txt", &err), LM_OK);
    assert_int_equal(file_draft_commit(&draft, &err), LM_OK);
    assert_int_equal(symlink("l.txt", "to_file"), 0);
    assert_int_equal(file_draft_open(&draft, "to_file", &err), LM_OK);
    fputs("through", draft.stream);
    assert_int_equal(file_draft_commit(&draft, &err), LM_OK);
    assert_int_equal(lstat("to_file", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(file_read_text("l.txt", &text, &size, &err), LM_OK);
    assert_string_equal(text, "through");
    free(text);
}

static void a_large_file_is_read_whole(void **state)
{
    static char text[300001];
    char       *back;
    size_t      size;

    (void)state;
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = (char)('a' + i % 26);
    for (size_t n = 65533; n <= 65538; n++) { /* around the size of its buffer */
        folder_bytes("large.txt", text, n);
        assert_int_equal(file_read_text("large.txt", &back, &size, NULL), LM_OK);
        assert_int_equal(size, n);
        assert_int_equal(strlen(back), n);
        free(back);
    }
    folder_file("large.txt", text);
    assert_int_equal(file_read_text("large.txt", &back, &size, NULL), LM_OK);
    assert_string_equal(back, text);
    free(back);
    folder_file("empty.txt", "");
    assert_int_equal(file_read_text("empty.txt", &back, &size, NULL), LM_OK);
    assert_int_equal(size, 0);
    free(back);
}

static void what_may_have_no_end_is_no_text_file(void **state)
{
    char    *text;
    size_t   size;
    lm_error err;
    FILE    *sparse = fopen("long.txt", "w");

    (void)state;
    assert_int_equal(file_read_text("/dev/zero", &text, &size, &err), LM_E_IO);
    assert_error(err, LM_E_IO, "/dev/zero: is neither a file nor a pipe");
    assert_int_equal(ftruncate(fileno(sparse), ((off_t)256 << 20) + 1), 0);
    fclose(sparse);
    assert_int_equal(file_read_text("long.txt", &text, &size, &err), LM_E_IO);
    assert_error(err, LM_E_IO, "long.txt: longer than 256 MiB, too long for a text file");
    unlink("long.txt");
}

static void a_pipe_is_read_to_its_end(void **state)
{
    char    *text, path[40];
    size_t   size;
    int      end[2];
    lm_error err;

    (void)state;
    assert_int_equal(pipe(end), 0);
    assert_int_equal(write(end[1], "piped", 5), 5);
    close(end[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", end[0]);
    assert_int_equal(file_read_text(path, &text, &size, &err), LM_OK);
    assert_string_equal(text, "piped");
    free(text);
    close(end[0]);
}

/* ---- graphs
 * ---------------------------------------------------------------------------------------- */

/* Node i takes from input[first[i]] .. input[first[i + 1] - 1]. */
typedef struct lists {
    const size_t *first, *input;
} lists;

static size_t listed_input(const void *of, size_t node, size_t k)
{
    const lists *l = of;

    return l->first[node] + k < l->first[node + 1] ? l->input[l->first[node] + k] : GRAPH_END;
}

static lm_status order_of(size_t n, const size_t *first, const size_t *input, size_t *order,
                          size_t *cycle)
{
    return graph_order(&(graph){ n, listed_input, &(lists){ first, input } }, order, cycle);
}

static void an_order_puts_inputs_first_and_a_cycle_is_found(void **state)
{
    /* 0 takes 2 and 3; 2 takes 3; 1 takes nothing */
    static const size_t first[] = { 0, 2, 2, 3, 3 }, input[] = { 2, 3, 3 }, loop[] = { 2, 3, 0 };
    size_t              order[4], place[4], cycle                                  = 9;

    (void)state;
    assert_int_equal(order_of(4, first, input, order, &cycle), LM_OK);
    for (size_t i = 0; i < 4; i++)
        place[order[i]] = i;
    assert_true(place[3] < place[2] && place[2] < place[0]);
    assert_int_equal(order_of(4, first, loop, order, &cycle), LM_E_SYNTAX);
    assert_true(cycle == 0 || cycle == 2);
    assert_int_equal(order_of(0, first, input, order, &cycle), LM_OK);
}

/* A chain so deep that a recursive search would end on the stack. */
static void a_deep_chain_is_ordered_without_recursion(void **state)
{
    enum { N = 1000000 };
    size_t *first = malloc((N + 1) * sizeof *first), *input = malloc(N * sizeof *input);
    size_t *order = malloc(N * sizeof *order), cycle;

    (void)state;
    for (size_t i = 0; i < N; i++) { /* i takes i + 1; the last takes nothing */
        first[i] = i;
        input[i] = i + 1;
    }
    first[N]     = N - 1;
    first[N - 1] = N - 1;
    assert_int_equal(order_of(N, first, input, order, &cycle), LM_OK);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(order[i], N - 1 - i);
    free(first);
    free(input);
    free(order);
}

/* ---- numbers for people
 * ---------------------------------------------------------------------------- */

static void numbers_are_written_for_people(void **state)
{
    static const struct {
        double      value;
        const char *si;
    } si[] = {
        { 0, "0" },
        { 7, "7" },
        { 999, "999" },
        { 1000, "1 k" },
        { 4089184256, "4.09 G" },
        { 151900, "152 k" },
        { 999499, "999 k" },
        { 999600, "1 M" },
        { 2.5, "2.5" },
        { 1e18, "1 E" },
        { -1500, "-1.5 k" },
    };
    static const struct {
        uint64_t    value;
        const char *grouped;
    } grouped[] = {
        { 0, "0" },
        { 12, "12" },
        { 999, "999" },
        { 1000, "1,000" },
        { 25557032, "25,557,032" },
        { UINT64_MAX, "18,446,744,073,709,551,615" },
    };
    char buffer[40];

    (void)state;
    for (size_t i = 0; i < sizeof si / sizeof si[0]; i++)
        assert_string_equal(text_si(si[i].value, buffer, 32), si[i].si);
    for (size_t i = 0; i < sizeof grouped / sizeof grouped[0]; i++)
        assert_string_equal(text_grouped(grouped[i].value, buffer, sizeof buffer),
                            grouped[i].grouped);
}

static void times_take_units(void **state)
{
    static const struct {
        const char *text;
        double      seconds;
    } cases[] = {
        { "5", 5 },       { "5min", 300 },   { "200ms", 0.2 },   { "1.5 s", 1.5 }, { "2h", 7200 },
        { "7d", 604800 }, { "50us", 50e-6 }, { " 3 ns ", 3e-9 }, { "0", 0 },
    };
    static const char *const bad[] = { "", "s", "-1s", "1 fortnight", "1e999", "5 min 3 s" };
    double                   seconds;
    lm_error                 err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(text_seconds(cases[i].text, &seconds, NULL), LM_OK);
        assert_close(seconds, cases[i].seconds, 1e-15);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(text_seconds(bad[i], &seconds, &err), LM_E_ARG);
        assert_error(err, LM_E_ARG, "expected a time such as 200ms, 1.5 s or 5min, found '%s'",
                     bad[i]);
    }
}

static void texts_are_split_and_trimmed(void **state)
{
    char  text[] = " a , b,, c d ", few[] = "1,2,3,4";
    char *part[8];

    (void)state;
    assert_int_equal(text_split(text, ',', part, 8), 4);
    assert_string_equal(part[0], "a");
    assert_string_equal(part[1], "b");
    assert_string_equal(part[2], "");
    assert_string_equal(part[3], "c d");
    assert_int_equal(text_split(few, ',', part, 3), 3);
    assert_string_equal(part[2], "3,4"); /* the rest stays together */
    /* FNV-1a 64 of "", "a", "foobar" (Fowler, Noll, Vo: test vectors) */
    assert_true(text_hash("") == UINT64_C(0xcbf29ce484222325));
    assert_true(text_hash("a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(text_hash("foobar") == UINT64_C(0x85944171f73967e8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_is_told_and_prefixed),
        cmocka_unit_test(a_long_error_is_cut_and_ends),
        cmocka_unit_test(an_arena_gives_zeroed_aligned_memory_of_any_size),
        cmocka_unit_test(ten_thousand_names_are_found_and_no_others),
        cmocka_unit_test(a_draft_appears_when_committed_and_leaves_nothing_else),
        cmocka_unit_test(a_draft_takes_the_place_of_no_pipe_and_of_no_link),
        cmocka_unit_test(a_large_file_is_read_whole),
        cmocka_unit_test(what_may_have_no_end_is_no_text_file),
        cmocka_unit_test(a_pipe_is_read_to_its_end),
        cmocka_unit_test(an_order_puts_inputs_first_and_a_cycle_is_found),
        cmocka_unit_test(a_deep_chain_is_ordered_without_recursion),
        cmocka_unit_test(numbers_are_written_for_people),
        cmocka_unit_test(times_take_units),
        cmocka_unit_test(texts_are_split_and_trimmed),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
