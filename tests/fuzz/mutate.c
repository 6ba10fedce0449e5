/* A deterministic fuzzer: mutate TARGET ITERATIONS FILE...
 *
 * The same input texts in every run and on every machine, made from the files. It prints the number
 * of the one it broke at; "mutate TARGET =NUMBER FILE..." writes that one to stdout. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "targets.h"

#define INPUT_MAX (64 * 1024)
#define FILES_MAX 32

typedef struct bytes {
    uint8_t *data;
    size_t   n;
} bytes;

static bytes    file[FILES_MAX];
static int      n_files;
static uint64_t state;
static char     where[80]; /* what a crash says */

/* splitmix64 (Steele et al. 2014) */
static uint64_t next_random(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static size_t below(size_t n)
{
    return n ? (size_t)(next_random() % n) : 0;
}

static const char *const word[] = {
    "0",
    "-1",
    "1",
    "3",
    "65",
    "1e308",
    "-0.0",
    "nan",
    "inf",
    "0x10",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "99999999999999999999",
    "1e-320",
    "1099511627776",
    "1000000000",
    "4294967296",
    "=",
    " = ",
    ":",
    ";",
    "#",
    "[",
    "]",
    "[]",
    "[x]",
    "[block b]",
    "[b/a]",
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    ",",
    ",,",
    "\"",
    "\"\"",
    "\"\n\"",
    "..",
    "0..3",
    "1..8*2",
    "1..9+3",
    "*",
    "+",
    "x",
    "3x8x8",
    "1x1x1x1x1x1x1x1x1",
    "$",
    "$a",
    "$width",
    "KiB",
    "MiB",
    "GB",
    "ms",
    "min",
    "yes",
    "same",
    "type = ",
    "block = ",
    "inputs = ",
    "output = ",
    "input",
    "conv2d",
    "relu",
    "add",
    "concat",
    "flatten",
    "loss",
    "network",
    "kernel",
    "collective",
    "forward",
    "sync",
    "step",
    "ok",
    "skipped-",
    "ring",
    "default",
    "range ",
    "se ",
    "bound",
    "undetermined",
    "\xEF\xBB\xBF",
    "\xFF",
    "\x01",
    "[layermeter.sync]",
    "[machine]",
    "[provenance]",
    "[sweep]",
    "[networks]",
    "[kernels]",
    "[collectives]",
    "[sim]",
    "repeat=",
    "groups=0",
    "networks = ",
    "batch = ",
    "image = ",
    "bytes = ",
    "ranks = ",
    "# a: b\n",
    "%s%n",
};

#define N_WORDS (sizeof word / sizeof word[0])

/* Replaces `gone` bytes at `at`; what does not fit is left out. */
static void splice(bytes *b, size_t at, size_t gone, const void *from, size_t n)
{
    if (b->n - gone + n > INPUT_MAX)
        return;
    memmove(b->data + at + n, b->data + at + gone, b->n - at - gone);
    memcpy(b->data + at, from, n);
    b->n = b->n - gone + n;
}

static size_t line_start(const bytes *b, size_t at)
{
    while (at > 0 && b->data[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(const bytes *b, size_t at)
{
    while (at < b->n && b->data[at] != '\n')
        at++;
    return at < b->n ? at + 1 : at;
}

static bool number_byte(uint8_t c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == 'e';
}

static void mutate_once(bytes *b)
{
    const size_t at    = below(b->n + 1);
    const char  *w     = word[below(N_WORDS)];
    const bytes *other = &file[below((size_t)n_files)];
    uint8_t      copy[512];
    size_t       start, n;

    switch (below(10)) {
    case 0: /* a bit */
        if (at < b->n)
            b->data[at] ^= (uint8_t)(1u << below(8));
        break;
    case 1: /* a byte */
        if (at < b->n)
            b->data[at] = (uint8_t)below(256);
        break;
    case 2: splice(b, at, 0, w, strlen(w)); break;
    case 3: /* a word in place of what is there */
        n = below(12);
        splice(b, at, n < b->n - at ? n : b->n - at, w, strlen(w));
        break;
    case 4: /* a number in place of a number */
        for (start = at; start < b->n && !number_byte(b->data[start]); start++)
            ;
        for (n = 0; start + n < b->n && number_byte(b->data[start + n]); n++)
            ;
        w = word[below(18)];
        splice(b, start, n, w, strlen(w));
        break;
    case 5: /* a line less */
        start = line_start(b, at);
        splice(b, start, line_end(b, at) - start, "", 0);
        break;
    case 6: /* a line twice, or elsewhere */
        start = line_start(b, at);
        n     = line_end(b, at) - start;
        n     = n < sizeof copy ? n : sizeof copy;
        memcpy(copy, b->data + start, n);
        splice(b, line_start(b, below(b->n + 1)), 0, copy, n);
        break;
    case 7: /* a piece of another file */
        start = below(other->n + 1);
        n     = below(200);
        n     = n < other->n - start ? n : other->n - start;
        splice(b, at, 0, other->data + start, n);
        break;
    case 8: /* some bytes less */
        n = below(30);
        splice(b, at, n < b->n - at ? n : b->n - at, "", 0);
        break;
    default: /* cut off; seldom, as it takes away what the others did */
        if (!below(4))
            b->n = at;
    }
}

/* Input number i: one of the files, the first ones as they are, the others mutated 1 to 8 times,
 * mostly few. */
static void make_input(size_t i, bytes *b)
{
    const bytes *from = &file[i % (size_t)n_files];

    state = 0x6C61796572u + i;
    memcpy(b->data, from->data, from->n);
    b->n = from->n;
    if (i >= (size_t)n_files)
        for (size_t k = 1 + below(1 + below(8)); k > 0; k--)
            mutate_once(b);
}

static void read_file(const char *path)
{
    FILE *in = fopen(path, "rb");

    if (!in || n_files == FILES_MAX) {
        fprintf(stderr, "%s: cannot be read, or more than %d files\n", path, FILES_MAX);
        exit(2);
    }
    file[n_files].data = malloc(INPUT_MAX);
    if (!file[n_files].data)
        exit(2);
    file[n_files].n = fread(file[n_files].data, 1, INPUT_MAX, in);
    fclose(in);
    n_files++;
}

static void on_crash(int signal_number)
{
    (void)!write(STDERR_FILENO, where, strlen(where));
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

int main(int argc, char **argv)
{
    const fuzz_target *target = argc > 3 ? fuzz_find(argv[1]) : NULL;
    bytes              b      = { malloc(INPUT_MAX), 0 };
    size_t             n, accepted = 0;
    int                code = 0;

    if (!target || !b.data) {
        fputs("usage: mutate TARGET ITERATIONS FILE...\n       mutate TARGET =NUMBER "
              "FILE...\ntargets:",
              stderr);
        for (const fuzz_target *t = fuzz_targets; t->name; t++)
            fprintf(stderr, " %s", t->name);
        fputc('\n', stderr);
        free(b.data);
        return 2;
    }
    for (int i = 3; i < argc; i++)
        read_file(argv[i]);
    if (argv[2][0] == '=') {
        make_input(strtoul(argv[2] + 1, NULL, 10), &b);
        fwrite(b.data, 1, b.n, stdout);
    } else {
        fuzz_open();
        signal(SIGABRT, on_crash);
        n = strtoul(argv[2], NULL, 10);
        for (size_t i = 0; i < n; i++) {
            uint8_t *exact; /* of its very size, so that reading on is seen */

            make_input(i, &b);
            exact = malloc(b.n ? b.n : 1);
            if (!exact)
                return 2;
            memcpy(exact, b.data, b.n);
            snprintf(where, sizeof where, "%s: broke at input %zu\n", target->name, i);
            accepted += target->run(exact, b.n);
            free(exact);
        }
        printf("%s: %zu inputs from %d files, %zu accepted\n", target->name, n, n_files, accepted);
        /* where all are refused, or none, little is tested */
        code = accepted < n / 100 || accepted > n - n / 100;
        fuzz_close();
    }
    for (int i = 0; i < n_files; i++)
        free(file[i].data);
    free(b.data);
    return code;
}
