/* Progress messages of a run. */
#include "run/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "measure/settings.h"
#include "observe/flags.h"

/* "1 rank", "4 ranks", "4 ranks on 2 hosts" */
static void print_ranks(const observation *r, char *buffer, size_t size)
{
    const int n =
        snprintf(buffer, size, "%lld rank%s", (long long)r->ranks, r->ranks == 1 ? "" : "s");

    if (r->hosts > 1)
        snprintf(buffer + n, size - (size_t)n, " on %lld hosts", (long long)r->hosts);
}

/* ", adam, buckets of 1048576 bytes, progress=thread": the parts that the sweep states. */
static void print_step(const observation *r, char *buffer, size_t size)
{
    const char *moved = strstr(r->settings, "progress=");
    char        bucket[48];

    snprintf(bucket, sizeof bucket, ", buckets of %lld bytes", (long long)r->bucket_bytes);
    snprintf(buffer, size, "%s%.20s%s%s%.20s", *r->optimizer ? ", " : "", r->optimizer,
             r->bucket_bytes ? bucket : "", moved ? ", " : "", moved ? moved : "");
}

/* Is "layout=nhwc" the default? */
static bool is_default(const char *word, size_t n)
{
    for (setting s = 0; s < N_SETTINGS; s++) {
        const settings none = { { 0 } };
        char           text[40];

        settings_print(&none, 1u << s, text, sizeof text);
        if (strlen(text) == n && !strncmp(text, word, n))
            return true;
    }
    return false;
}

/* ", bf16, layout=nhwc": settings other than the defaults, without the progress of all-reduces. */
static void print_variant(const observation *r, char *buffer, size_t size)
{
    buffer[0] = '\0';
    if (r->dtype != LM_F32)
        snprintf(buffer, size, ", %s", text_dtype_name(r->dtype));
    for (const char *word = r->settings; *(word += strspn(word, " "));) {
        const size_t length = strcspn(word, " ");

        if (strncmp(word, "progress=", 9) != 0 && !is_default(word, length))
            text_add(buffer, size, ", %.*s", (int)length, word);
        word += length;
    }
}

void print_point(const observation *r, char *buffer, size_t size)
{
    char geometry[400], ranks[64], step[120], variant[120];

    print_ranks(r, ranks, sizeof ranks);
    print_variant(r, variant, sizeof variant);
    switch (r->kind) {
    case OBS_NETWORK:
        print_step(r, step, sizeof step);
        snprintf(buffer, size, "%s %s batch %lld, %s%s%s%s", r->name, r->input, (long long)r->batch,
                 ranks, r->phase == PHASE_INFERENCE ? ", inference" : "", variant, step);
        break;
    case OBS_KERNEL:
        snprintf(geometry, sizeof geometry, "%s", r->geometry);
        snprintf(buffer, size, "%s %s %.60s%s", r->name, kernel_pass_name(r->pass), geometry,
                 variant);
        break;
    case OBS_LAYER:
        snprintf(geometry, sizeof geometry, "%s", r->geometry);
        snprintf(buffer, size, "%s %s batch %lld%s%.60s%s%s", r->name, r->input,
                 (long long)r->batch, *geometry ? " " : "", geometry,
                 r->phase == PHASE_INFERENCE ? ", inference" : "", variant);
        break;
    case OBS_COLLECTIVE:
    case OBS_COUNTS: /* a sweep has none of the rest */
    case OBS_STREAM:
    case OBS_N_KINDS:
        snprintf(buffer, size, "all-reduce (%s) of %lld bytes, %s", r->algorithm,
                 (long long)r->bytes, ranks);
    }
}

static double last_median(const point_result *r)
{
    double median = NAN;

    for (phase f = 0; f < N_PHASES; f++)
        if (r->phase[f].measured)
            median = r->phase[f].median;
    return median;
}

/* "contended" behind a time that is. */
static void print_doubt(const point_result *r)
{
    char text[FLAGS_TEXT_SIZE];

    flags_print(r->flags & FLAGS_DOUBTFUL, text, sizeof text);
    if (*text)
        fprintf(stderr, " (%s)", text);
}

void progress_again(const progress *p, const char *why, const sweep_point *point,
                    const point_result *r)
{
    char what[160];

    if (p->quiet)
        return;
    print_point(&point->row, what, sizeof what);
    flockfile(stderr); /* the watchdog may print, too */
    fprintf(stderr, "[%s] %s: %.3f ms", why, what, 1e3 * last_median(r));
    print_doubt(r);
    fprintf(stderr, "\n");
    funlockfile(stderr);
}

void progress_point(const progress *p, size_t number, size_t total, const sweep_point *point,
                    const point_result *r, double left)
{
    const double median = last_median(r);
    char         what[160];

    if (p->quiet)
        return;
    print_point(&point->row, what, sizeof what);
    flockfile(stderr);
    fprintf(stderr, "[%zu", number);
    if (total)
        fprintf(stderr, "/%zu", total);
    fprintf(stderr, "] %s: ", what);
    if (isnan(median))
        fprintf(stderr, "%s (%s)", r->status, r->why);
    else
        fprintf(stderr, "%.3f ms", 1e3 * median);
    print_doubt(r);
    fprintf(stderr, ", %.0f s left\n", fmax(0, left));
    funlockfile(stderr);
}
