/* One or two planes through times of all-reduces. */
#include "fabric/collective_planes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/order.h"
#include "solve/robust.h"

#define ROUNDS      4   /* of reweighting */
#define HUBER       0.3 /* a row with a larger relative residual weighs less */
#define CUTS        8   /* sizes tried as the border between two planes */
#define PLANE_TURNS 12

/* ---- one plane ---- */

static double dot(const double *x, size_t n, const double *price)
{
    double sum = 0;

    for (size_t k = 0; k < n; k++)
        sum += x[k] * price[k];
    return sum;
}

lm_status planes_solve(double *x, const double *seconds, size_t rows, size_t n, double *price,
                       lm_error *err)
{
    robust_work          w = { 0 };
    const robust_problem r = { .a = x, .rows = rows, .places = n, .n = n, .huber = INFINITY };
    lm_status            status;

    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < n; k++)
            x[i * n + k] /= seconds[i];
    memset(price, 0, n * sizeof *price);
    status = robust_solve(&r, price, &w, err);
    robust_work_free(&w);
    return status;
}

/* Rows in the columns in use, over the seconds measured. */
typedef struct packed {
    double     *x, *some; /* all rows, and memory for those of one plane */
    size_t      rows, n;
    size_t      column[N_SYNC_COLUMNS];
    robust_work work;
} packed;

static void packed_free(packed *p)
{
    free(p->x);
    free(p->some);
    robust_work_free(&p->work);
}

static lm_status pack(const fit_row *row, size_t rows, unsigned columns, packed *out, lm_error *err)
{
    packed p = { .x    = malloc((rows * N_SYNC_COLUMNS + 1) * sizeof *p.x),
                 .some = malloc((rows * N_SYNC_COLUMNS + 1) * sizeof *p.some),
                 .rows = rows };

    if (!p.x || !p.some) {
        packed_free(&p);
        return no_memory(err);
    }
    for (size_t c = 0; c < N_SYNC_COLUMNS; c++)
        if (columns & COLUMN(c))
            p.column[p.n++] = c;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < p.n; k++)
            p.x[i * p.n + k] = row[i].x[p.column[k]] / row[i].seconds;
    *out = p;
    return LM_OK;
}

/* Prices of bytes between two nodes and between more. If rows have only one of them, it gives
 * both. */
static void share_bytes(const packed *p, const double *x, size_t rows, sync_plane *out)
{
    bool two = false, more = false, apart = false;

    for (size_t k = 0; k < p->n; k++) {
        apart |= p->column[k] == SYNC_BYTES_TWO;
        if (p->column[k] == SYNC_BYTES_TWO || p->column[k] == SYNC_BYTES)
            for (size_t i = 0; i < rows; i++) {
                two |= p->column[k] == SYNC_BYTES_TWO && x[i * p->n + k] > 0;
                more |= p->column[k] == SYNC_BYTES && x[i * p->n + k] > 0;
            }
    }
    if (!two && apart)
        out->price[SYNC_BYTES_TWO] = out->price[SYNC_BYTES];
    else if (two && !more)
        out->price[SYNC_BYTES] = out->price[SYNC_BYTES_TWO];
}

static lm_status fit_one(packed *p, const double *x, size_t rows, sync_plane *out, lm_error *err)
{
    double               price[N_SYNC_COLUMNS] = { 0 };
    const robust_problem r                     = {
                            .a = x, .rows = rows, .places = p->n, .n = p->n, .huber = HUBER, .rounds = ROUNDS
    };
    const lm_status status = robust_solve(&r, price, &p->work, err);

    if (status)
        return status;
    *out = (sync_plane){ { 0 } };
    for (size_t k = 0; k < p->n; k++)
        out->price[p->column[k]] = price[k];
    share_bytes(p, x, rows, out);
    return LM_OK;
}

lm_status planes_fit_one(const fit_row *row, size_t n, unsigned columns, sync_plane *out,
                         lm_error *err)
{
    packed    p;
    lm_status status = pack(row, n, columns, &p, err);

    if (status)
        return status;
    status = fit_one(&p, p.x, n, out, err);
    packed_free(&p);
    return status;
}

/* ---- two planes ---- */

/* Loss of both planes. Stops early above `most`. */
static double loss_of(const fit_row *row, size_t n, const sync_plane plane[2], double most)
{
    double loss = 0;

    for (size_t i = 0; i < n && loss < most; i++) {
        const double t = fmin(dot(row[i].x, N_SYNC_COLUMNS, plane[0].price),
                              dot(row[i].x, N_SYNC_COLUMNS, plane[1].price));

        loss += robust_loss(fabs(t / row[i].seconds - 1), HUBER);
    }
    return loss;
}

double planes_loss(const fit_row *row, size_t n, const sync_plane *plane)
{
    const sync_plane both[2] = { *plane, *plane };

    return loss_of(row, n, both, HUGE_VAL);
}

/* Collects the rows of one plane. Returns their number. */
static size_t take(packed *p, const fit_row *row, bool second)
{
    size_t n = 0;

    for (size_t i = 0; i < p->rows; i++)
        if (row[i].second == second)
            memcpy(p->some + n++ * p->n, p->x + i * p->n, p->n * sizeof *p->some);
    return n;
}

/* Assigns rows to their cheaper plane. Returns how many changed. */
static size_t move(const packed *p, const sync_plane plane[2], fit_row *row)
{
    double gain[N_SYNC_COLUMNS];
    size_t moved = 0;

    for (size_t k = 0; k < p->n; k++)
        gain[k] = plane[0].price[p->column[k]] - plane[1].price[p->column[k]];
    for (size_t i = 0; i < p->rows; i++) {
        const bool to = dot(p->x + i * p->n, p->n, gain) > 0;

        moved += to != row[i].second;
        row[i].second = to;
    }
    return moved;
}

/* Assignments of rows to planes that were fitted already. A border that leads to one of them would
 * give the same planes. */
typedef struct seen {
    bool  *second; /* of p->rows rows each */
    size_t n;
} seen;

/* Index of the rows' assignment in the list; a new assignment is added. */
static size_t seen_at(seen *s, const fit_row *row, size_t n)
{
    bool *to = s->second + s->n * n;

    for (size_t i = 0; i < n; i++)
        to[i] = row[i].second;
    for (size_t k = 0; k < s->n; k++)
        if (memcmp(s->second + k * n, to, n * sizeof *to) == 0)
            return k;
    return s->n++;
}

/* Repeats until no row changes or an assignment occurs again. *ok false: a plane has fewer rows than
 * columns, or an earlier border has led to these planes. */
static lm_status settle(packed *p, fit_row *row, seen *s, sync_plane plane[2], bool *ok,
                        lm_error *err)
{
    const size_t before = s->n;
    lm_status    status = LM_OK;

    *ok = false;
    for (int turn = 0; turn < PLANE_TURNS && !status; turn++) {
        const size_t fresh  = s->n;
        size_t       second = 0, at;

        for (size_t i = 0; i < p->rows; i++)
            second += row[i].second;
        if (second < p->n || p->rows - second < p->n)
            return LM_OK;
        if ((at = seen_at(s, row, p->rows)) < fresh) {
            *ok = *ok && at >= before;
            return LM_OK;
        }
        for (int k = 0; k < 2 && !status; k++)
            status = fit_one(p, p->some, take(p, row, k > 0), &plane[k], err);
        *ok = !status;
        if (status || !move(p, plane, row))
            break;
    }
    return status;
}

ORDER_BY_VALUE(by_value, double)

size_t planes_distinct(double *value, size_t n)
{
    size_t kept = 0, sorted = 0;

    for (size_t i = 0; i < n; i++)
        if (!kept || value[i] != value[kept - 1])
            value[kept++] = value[i];
    if (kept)
        qsort(value, kept, sizeof *value, by_value);
    for (size_t i = 0; i < kept; i++)
        if (!sorted || value[i] != value[sorted - 1])
            value[sorted++] = value[i];
    return sorted;
}

lm_status planes_fit_two(fit_row *row, size_t n, unsigned columns, fabric_model *out, lm_error *err)
{
    double   *size   = malloc((n + 1) * sizeof *size);
    double    best   = HUGE_VAL;
    packed    p      = { .n = 0 };
    seen      s      = { .second = malloc(CUTS * PLANE_TURNS * n + 1) };
    lm_status status = size && s.second ? pack(row, n, columns, &p, err) : no_memory(err);
    size_t    sizes;

    for (size_t i = 0; i < n && size; i++)
        size[i] = row[i].of.bytes;
    sizes = size ? planes_distinct(size, n) : 0;
    for (size_t k = 1; k <= CUTS && k < sizes && !status; k++) {
        const double cut = size[k * (sizes - 1) / (CUTS + 1)];
        sync_plane   plane[2];
        double       loss;
        bool         ok;

        for (size_t i = 0; i < n; i++)
            row[i].second = row[i].of.bytes > cut;
        status = settle(&p, row, &s, plane, &ok, err);
        if (!status && ok && (loss = loss_of(row, n, plane, best)) < best) {
            best          = loss;
            out->n_planes = 2;
            memcpy(out->plane, plane, sizeof plane);
        }
    }
    packed_free(&p);
    free(s.second);
    free(size);
    return status;
}
