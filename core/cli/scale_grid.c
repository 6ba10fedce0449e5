/* Curves of layermeter scale as tables. */
#include "cli/cmd_scale.h"

#include <math.h>
#include <string.h>

/* What differs between the curves of a grid, or is worth a column. */
typedef struct shows {
    bool devices, batches, syncs;               /* differ between curves */
    bool several, synced, whole, micro, tokens; /* are not 1, not `once`, given, not 1, there */
} shows;

static shows look(const scale_grid *g)
{
    const step_setup *first = &g->line[0].curve.q.setup;
    shows             s     = { .tokens = g->tokens > 0 };

    for (size_t i = 0; i < g->n_lines; i++) {
        const scale_question *q    = &g->line[i].curve.q;
        const step_setup     *mine = &q->setup;
        char                  a[SYNC_POLICY_TEXT], b[SYNC_POLICY_TEXT];

        s.devices |= mine->devices != first->devices;
        s.batches |= mine->batch != first->batch;
        s.syncs |=
            strcmp(sync_policy_print(&mine->sync, a), sync_policy_print(&first->sync, b)) != 0;
        s.several |= mine->devices > 1;
        s.synced |= mine->sync.rule != SYNC_ONCE;
        s.whole |= q->kind != SCALING_WEAK;
        for (size_t k = 0; k < g->n_nodes; k++)
            s.micro |= g->line[i].point[k].accumulation > 1;
    }
    return s;
}

typedef enum column_of {
    COLUMN_NODES,
    COLUMN_DEVICES_PER_NODE,
    COLUMN_DEVICES,
    COLUMN_BATCH,
    COLUMN_ACCUMULATION,
    COLUMN_GLOBAL_BATCH,
    COLUMN_IDLE,
    COLUMN_SYNC_POLICY,
    COLUMN_FORWARD,
    COLUMN_BACKWARD,
    COLUMN_SYNC,
    COLUMN_MESSAGES,
    COLUMN_COPY,
    COLUMN_STRAGGLER,
    COLUMN_UPDATE,
    COLUMN_GRAD,
    COLUMN_STEP,
    COLUMN_STEP_LOW,
    COLUMN_STEP_HIGH,
    COLUMN_EXPOSED,
    COLUMN_SAMPLES,
    COLUMN_SAMPLES_LOW,
    COLUMN_SAMPLES_HIGH,
    COLUMN_TOKENS,
    COLUMN_SPEEDUP,
    COLUMN_EFFICIENCY,
    COLUMN_EFFICIENCY_LOW,
    COLUMN_EFFICIENCY_HIGH,
    COLUMN_EPOCH,
    COLUMN_STEPS,
    COLUMN_POWER,
    COLUMN_ENERGY,
    COLUMN_EPOCH_KWH,
    COLUMN_EPOCH_CO2,
    COLUMN_POWER_BY,
    COLUMN_EDP,
    COLUMN_POWER_LOW,
    COLUMN_POWER_HIGH,
    COLUMN_ENERGY_LOW,
    COLUMN_ENERGY_HIGH,
    COLUMN_BOTTLENECK,
    COLUMN_BOTTLENECK_SHARE,
    COLUMN_SYNC_BOUND,
    COLUMN_LEDGER,
    COLUMN_MEASURED,
    COLUMN_INTERPOLATED,
    COLUMN_EXTRAPOLATED,
    COLUMN_ASSUMED,
    COLUMN_BEYOND,
    COLUMN_TURNING,
    COLUMN_TURNING_LOW,
    COLUMN_TURNING_HIGH,
    COLUMN_SET,
    N_COLUMNS
} column_of;

/* Names in files, heads for people; no head: only in files. */
static const struct {
    const char *key, *title;
    int         decimals;
} columns[N_COLUMNS] = {
    [COLUMN_NODES]            = { "nodes", "nodes", 0 },
    [COLUMN_DEVICES_PER_NODE] = { "devices_per_node", "x devices", 0 },
    [COLUMN_DEVICES]          = { "devices", NULL, 0 },
    [COLUMN_BATCH]            = { "batch", "batch", 0 },
    [COLUMN_ACCUMULATION]     = { "accumulation", "micro-steps", 0 },
    [COLUMN_GLOBAL_BATCH]     = { "global_batch", "global batch", 0 },
    [COLUMN_IDLE]             = { "idle_devices", NULL, 0 },
    [COLUMN_SYNC_POLICY]      = { "sync", "sync", 0 },
    [COLUMN_FORWARD]          = { "forward_ms", NULL, TABLE_MS(2) },
    [COLUMN_BACKWARD]         = { "backward_ms", NULL, TABLE_MS(2) },
    [COLUMN_SYNC]             = { "sync_ms", NULL, TABLE_MS(2) },
    [COLUMN_MESSAGES]         = { "messages", NULL, 0 },
    [COLUMN_COPY]             = { "copy_ms", NULL, TABLE_MS(2) },
    [COLUMN_STRAGGLER]        = { "straggler_ms", NULL, TABLE_MS(2) },
    [COLUMN_UPDATE]           = { "update_ms", NULL, TABLE_MS(2) },
    [COLUMN_GRAD]             = { "grad_ms", NULL, TABLE_MS(2) },
    [COLUMN_STEP]             = { "step_ms", "step [ms]", TABLE_MS(2) },
    [COLUMN_STEP_LOW]         = { "step_low_ms", "low", TABLE_MS(2) },
    [COLUMN_STEP_HIGH]        = { "step_high_ms", "high", TABLE_MS(2) },
    [COLUMN_EXPOSED]          = { "exposed_ms", "exposed", TABLE_MS(2) },
    [COLUMN_SAMPLES]          = { "samples_per_s", "samples/s", TABLE_POSITIVE(1) },
    [COLUMN_SAMPLES_LOW]      = { "samples_low_per_s", NULL, 1 },
    [COLUMN_SAMPLES_HIGH]     = { "samples_high_per_s", NULL, 1 },
    [COLUMN_TOKENS]           = { "tokens_per_s", "tokens/s", TABLE_POSITIVE(0) },
    [COLUMN_SPEEDUP]          = { "speedup", "speed-up", 2 },
    [COLUMN_EFFICIENCY]       = { "efficiency", "efficiency", 3 },
    [COLUMN_EFFICIENCY_LOW]   = { "efficiency_low", NULL, 3 },
    [COLUMN_EFFICIENCY_HIGH]  = { "efficiency_high", NULL, 3 },
    [COLUMN_EPOCH]            = { "epoch_s", "epoch [s]", TABLE_POSITIVE(0) },
    [COLUMN_STEPS]            = { "steps_per_epoch", NULL, 0 },
    [COLUMN_POWER]            = { "power_w", "power [W]", 1 },
    [COLUMN_ENERGY]           = { "energy_j", "energy [J]", -1 },
    [COLUMN_EPOCH_KWH]        = { "epoch_kwh", "epoch [kWh]", -1 },
    [COLUMN_EPOCH_CO2]        = { "epoch_co2_g", "epoch [gCO2]", -1 },
    [COLUMN_POWER_BY]         = { "power_by", "power by", 0 },
    [COLUMN_EDP]              = { "edp_js", NULL, -1 },
    [COLUMN_POWER_LOW]        = { "power_low_w", NULL, 1 },
    [COLUMN_POWER_HIGH]       = { "power_high_w", NULL, 1 },
    [COLUMN_ENERGY_LOW]       = { "energy_low_j", NULL, -1 },
    [COLUMN_ENERGY_HIGH]      = { "energy_high_j", NULL, -1 },
    [COLUMN_BOTTLENECK]       = { "bottleneck", "bottleneck", 0 },
    [COLUMN_BOTTLENECK_SHARE] = { "bottleneck_share", NULL, 3 },
    [COLUMN_SYNC_BOUND]       = { "sync_bound", NULL, 0 },
    [COLUMN_LEDGER]           = { "ledger_percent", LEDGER_TITLE, 0 },
    [COLUMN_MEASURED]         = { "measured", NULL, 3 },
    [COLUMN_INTERPOLATED]     = { "interpolated", NULL, 3 },
    [COLUMN_EXTRAPOLATED]     = { "extrapolated", NULL, 3 },
    [COLUMN_ASSUMED]          = { "assumed", NULL, 3 },
    [COLUMN_BEYOND]           = { "beyond", "beyond", 0 },
    [COLUMN_TURNING]          = { "turning_point_nodes", NULL, 0 },
    [COLUMN_TURNING_LOW]      = { "turning_point_low", NULL, 0 },
    [COLUMN_TURNING_HIGH]     = { "turning_point_high", NULL, 0 },
    [COLUMN_SET]              = { "set", NULL, 0 },
};

_Static_assert(COLUMN_ASSUMED - COLUMN_MEASURED == (int)CERTAINTY_ASSUMED &&
                   (int)N_CERTAINTIES == (int)CERTAINTY_ASSUMED + 1,
               "shares of the ledger in its order");

/* Which of the columns: people get what differs, files all but what stands elsewhere. */
static bool shown(column_of c, const shows *s, format f, const scale_grid *g)
{
    const char *set = g->set;

    if (c >= COLUMN_POWER && c <= COLUMN_ENERGY_HIGH && !power_shown(&g->power))
        return false;
    if (c == COLUMN_EPOCH_CO2 && isnan(g->power.grams_per_kwh))
        return false;
    if (f == FORMAT_JSON) /* which lists the curves, and says the settings once */
        return c != COLUMN_SET && (c < COLUMN_TURNING || c > COLUMN_TURNING_HIGH);
    if (f == FORMAT_CSV)
        return c != COLUMN_SET || set;
    switch (c) {
    case COLUMN_DEVICES_PER_NODE: return s->several;
    case COLUMN_ACCUMULATION: return s->micro;
    case COLUMN_GLOBAL_BATCH: return s->whole;
    case COLUMN_SYNC_POLICY: return s->syncs || s->synced;
    case COLUMN_TOKENS: return s->tokens;
    default: return columns[c].title != NULL;
    }
}

/* A number of nodes: 0 is none. */
static double nodes_or_none(const scale_line *l, int64_t nodes)
{
    return l->turns && nodes > 0 ? (double)nodes : NAN;
}

static void put_policy(table *t, const sync_policy *p)
{
    char text[SYNC_POLICY_TEXT];

    table_text(t, sync_policy_print(p, text));
}

static void put_beyond(table *t, const prediction *p)
{
    char text[200];

    table_text(t, grounds_beyond(&p->grounds, text, sizeof text));
}

static void put_power(table *t, column_of c, const power_choice *power, const scale_point *p)
{
    const step_power s   = step_power_of(&power->model, &p->bottleneck, &p->step);
    const double     kwh = s.joules.value * (double)p->steps_per_epoch / JOULES_PER_KWH;

    switch (c) {
    case COLUMN_POWER: table_real(t, s.watts.value); break;
    case COLUMN_ENERGY: table_real(t, s.joules.value); break;
    case COLUMN_EPOCH_KWH: table_real(t, kwh); break;
    case COLUMN_EPOCH_CO2: table_real(t, kwh * power->grams_per_kwh); break;
    case COLUMN_POWER_BY: table_text(t, power_by(power, &s)); break;
    case COLUMN_EDP: table_real(t, s.edp); break;
    case COLUMN_POWER_LOW: table_real(t, s.watts.low); break;
    case COLUMN_POWER_HIGH: table_real(t, s.watts.high); break;
    case COLUMN_ENERGY_LOW: table_real(t, s.joules.low); break;
    default: table_real(t, s.joules.high);
    }
}

bool scale_lacks_power(const scale_grid *g)
{
    for (size_t k = 0; k < g->n_lines && power_shown(&g->power); k++)
        for (size_t i = 0; i < g->n_nodes; i++) {
            const scale_point *p = &g->line[k].point[i];

            if (isnan(step_power_of(&g->power.model, &p->bottleneck, &p->step).watts.value))
                return true;
        }
    return false;
}

static void put_cell(table *t, column_of c, const scale_grid *g, const scale_line *l,
                     const scale_point *p)
{
    const prediction *s = &p->step;

    if (c >= COLUMN_POWER && c <= COLUMN_ENERGY_HIGH) {
        put_power(t, c, &g->power, p);
        return;
    }
    switch (c) {
    case COLUMN_NODES: table_count(t, (uint64_t)s->nodes); break;
    case COLUMN_DEVICES_PER_NODE: table_count(t, (uint64_t)s->devices); break;
    case COLUMN_DEVICES: table_count(t, (uint64_t)(s->nodes * s->devices)); break;
    case COLUMN_BATCH: table_count(t, (uint64_t)s->batch); break;
    case COLUMN_ACCUMULATION: table_count(t, (uint64_t)p->accumulation); break;
    case COLUMN_GLOBAL_BATCH: table_count(t, (uint64_t)p->global_batch); break;
    case COLUMN_IDLE: table_count(t, (uint64_t)p->idle); break;
    case COLUMN_SYNC_POLICY: put_policy(t, &l->curve.q.setup.sync); break;
    case COLUMN_FORWARD: table_real(t, 1e3 * s->forward); break;
    case COLUMN_BACKWARD: table_real(t, 1e3 * s->backward); break;
    case COLUMN_SYNC: table_real(t, 1e3 * s->sync); break;
    case COLUMN_MESSAGES: table_count(t, (uint64_t)s->messages); break;
    case COLUMN_COPY: table_real(t, 1e3 * s->copy); break;
    case COLUMN_STRAGGLER: table_real(t, 1e3 * s->straggler); break;
    case COLUMN_UPDATE: table_real(t, 1e3 * (s->grad - s->exposed - s->copy - s->straggler)); break;
    case COLUMN_GRAD: table_real(t, 1e3 * s->grad); break;
    case COLUMN_STEP: table_real(t, 1e3 * s->step); break;
    case COLUMN_STEP_LOW: table_real(t, 1e3 * s->low[PHASE_STEP]); break;
    case COLUMN_STEP_HIGH: table_real(t, 1e3 * s->high[PHASE_STEP]); break;
    case COLUMN_EXPOSED: table_real(t, 1e3 * s->exposed); break;
    case COLUMN_SAMPLES: table_real(t, p->samples_per_second); break;
    case COLUMN_SAMPLES_LOW: table_real(t, p->samples.low); break;
    case COLUMN_SAMPLES_HIGH: table_real(t, p->samples.high); break;
    case COLUMN_TOKENS:
        table_real(t, g->tokens ? p->samples_per_second * (double)g->tokens : NAN);
        break;
    case COLUMN_SPEEDUP: table_real(t, p->speedup); break;
    case COLUMN_EFFICIENCY: table_real(t, p->efficiency); break;
    case COLUMN_EFFICIENCY_LOW: table_real(t, p->efficiencies.low); break;
    case COLUMN_EFFICIENCY_HIGH: table_real(t, p->efficiencies.high); break;
    case COLUMN_EPOCH: table_real(t, p->epoch_seconds); break;
    case COLUMN_STEPS: table_count(t, p->steps_per_epoch); break;
    case COLUMN_BOTTLENECK: table_text(t, bottleneck_name(p->bottleneck.most)); break;
    case COLUMN_BOTTLENECK_SHARE: table_real(t, p->bottleneck.share); break;
    case COLUMN_SYNC_BOUND: table_text(t, sync_bound_name(p->bottleneck.sync)); break;
    case COLUMN_LEDGER: ledger_cell(t, &s->grounds.ledger); break;
    case COLUMN_MEASURED:
    case COLUMN_INTERPOLATED:
    case COLUMN_EXTRAPOLATED:
    case COLUMN_ASSUMED:
        table_real(t, ledger_share(&s->grounds.ledger, (certainty)(c - COLUMN_MEASURED)));
        break;
    case COLUMN_BEYOND: put_beyond(t, s); break;
    case COLUMN_TURNING: table_real(t, nodes_or_none(l, l->turning.nodes)); break;
    case COLUMN_TURNING_LOW: table_real(t, nodes_or_none(l, l->turning.low)); break;
    case COLUMN_TURNING_HIGH: table_real(t, nodes_or_none(l, l->turning.high)); break;
    case COLUMN_SET: table_text(t, g->set ? g->set : ""); break;
    default: break;
    }
}

table *scale_rows(const scale_grid *g, format f)
{
    const shows s = look(g);
    table      *t = table_new();
    column_of   of[N_COLUMNS];
    size_t      n = 0;

    for (column_of c = 0; c < N_COLUMNS; c++)
        if (shown(c, &s, f, g)) {
            of[n++] = c;
            table_column(t, columns[c].key, columns[c].title ? columns[c].title : columns[c].key,
                         columns[c].decimals);
        }
    for (size_t i = 0; i < g->n_lines; i++)
        for (size_t k = 0; k < g->n_nodes; k++)
            for (size_t c = 0; c < n; c++)
                put_cell(t, of[c], g, &g->line[i], &g->line[i].point[k]);
    return t;
}

/* What tells curves apart, for people, and for files all of it. */
typedef struct turn_columns {
    bool devices, batch, whole, sync;
} turn_columns;

static turn_columns turn_columns_of(const scale_grid *g, format f)
{
    const shows        s     = look(g);
    const scaling_kind kind  = g->line[0].curve.q.kind;
    const bool         all   = f != FORMAT_TABLE;
    const bool         batch = all || s.batches || !s.syncs;

    /* strong scaling has a whole batch only, and a batch of each device follows */
    return (turn_columns){ .devices = all || s.several,
                           .batch   = batch && kind != SCALING_STRONG,
                           .whole = kind == SCALING_STRONG ? batch : all && kind == SCALING_GLOBAL,
                           .sync  = all || s.syncs };
}

table *scale_turns(const scale_grid *g, format f)
{
    const turn_columns c = turn_columns_of(g, f);
    table             *t = table_new();

    if (c.devices)
        table_column(t, "devices_per_node", "devices per node", 0);
    if (c.batch)
        table_column(t, "batch", "batch", 0);
    if (c.whole)
        table_column(t, "global_batch", "global batch", 0);
    if (c.sync)
        table_column(t, "sync", "sync", 0);
    table_column(t, "turning_point_nodes", "turning point [nodes]", 0);
    table_column(t, "turning_point_low", "low", 0);
    table_column(t, "turning_point_high", "high", 0);
    for (size_t i = 0; i < g->n_lines; i++) {
        const scale_line     *l = &g->line[i];
        const scale_question *q = &l->curve.q;

        if (c.devices)
            table_count(t, (uint64_t)q->setup.devices);
        if (c.batch)
            table_count(t, (uint64_t)q->setup.batch);
        if (c.whole)
            table_count(t, (uint64_t)q->global_batch);
        if (c.sync)
            put_policy(t, &q->setup.sync);
        table_real(t, nodes_or_none(l, l->turning.nodes));
        table_real(t, nodes_or_none(l, l->turning.low));
        table_real(t, nodes_or_none(l, l->turning.high));
    }
    return t;
}

const char *scale_turn_meaning(scaling_kind kind)
{
    return kind == SCALING_WEAK ? "doubling gains less than 10 % of throughput"
                                : "doubling gains less than 5 % of the epoch time";
}

const char *scale_label(const scale_grid *g, const scale_line *l, char buffer[SCALE_LABEL])
{
    const shows           s = look(g);
    const scale_question *q = &l->curve.q;
    size_t                n = 0;
    char                  policy[SYNC_POLICY_TEXT];

    *buffer = '\0';
    if (s.devices)
        n += (size_t)snprintf(buffer, SCALE_LABEL, "%lld a node", (long long)q->setup.devices);
    if (s.batches)
        n += (size_t)snprintf(buffer + n, SCALE_LABEL - n, "%sbatch %lld", n ? ", " : "",
                              (long long)q->setup.batch);
    if (s.syncs)
        snprintf(buffer + n, SCALE_LABEL - n, "%s%s", n ? ", " : "",
                 sync_policy_print(&q->setup.sync, policy));
    return buffer;
}
