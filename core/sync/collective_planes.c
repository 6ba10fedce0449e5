/* One or two planes through times of all-reduces. */
#include "sync/collective_planes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "solve/nnls.h"

#define ROUNDS      4   /* of reweighting */
#define HUBER       0.3 /* relative residual from which a row weighs less */
#define CUTS        8   /* sizes tried as the border between two planes */
#define PLANE_TURNS 12

/* ---- one plane ----------------------------------------------------------------------------------
 */

static double seconds_of(const double *x, size_t n, const double *price)
{
    double seconds = 0;

    for (size_t k = 0; k < n; k++)
        seconds += x[k] * price[k];
    return seconds;
}

lm_status planes_solve(const double *x, const double *seconds, size_t rows, size_t n, double *price,
                       double *weight, int rounds, lm_error *err)
{
    double    gram[N_SYNC_COLUMNS * N_SYNC_COLUMNS], h[N_SYNC_COLUMNS];
    lm_status status = LM_OK;

    for (size_t i = 0; i < rows; i++)
        weight[i] = 1;
    memset(price, 0, n * sizeof *price);
    for (int round = 0; round <= rounds && !status; round++) {
        memset(gram, 0, sizeof gram);
        memset(h, 0, sizeof h);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < n; j++) {
                const double a = weight[i] * x[i * n + j] / seconds[i];

                h[j] += a;
                for (size_t k = 0; k < n; k++)
                    gram[j * n + k] += a * x[i * n + k] / seconds[i];
            }
        memset(price, 0, n * sizeof *price);
        status = nnls_solve(gram, h, n, price, err);
        for (size_t i = 0; i < rows && !status; i++) {
            const double off = fabs(seconds_of(x + i * n, n, price) / seconds[i] - 1);

            weight[i] = off > HUBER ? HUBER / off : 1;
        }
    }
    return status;
}

/* Rows of one plane, or (planes == 1) all, packed to the columns in use. */
typedef struct packed {
    double *x, *seconds, *weight;
    size_t  rows, n;
    size_t  column[N_SYNC_COLUMNS];
} packed;

static void packed_free(packed *p)
{
    free(p->x);
    free(p->seconds);
    free(p->weight);
}

static lm_status pack(const fit_row *row, size_t rows, unsigned columns, bool second, bool all,
                      packed *out, lm_error *err)
{
    packed p = { .x       = malloc((rows * N_SYNC_COLUMNS + 1) * sizeof *p.x),
                 .seconds = malloc((rows + 1) * sizeof *p.seconds),
                 .weight  = malloc((rows + 1) * sizeof *p.weight) };

    if (!p.x || !p.seconds || !p.weight) {
        packed_free(&p);
        return no_memory(err);
    }
    for (size_t c = 0; c < N_SYNC_COLUMNS; c++)
        if (columns & COLUMN(c))
            p.column[p.n++] = c;
    for (size_t i = 0; i < rows; i++) {
        if (!all && row[i].second != second)
            continue;
        for (size_t k = 0; k < p.n; k++)
            p.x[p.rows * p.n + k] = row[i].x[p.column[k]];
        p.seconds[p.rows++] = row[i].seconds;
    }
    *out = p;
    return LM_OK;
}

/* Bytes between two nodes, and between more: one that no row has takes the other's price. */
static void share_bytes(const packed *p, sync_plane *out)
{
    bool two = false, more = false, apart = false;

    for (size_t k = 0; k < p->n; k++)
        for (size_t i = 0; i < p->rows; i++) {
            two |= p->column[k] == SYNC_BYTES_TWO && p->x[i * p->n + k] > 0;
            more |= p->column[k] == SYNC_BYTES && p->x[i * p->n + k] > 0;
        }
    for (size_t k = 0; k < p->n; k++)
        apart |= p->column[k] == SYNC_BYTES_TWO;
    if (!two && apart)
        out->price[SYNC_BYTES_TWO] = out->price[SYNC_BYTES];
    else if (two && !more)
        out->price[SYNC_BYTES] = out->price[SYNC_BYTES_TWO];
}

static lm_status fit_one(const fit_row *row, size_t rows, unsigned columns, bool second, bool all,
                         sync_plane *out, lm_error *err)
{
    double    price[N_SYNC_COLUMNS];
    packed    p      = { .n = 0 };
    lm_status status = pack(row, rows, columns, second, all, &p, err);

    if (status)
        return status;
    status = planes_solve(p.x, p.seconds, p.rows, p.n, price, p.weight, ROUNDS, err);
    if (!status) {
        *out = (sync_plane){ { 0 } };
        for (size_t k = 0; k < p.n; k++)
            out->price[p.column[k]] = price[k];
        share_bytes(&p, out);
    }
    packed_free(&p);
    return status;
}

lm_status planes_fit_one(const fit_row *row, size_t n, unsigned columns, sync_plane *out,
                         lm_error *err)
{
    return fit_one(row, n, columns, false, true, out, err);
}

/* ---- two planes ---------------------------------------------------------------------------------
 */

static double loss_of(const fit_row *row, size_t n, const sync_plane plane[2])
{
    double loss = 0;

    for (size_t i = 0; i < n; i++) {
        const double t   = fmin(seconds_of(row[i].x, N_SYNC_COLUMNS, plane[0].price),
                                seconds_of(row[i].x, N_SYNC_COLUMNS, plane[1].price));
        const double off = fabs(t / row[i].seconds - 1);

        loss += off > HUBER ? HUBER * (off - HUBER / 2) : off * off / 2;
    }
    return loss;
}

double planes_loss(const fit_row *row, size_t n, const sync_plane *plane)
{
    const sync_plane both[2] = { *plane, *plane };

    return loss_of(row, n, both);
}

static size_t count_second(const fit_row *row, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += row[i].second;
    return count;
}

static size_t count_columns(unsigned columns)
{
    size_t n = 0;

    for (; columns; columns >>= 1)
        n += columns & 1;
    return n;
}

/* Rows go to the plane that is cheaper for them, until none changes sides. False: one is left with
 * fewer rows than columns. */
static lm_status settle(fit_row *row, size_t n, unsigned columns, sync_plane plane[2], bool *ok,
                        lm_error *err)
{
    const size_t least  = count_columns(columns);
    lm_status    status = LM_OK;

    *ok = false;
    for (int turn = 0; turn < PLANE_TURNS && !status; turn++) {
        const size_t second = count_second(row, n);
        bool         moved  = false;

        if (second < least || n - second < least)
            return LM_OK;
        for (int k = 0; k < 2 && !status; k++)
            status = fit_one(row, n, columns, k > 0, false, &plane[k], err);
        for (size_t i = 0; i < n && !status; i++) {
            const bool to = seconds_of(row[i].x, N_SYNC_COLUMNS, plane[1].price) <
                            seconds_of(row[i].x, N_SYNC_COLUMNS, plane[0].price);

            moved |= to != row[i].second;
            row[i].second = to;
        }
        *ok = !status;
        if (!moved)
            break;
    }
    return status;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

size_t planes_distinct(double *value, size_t n)
{
    size_t kept = 0;

    if (n)
        qsort(value, n, sizeof *value, by_value);
    for (size_t i = 0; i < n; i++)
        if (!kept || value[i] != value[kept - 1])
            value[kept++] = value[i];
    return kept;
}

lm_status planes_fit_two(fit_row *row, size_t n, unsigned columns, fabric_model *out, lm_error *err)
{
    double   *size   = malloc((n + 1) * sizeof *size);
    double    best   = HUGE_VAL;
    lm_status status = size ? LM_OK : no_memory(err);
    size_t    sizes;

    for (size_t i = 0; i < n && size; i++)
        size[i] = row[i].of.bytes;
    sizes = size ? planes_distinct(size, n) : 0;
    for (size_t k = 1; k <= CUTS && k < sizes && !status; k++) {
        const double cut = size[k * (sizes - 1) / (CUTS + 1)];
        sync_plane   plane[2];
        bool         ok;

        for (size_t i = 0; i < n; i++)
            row[i].second = row[i].of.bytes > cut;
        status = settle(row, n, columns, plane, &ok, err);
        if (!status && ok && loss_of(row, n, plane) < best) {
            best          = loss_of(row, n, plane);
            out->n_planes = 2;
            memcpy(out->plane, plane, sizeof plane);
        }
    }
    free(size);
    return status;
}
