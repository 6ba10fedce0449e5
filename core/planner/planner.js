/* The planner's page: reads the form, asks the program in WebAssembly, shows what it said. No number is made
   here: all are the program's, as its --format json has them, rounded for reading. The program runs in a worker. */
'use strict';
(function () {
const at = (id) => document.getElementById(id);
const OWN = 'file:'; /* before the name of a machine file that was dropped */
const FIELDS = ['network', 'phase', 'batch', 'accumulate', 'context', 'new-tokens', 'precision', 'optimizer', 'device', 'nodes',
    'per', 'interconnect', 'tp', 'pp', 'zero', 'layout', 'global', 'epochs', 'dataset', 'tokens', 'price'];
const LINK_MOST = 16384; /* bytes of a network within a link */
const SVG = 'http://www.w3.org/2000/svg';
const usual = {}; /* what the form holds at first */
let worker, calls = new Map(), sent = 0, asked = 0, waiting = 0, ini = null, last = null, searches = 0, searching = 0;

/* ---- text ---- */

/* Three digits, or all whole ones. */
function figure(x) {
    if (x === null || x === undefined || !isFinite(x)) return '–';
    const a = Math.abs(x);
    if (a >= 1e15) return x.toExponential(2);
    if (a >= 1000) return String(Math.round(x)).replace(/\B(?=(\d{3})+$)/g, '\u202f');
    return String(parseFloat(x.toPrecision(3)));
}
function scaled(x, units) {
    if (x === null || x === undefined || !isFinite(x)) return '–';
    const u = units.find((v) => Math.abs(x) >= v[0]) || units[units.length - 1];
    return figure(x / u[1]) + '\u00a0' + u[2];
}
const seconds = (s) => scaled(s, [[2 * 86400, 86400, 'd'], [2 * 3600, 3600, 'h'], [120, 60, 'min'], [1, 1, 's'], [1e-3, 1e-3, 'ms'],
    [0, 1e-6, 'µs']]);
const ms = (x) => (x === null || x === undefined ? '–' : seconds(x / 1000));
const bytes = (b) => scaled(b, [[1e12, 1e12, 'TB'], [1e9, 1e9, 'GB'], [1e6, 1e6, 'MB'], [1e3, 1e3, 'kB'], [0, 1, 'B']]);
const money = (x, of) => (x >= 1 && x < 1000 ? x.toFixed(2) : figure(x)) + '\u00a0' + of;
const between = (low, high, say) => (low === null || low === undefined ? '' : ' (' + say(low) + ' to ' + say(high) + ')');

/* ---- elements: texts are always texts ---- */

function make(tag, with_, ...inside) {
    const e = document.createElement(tag);
    return fill(e, with_, inside);
}
function draw(tag, with_, ...inside) {
    return fill(document.createElementNS(SVG, tag), with_, inside);
}
function fill(e, with_, inside) {
    for (const [k, v] of Object.entries(with_ || {})) e.setAttribute(k, v);
    for (const c of inside) e.append(c);
    return e;
}

/* ---- the program ---- */

/* A worker of the texts that the page carries. Resolves to the names of networks and interconnects. */
function begin() {
    const url = URL.createObjectURL(new Blob([at('engine').textContent, at('worker').textContent], { type: 'text/javascript' }));
    worker = new Worker(url);
    return new Promise((go, fail) => {
        worker.onmessage = ({ data }) => {
            URL.revokeObjectURL(url);
            if (data.ready) go(data.ready);
            else if (data.failed) fail(new Error(data.failed));
            else settle(data.id, data);
        };
        worker.onerror = (e) => {
            fail(new Error(e.message));
            for (const id of [...calls.keys()]) settle(id, { broken: 'The program stopped: ' + e.message });
        };
    });
}
function settle(id, said) {
    const go = calls.get(id);
    calls.delete(id);
    if (go) go(said);
}
/* What the worker says to a message. */
function send(message) {
    return new Promise((go) => {
        calls.set(++sent, go);
        worker.postMessage({ id: sent, ...message });
    });
}

/* What the program says to these words: its JSON, its notes, its error. */
async function ask(words) {
    const all = words.concat(['--format', 'json']), ran = await send({ run: all });
    if (ran.broken) return { words: all, broken: true, error: ran.broken };
    const said = { words: all, text: ran.out.join('\n') + '\n', notes: ran.err };
    if (ran.code) {
        said.error = (ran.err[ran.err.length - 1] || 'no answer').replace(/^layermeter: /, '');
        said.notes = [];
    } else {
        said.json = JSON.parse(said.text);
    }
    return said;
}

/* A program that stopped, or is to stop, is begun anew: its memory cannot be trusted. */
async function revive() {
    worker.terminate();
    for (const id of [...calls.keys()]) settle(id, { broken: 'stopped' });
    await begin();
    for (const [name, content] of files) send({ write: name, content });
}

/* ---- questions ---- */

function state() {
    const s = {};
    for (const f of FIELDS) s[f] = at(f).value.trim();
    s.training = s.phase === 'training';
    s.n = Math.max(1, Math.floor(Number(s.nodes)) || 1);
    return s;
}
function network(s) {
    return s.network.startsWith('-') ? './' + s.network : s.network;
}
function where(s) {
    return s.device.startsWith(OWN) ? ['--machine', s.device.slice(OWN.length)] : ['--device', s.device];
}
function precision(s) {
    const p = s.precision.split('=');
    return p.length === 2 ? ['--' + p[0], p[1]] : [];
}
function phase(s) {
    if (s.training) return [];
    return s.phase === 'decode' ? ['--phase', 'decode', '--context', s.context, '--new-tokens', s['new-tokens']] : ['--phase', s.phase];
}
function layout(s) {
    if (!s.training) return [];
    return [].concat(s.tp ? ['--tp', s.tp] : [], s.pp ? ['--pp', s.pp] : [], s.zero ? ['--zero', s.zero] : [],
        s.layout ? ['--layout', s.layout] : []);
}
function update(s) {
    return s.training && s.optimizer !== 'momentum' ? ['--optimizer', s.optimizer] : [];
}
function step(s) {
    return [network(s), ...where(s), ...precision(s), ...phase(s), ...update(s),
        ...(s.training && s.accumulate !== '1' ? ['--accumulate', s.accumulate] : []),
        ...(s.training && s.interconnect ? ['--interconnect', s.interconnect] : []), '--batch', s.batch];
}
function data(s) {
    return s.tokens ? ['--tokens', s.tokens] : s.dataset ? ['--dataset', s.dataset] : [];
}
/* 1, 2, 4 ... and the number that is asked for. */
function numbers(s) {
    const list = [];
    for (let n = 1; n <= Math.max(64, s.n); n *= 2) list.push(n);
    if (!list.includes(s.n)) list.push(s.n);
    return list.sort((a, b) => a - b);
}

const predictWords = (s) => ['predict', ...step(s), '--nodes', s.nodes, '--devices-per-node', s.per, ...layout(s), ...data(s)];
const scaleWords = (s, nodes) => ['scale', ...step(s), '--nodes', nodes, '--devices-per-node', s.per, ...layout(s)];
const planWords = (s) => ['plan', ...step(s), '--nodes', s.nodes, '--devices-per-node', s.per,
    ...(s.training && s.epochs ? ['--epochs', s.epochs] : []), ...data(s), ...(s.price ? ['--price', s.price] : [])];

/* The element types that the machine settles, and its datasheet, which `plan` says of any run. */
const probeWords = (s) => ['plan', ...step(s).slice(0, -1), '1', '--nodes', '1', '--dataset', '1000', '--memory', '1000000TB'];

function memoryWords(s, of) {
    const laid = layout(s), device = of && of.machines[0].device, mixed = of && of.machines[0].memory_mixed;
    const types = !of ? precision(s) : mixed ? ['--mixed', mixed] : ['--dtype', of.dtype];
    const half = types[0] === '--dtype' && (types[1] === 'f16' || types[1] === 'bf16');
    return ['memory', network(s), '--batch', s.batch, ...phase(s), ...types, ...update(s),
        ...(s.training && half ? ['--masters'] : []), ...(device ? ['--device', device] : []),
        ...(s.training && !laid.length && s.accumulate > 1 ? ['--keep-gradients'] : []),
        ...(laid.length ? [...laid, ...replicas(s)] : s.training ? ['--nodes', String(s.n * (Number(s.per) || 1))] : [])];
}

/* `memory` knows no nodes: the replicas that the other words of a layout leave, where they divide. */
function replicas(s) {
    const words = ' ' + s.layout, part = (name) => Number(s[name]) || Number((words.match(new RegExp(' ' + name + '(\\d+)')) || [])[1]) || 1;
    const left = (s.n * (Number(s.per) || 1)) / (part('tp') * part('pp') * part('cp'));
    return / dp\d/.test(words) || !Number.isInteger(left) ? [] : ['--dp', String(left)];
}

/* The run of a layout; null where the devices are no whole replicas. */
function laidPlanWords(s) {
    const words = ' ' + s.layout, told = (name) => Number(s[name]) || Number((words.match(new RegExp(' ' + name + '(\\d+)')) || [])[1]) || 0;
    const left = replicas(s), dp = told('dp') || Number(left[1]);
    return !dp ? null : ['plan', ...step({ ...s, accumulate: '1' }), '--nodes', s.nodes, '--devices-per-node', s.per, ...layout(s),
        ...(told('tp') ? [] : ['--tp', '1']), ...(told('pp') ? [] : ['--pp', '1']), ...left,
        ...(told('gb') ? [] : ['--global-batch', String(Number(s.batch) * (Number(s.accumulate) || 1) * dp)]),
        ...(s.epochs ? ['--epochs', s.epochs] : []), ...data(s), ...(s.price ? ['--price', s.price] : [])];
}

const searchWords = (s) => ['plan', ...step({ ...s, accumulate: '1' }), '--nodes', s.nodes, '--devices-per-node', s.per, '--layouts', '5',
    '--global-batch', s.global, ...(s.epochs ? ['--epochs', s.epochs] : []), ...data(s), ...(s.price ? ['--price', s.price] : [])];

/* One curve; of a layout, which some numbers of nodes do not suit, its points one by one. */
async function curve(s, fresh) {
    if (!layout(s).length) return ask(scaleWords(s, numbers(s).join(',')));
    let first = null, all = null;
    for (const n of numbers(s)) {
        const one = await ask(scaleWords(s, String(n)));
        if (one.broken || !fresh()) return one;
        first = first || one;
        if (one.error) continue;
        if (all) all.json.points.push(...one.json.points);
        else all = { ...one, merged: true };
        if (n === s.n) all.words = one.words;
    }
    return all || first;
}

/* The run; of a layout null where nothing tells its replicas, or how long it is. */
async function askRun(s) {
    const laid = layout(s).length, words = laid ? laidPlanWords(s) : planWords(s), run = words && (await ask(words));
    return laid && run && run.error && /data set|--tokens/.test(run.error) ? null : run;
}

/* ---- the answer ---- */

/* How much of an answer is there; `of` 0: nothing is under way, undefined: nobody knows how much. */
function progress(done, of, what) {
    const bar = at('progress');
    at('answer').toggleAttribute('data-busy', of !== 0);
    bar.hidden = of === 0;
    if (of) bar.max = of;
    if (of === undefined) bar.removeAttribute('value');
    else bar.value = done;
    bar.setAttribute('aria-label', what || '');
}

async function answer() {
    const mine = ++asked, s = state(), fresh = () => mine === asked;
    const a = { s }, parts = [['predict', () => ask(predictWords(s))], ['scale', () => curve(s, fresh)], ['probe', () => ask(probeWords(s))],
        ['memory', () => ask(memoryWords(s, a.probe.json))], ['plan', () => askRun(s)]];
    remember(s);
    if (searching) await stop();
    if (!fresh()) return;
    at('layouts').replaceChildren();
    for (const [key, what] of parts) {
        progress(Object.keys(a).length - 1, parts.length, 'Computing the answer');
        a[key] = await what();
        if (!fresh()) return;
        if (a[key] && a[key].broken) {
            await revive();
            at('trouble').hidden = false;
            at('trouble').textContent = a[key].error;
            progress(0, 0);
            return;
        }
        if (key === 'predict' || key === 'scale') show(a);
        if (key === 'scale') performance.mark('curve');
        if (key === 'scale' && a.predict.error && a.scale.error) break;
    }
    show(a);
    progress(0, 0);
}

function card(name, big, sub, rows) {
    const list = make('dl', {});
    for (const [k, v] of rows || []) list.append(make('dt', {}, k), make('dd', {}, v));
    return make('div', { class: 'card' }, make('h3', {}, name), make('p', { class: 'big' }, big), make('p', { class: 'sub' }, sub), list);
}

/* A row's time, whatever the phase calls it. */
function timeOf(row) {
    for (const [key, name] of [['step', 'A step'], ['latency', 'A batch'], ['token', 'A token']])
        if (row[key + '_ms'] !== undefined) return { key, name, at: row[key + '_ms'], low: row[key + '_low_ms'], high: row[key + '_high_ms'] };
    return null;
}
function rateOf(row) {
    return row.samples_per_s !== undefined ? [row.samples_per_s, 'samples/s', row.samples_low_per_s, row.samples_high_per_s]
        : [row.tokens_per_s, 'tokens/s', undefined, undefined];
}

function show(a) {
    const trouble = a.predict.error;
    last = a;
    at('trouble').hidden = !trouble;
    at('trouble').textContent = trouble || '';
    at('cards').replaceChildren();
    at('tables').replaceChildren();
    for (const f of ['curve', 'parts', 'memory-figure']) at(f).replaceChildren();
    if (trouble) {
        at('said').textContent = 'No answer: ' + trouble;
    } else {
        const row = a.predict.json.rows[0], t = timeOf(row), r = rateOf(row);
        at('said').textContent = t.name + ' of ' + a.s.network + ' takes ' + ms(t.at) + between(t.low, t.high, ms) + ' on ' + a.s.nodes +
            (a.s.n === 1 ? ' node of ' : ' nodes of ') + a.s.per + (a.s.per === '1' ? ' device.' : ' devices.');
        at('cards').append(card(t.name, ms(t.at), t.low === null ? 'no interval is known' : ms(t.low) + ' to ' + ms(t.high), grounds(row)),
            card('Throughput', figure(r[0]), r[1] + ' of all devices' + between(r[2], r[3], figure), rates(row)));
        showParts(a, row);
        if (a.memory) showMemory(a);
        if (a.plan !== undefined) showCost(a, row);
    }
    if (a.scale && (!trouble || a.scale.json)) showCurve(a);
    showNotes(a);
    showCommands(a);
}

function grounds(row) {
    const share = (x) => figure(100 * x) + ' %';
    return [['measured', share(row.measured)], ['interpolated', share(row.interpolated)], ['extrapolated', share(row.extrapolated)],
        ['assumed', share(row.assumed)]].filter((g) => g[1] !== '0 %');
}
function rates(row) {
    const list = [];
    if (row.tokens_per_s && row.samples_per_s) list.push(['tokens/s', figure(row.tokens_per_s)]);
    if (row.mfu) list.push(['of the peak (MFU)', figure(100 * row.mfu) + ' %']);
    if (row.epoch_s) list.push(['an epoch', seconds(row.epoch_s)]);
    return list;
}

const PARTS = [['forward_ms', 'forward', 'forward'], ['backward_ms', 'backward', 'backward'], ['exposed_ms', 'exposed all-reduce', 'sync'],
    ['update_ms', 'update', 'update'], ['copy_ms', 'copies', 'other'], ['straggler_ms', 'stragglers', 'other']];

function bar(list, total, name, say) {
    const width = Math.max(220, Math.min(720, at('answer').clientWidth)), height = 46;
    const picture = draw('svg', { viewBox: '0 0 ' + width + ' ' + height, role: 'img', 'aria-label': name });
    let x = 0;
    for (const p of list) {
        const w = total > 0 ? (p.value / total) * width : 0;
        picture.append(draw('rect', { x: x.toFixed(2), y: 4, width: Math.max(0, w).toFixed(2), height: 38, fill: 'var(--' + p.colour + ')',
            stroke: 'var(--paper)' }, draw('title', {}, p.name + ': ' + say(p.value))));
        x += w;
    }
    const key = make('ul', { class: 'key' });
    for (const p of list) {
        const i = make('i', {});
        i.style.background = 'var(--' + p.colour + ')';
        key.append(make('li', {}, i, p.name + ' ' + say(p.value)));
    }
    return [picture, key];
}

function showParts(a, row) {
    const point = a.scale && a.scale.json && a.scale.json.points.find((p) => p.nodes === a.s.n);
    const list = [], rows = [];
    for (const [key, name, colour] of PARTS)
        if (point && point[key] > 0) list.push({ name, colour, value: point[key] });
    if (list.length > 1)
        at('parts').append(make('h3', {}, 'What a step is made of'), ...bar(list, list.reduce((t, p) => t + p.value, 0),
            'Parts of a step: ' + list.map((p) => p.name + ' ' + ms(p.value)).join(', '), ms));
    for (const [key, name] of [['forward', 'forward'], ['backward', 'backward'], ['sync', 'all-reduces, hidden or exposed'],
        ['grad', 'exposed all-reduces, copies, update'], ['step', 'step'], ['latency', 'batch'], ['token', 'token']])
        if (row[key + '_ms'] !== undefined && row[key + '_ms'] !== null)
            rows.push([name, ms(row[key + '_ms']), ms(row[key + '_low_ms']), ms(row[key + '_high_ms'])]);
    at('parts').append(table('The parts with their intervals', ['part', 'time', 'from', 'to'], rows));
}

function table(summary, heads, rows) {
    const head = make('tr', {}), body = make('tbody', {});
    heads.forEach((h, i) => head.append(make('th', { scope: 'col', class: i ? 'n' : '' }, h)));
    for (const r of rows)
        body.append(fill(make('tr', {}), {}, r.map((v, i) => (i ? make('td', { class: 'n' }, v) : make('th', { scope: 'row' }, v)))));
    return make('details', {}, make('summary', {}, summary), make('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': summary }, make('table', {}, make('thead', {}, head), body)));
}

/* Marks of a logarithmic axis: powers of ten, with 2 and 5 times these where there are few. */
function ticks(least, most) {
    const all = Math.log10(most / least) < 3 ? [1, 2, 5] : [1], list = [];
    for (let p = Math.floor(Math.log10(least)); p <= Math.log10(most); p++)
        for (const m of all)
            if (m * Math.pow(10, p) >= least && m * Math.pow(10, p) <= most) list.push(m * Math.pow(10, p));
    return list;
}
const short = (x) => scaled(x, [[1e9, 1e9, 'G'], [1e6, 1e6, 'M'], [1e3, 1e3, 'k'], [0, 1, '']]).trim();

function showCurve(a) {
    const home = at('curve');
    if (!a.scale.json) {
        home.append(make('p', { class: 'note' }, 'No curve: ' + a.scale.error));
        return;
    }
    const points = a.scale.json.points.map((p) => ({ p, r: rateOf(p) })).filter((q) => q.r[0] > 0);
    if (!points.length) return;
    const unit = points[0].r[1], width = Math.max(260, Math.min(720, at('answer').clientWidth)), height = Math.min(340, width * 0.75);
    const left = 48, right = 14, top = 14, bottom = 42;
    const first = Math.log2(points[0].p.nodes), span = Math.max(1e-9, Math.log2(points[points.length - 1].p.nodes) - first);
    const most = 1.1 * Math.max(...points.map((q) => Math.max(q.r[0], q.r[3] || 0)));
    const least = Math.min(...points.map((q) => Math.min(q.r[0], q.r[2] || q.r[0]))) / 1.1;
    const x = (n) => (left + (points.length > 1 ? (Math.log2(n) - first) / span : 0.5) * (width - left - right)).toFixed(1);
    const y = (v) => (height - bottom - (Math.log(v / least) / Math.log(most / least)) * (height - top - bottom)).toFixed(1);
    const words = points.map((q) => q.p.nodes + ' nodes: ' + figure(q.r[0]) + ' ' + unit + between(q.r[2], q.r[3], figure)).join('; ');
    const svg = draw('svg', { viewBox: '0 0 ' + width + ' ' + height, role: 'img', 'aria-label': 'Throughput over nodes. ' + words });
    for (const v of ticks(least, most))
        svg.append(draw('line', { class: 'grid', x1: left, x2: width - right, y1: y(v), y2: y(v) }),
            draw('text', { x: left - 6, y: Number(y(v)) + 4, 'text-anchor': 'end', class: 'soft' }, short(v)));
    svg.append(draw('line', { class: 'axis', x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
    for (const q of points)
        if (points.length < 9 || Number.isInteger(Math.log2(q.p.nodes)))
            svg.append(draw('text', { x: x(q.p.nodes), y: height - bottom + 17, 'text-anchor': 'middle', class: 'soft' }, String(q.p.nodes)));
    svg.append(draw('text', { x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle' }, 'nodes of ' + a.s.per + (a.s.per === '1' ? ' device' : ' devices')));
    const known = points.filter((q) => q.r[2] !== null && q.r[2] !== undefined);
    if (known.length > 1)
        svg.append(draw('path', { class: 'band', d: 'M' + known.map((q) => x(q.p.nodes) + ' ' + y(q.r[3])).join('L') + 'L' +
            known.slice().reverse().map((q) => x(q.p.nodes) + ' ' + y(q.r[2])).join('L') + 'Z' }));
    svg.append(draw('path', { class: 'line', d: 'M' + points.map((q) => x(q.p.nodes) + ' ' + y(q.r[0])).join('L') }));
    for (const q of points)
        svg.append(draw('circle', { class: q.p.nodes === a.s.n ? 'here' : 'dot', cx: x(q.p.nodes), cy: y(q.r[0]), r: q.p.nodes === a.s.n ? 6 : 3.5 },
            draw('title', {}, q.p.nodes + ' nodes: ' + figure(q.r[0]) + ' ' + unit + between(q.r[2], q.r[3], figure))));
    const turning = a.scale.json.curves && a.scale.json.curves[0];
    home.append(make('h3', {}, 'Throughput on more nodes, ' + unit), svg, make('figcaption', {},
        (known.length > 1 ? 'The band holds nine of ten runs. ' : 'No interval is known. ') +
        (turning && turning.turning_point_nodes ? 'From ' + turning.turning_point_nodes + ' nodes on, ' + a.scale.json.turning_point + '.' : '')));
    at('curve').append(table('Numbers of the curve', ['nodes', unit, 'from', 'to', timeOf(points[0].p) ? timeOf(points[0].p).key : 'step', 'efficiency', 'largest part'],
        points.map((q) => [String(q.p.nodes), figure(q.r[0]), figure(q.r[2]), figure(q.r[3]), timeOf(q.p) ? ms(timeOf(q.p).at) : '–',
            q.p.efficiency === undefined || q.p.efficiency === null ? '–' : figure(100 * q.p.efficiency) + ' %', q.p.bottleneck || '–'])));
}

const HELD = [['weights_bytes', 'weights', 'm1'], ['frozen_bytes', 'frozen weights', 'm2'], ['weights_16bit_bytes', '16-bit copies', 'm3'],
    ['gradients_bytes', 'gradients', 'm4'], ['buckets_bytes', 'buckets', 'm5'], ['optimizer_bytes', 'optimizer', 'm6'], ['cache_bytes', 'keys and values', 'm7'],
    ['inputs_bytes', 'inputs', 'm8'], ['activations_bytes', 'activations', 'm9'], ['saved_bytes', 'saved', 'm10'],
    ['activation_gradients_bytes', 'gradients of activations', 'm11'], ['workspace_bytes', 'workspace', 'm12'], ['overhead_bytes', 'overhead', 'm13']];

function showMemory(a) {
    const home = at('memory-figure');
    if (a.memory.error) {
        at('cards').append(card('Memory', '–', a.memory.error));
        return;
    }
    const m = a.memory.json, p = m.points[0], list = HELD.filter((h) => p[h[0]] > 0).map(([key, name, colour]) => ({ name, colour, value: p[key] }));
    const room = m.memory_bytes;
    at('cards').append(card('Memory', bytes(p.peak_bytes),
        'of the fullest device' + (!room ? '' : p.peak_bytes <= room ? ': fits ' + bytes(room) : ': does not fit ' + bytes(room)),
        [['mostly', list.length ? list.reduce((x, y) => (y.value > x.value ? y : x)).name : '–']].concat(m.largest_batch ? [['largest batch', figure(m.largest_batch)]] : [])));
    if (room > p.peak_bytes) list.push({ name: 'free', colour: 'free', value: room - p.peak_bytes });
    home.append(make('h3', {}, 'Memory of the fullest device at its peak'), ...bar(list, Math.max(room || 0, p.peak_bytes),
        'Memory at the peak: ' + list.map((q) => q.name + ' ' + bytes(q.value)).join(', '), bytes));
}

function showCost(a, row) {
    if (!a.plan) {
        at('cards').append(card('A run', row.epoch_s ? seconds(row.epoch_s) : '–', row.epoch_s ? 'an epoch; search for layouts to see the cost of a run' : 'give the samples or tokens of the data set'));
        return;
    }
    if (a.plan.error) {
        at('cards').append(card('A run', '–', a.plan.error));
        return;
    }
    if (a.plan.json.layouts) {
        const l = a.plan.json.layouts[0], time = seconds(l.run_h * 3600), money1 = (v) => money(v, a.plan.json.currency || '');
        const priced = typeof l.cost === 'number';
        at('cards').append(card('A run', priced ? money1(l.cost) : time,
            priced ? time + between(l.run_low_h, l.run_high_h, (h) => seconds(h * 3600)) : 'no price is known',
            (priced ? [['from', money1(l.cost_low)], ['to', money1(l.cost_high)]] : []).concat([['device-hours', figure(l.device_hours)]])));
        return;
    }
    const best = a.plan.json.answers[0], p = best.plan, m = a.plan.json.machines[0], of = a.plan.json.currency || '';
    const time = seconds(p.hours * 3600), cost = p.cost === undefined || p.cost === null ? null : p.cost;
    at('cards').append(card('A run', cost === null ? time : money(cost, of),
        cost === null ? 'no price is known' : time + between(p.hours_low, p.hours_high, (h) => seconds(h * 3600)),
        (cost === null ? [] : [['from', money(p.cost_low, of)], ['to', money(p.cost_high, of)]]).concat(
            m.price_date ? [['price of', m.price_date]] : [])));
    at('tables').append(make('p', { class: 'note', id: 'sentence' }, best.sentence));
}

/* The search takes seconds, so that a button asks for it, and ends it. */
const HEADS = ['layout', 'step', 'memory', 'run', 'cost', 'tie', ''];
async function search() {
    if (searching) return stop();
    const mine = (searching = ++searches), home = at('layouts'), s = state(), began = performance.now();
    const tell = () => home.replaceChildren(make('p', {}, 'Searching ... ' + Math.round((performance.now() - began) / 1000) + '\u00a0s'));
    const clock = setInterval(tell, 1000);
    tell();
    at('search').textContent = 'Stop the search';
    progress(0, undefined, 'Searching layouts');
    const said = await ask(searchWords(s));
    clearInterval(clock);
    if (mine !== searching) return home.replaceChildren(make('p', {}, 'The search was stopped.'));
    ended();
    if (said.broken) await revive();
    if (said.error) {
        home.replaceChildren(make('p', { class: 'bad' }, said.error));
        return;
    }
    const body = make('tbody', {});
    for (const l of said.json.layouts) {
        const cost = Object.keys(l).find((k) => /^cost/.test(k) && l[k] !== null), take = make('button', { type: 'button' }, 'Take it');
        take.addEventListener('click', () => takeLayout(l.layout));
        body.append(make('tr', {}, make('th', { scope: 'row' }, l.layout), ...[ms(l.step_ms) + between(l.step_low_ms, l.step_high_ms, ms),
            bytes(l.memory_bytes), l.run_h ? seconds(l.run_h * 3600) : '–', cost ? money(l[cost], (last && last.plan && last.plan.json && last.plan.json.currency) || '') : '–', l.tie]
            .map((v, i) => make('td', { 'data-of': HEADS[i + 1] }, v)), make('td', { 'data-of': '' }, take)));
    }
    const heads = make('tr', {});
    for (const h of HEADS) heads.append(make('th', { scope: 'col' }, h));
    home.replaceChildren(make('h3', {}, 'The best layouts of ' + s.global + ' samples a step'),
        make('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'The best layouts' }, make('table', { class: 'wide' }, make('thead', {}, heads), body)),
        make('p', { class: 'note' }, 'A tie may be as fast as the first: their intervals meet.'), ...printed('layouts', said));
}
function ended() {
    searching = 0;
    at('search').textContent = 'Find the best layouts';
    progress(0, 0);
}
async function stop() {
    ended();
    await revive();
}
/* Its words, but micro-batch and micro-steps, which have fields of their own. */
function takeLayout(words) {
    const of = (name) => (words.match(new RegExp('(?:^| )' + name + '(\\d+)')) || [])[1];
    at('layout').value = words.split(' ').filter((w) => !/^(mb|gb|ga)\d+$/.test(w)).join(' ');
    at('batch').value = of('mb') || at('batch').value;
    at('accumulate').value = of('ga') || '1';
    for (const f of ['tp', 'pp', 'zero']) at(f).value = '';
    const kept = [...at('layouts').childNodes];
    answer();
    at('layouts').replaceChildren(...kept);
}

function showNotes(a) {
    const seen = new Set();
    for (const k of ['predict', 'scale', 'memory', 'plan'])
        for (const n of (a[k] && a[k].notes) || []) if (n.trim()) seen.add(n.replace(/^(layermeter|note): /, ''));
    at('notes').replaceChildren(...[...seen].map((n) => make('li', {}, n)));
    at('notes-box').hidden = !seen.size;
}

function quoted(w) {
    return /^[A-Za-z0-9_@%+=:,.\/-]+$/.test(w) ? w : "'" + w.replace(/'/g, "'\\''") + "'";
}
/* A command, and what it printed. */
function printed(k, said) {
    return [make('pre', { id: 'words-' + k }, 'layermeter ' + said.words.map(quoted).join(' ')),
        make('details', { 'data-of': k }, make('summary', {}, 'What it prints'), make('pre', { class: 'json', id: 'json-' + k, tabindex: '0' },
            said.error || (said.merged ? JSON.stringify(said.json, null, 2) : said.text)))];
}
function showCommands(a) {
    const home = at('commands'), open = new Set([...home.querySelectorAll('details[open]')].map((d) => d.dataset.of));
    home.replaceChildren();
    for (const k of ['predict', 'scale', 'memory', 'plan']) {
        if (!a[k]) continue;
        const [words, box] = printed(k, a[k]);
        box.open = open.has(k);
        home.append(words, box);
    }
}

/* ---- the link ---- */

function remember(s) {
    const words = new URLSearchParams();
    for (const f of FIELDS) if (s[f] !== usual[f]) words.set(f, s[f]);
    if (ini && ini.text.length <= LINK_MOST && s.network === ini.name) words.set('ini', ini.text);
    history.replaceState(null, '', '#' + words);
}
function restore() {
    const words = new URLSearchParams(location.hash.slice(1));
    if (words.has('ini')) takeNetwork(words.get('network') || 'pasted.ini', words.get('ini'));
    for (const f of FIELDS) at(f).value = words.has(f) ? words.get(f) : usual[f];
    const device = words.get('device');
    if (device && at('device').value !== device) {
        at('device').value = usual.device;
        warn(device.startsWith(OWN) ? 'This link was made with the machine file ' + device.slice(OWN.length) + ': drop that file here.'
            : 'This page knows no device ' + device + '.');
    }
    suit();
}
function warn(text) {
    at('warned').hidden = !text;
    at('warned').textContent = text;
}

/* ---- files of one's own ---- */

const files = new Map();

/* A name without folders, which ends in .ini. */
function nameOf(name) {
    const plain = name.replace(/^.*[\/\\]/, '').replace(/^[.-]+/, '').slice(0, 80) || 'own';
    return plain.endsWith('.ini') ? plain : plain + '.ini';
}
function keep(name, content) {
    files.set(name, content);
    send({ write: name, content });
}
function takeNetwork(name, text) {
    ini = { name: nameOf(name), text };
    keep(ini.name, text);
    at('ini').value = text;
    at('network').value = ini.name;
}
/* The file is asked for a step of a network before it becomes the machine: what is said of one of its lines is damage. */
async function takeMachine(name, content) {
    const plain = nameOf(name);
    keep(plain, content);
    const said = await ask(['predict', 'alexnet', '--machine', plain, '--batch', '8']);
    if (said.error && said.error.startsWith(plain + ':') && /^\d+: /.test(said.error.slice(plain.length + 1))) {
        warn('The machine file cannot be read. ' + said.error);
        return;
    }
    warn('');
    let group = at('device').querySelector('optgroup[data-own]');
    if (!group) at('device').prepend((group = make('optgroup', { label: 'your own files', 'data-own': '' })));
    if (![...group.children].some((o) => o.value === OWN + plain)) group.append(make('option', { value: OWN + plain }, plain));
    at('device').value = OWN + plain;
}
async function takeFile(file) {
    if (file.size > 4 << 20) {
        warn(file.name + ': more than 4 MiB: neither a machine file nor a network.');
        return;
    }
    const content = new Uint8Array(await file.arrayBuffer()), text = new TextDecoder().decode(content);
    if (text.includes('\0')) warn(file.name + ': not a text file.');
    else if (/^\s*type\s*=/m.test(text)) takeNetwork(file.name, text);
    else await takeMachine(file.name, content);
    later();
}

/* ---- the form ---- */

/* Fields of one phase are hidden in others. */
function suit() {
    for (const e of document.querySelectorAll('[data-for]')) e.hidden = e.dataset.for !== at('phase').value;
}
function later() {
    clearTimeout(waiting);
    waiting = setTimeout(answer, 120);
}
async function listDevices() {
    const said = await ask(['devices']), groups = [make('optgroup', { label: 'measured' }), make('optgroup', { label: 'carried over from these' })];
    for (const d of said.json.rows || said.json)
        groups[d.machine_files ? 0 : 1].append(make('option', { value: d.device }, d.device));
    at('device').append(...groups.filter((g) => g.children.length));
}
async function start(names) {
    at('networks').append(...names.models.map((n) => make('option', { value: n })));
    at('links').append(...names.links.map((n) => make('option', { value: n })));
    await listDevices();
    at('version').textContent = (await send({ run: ['--version'] })).out[0].replace(/^layermeter /, '');
    const first = [...at('device').options].find((o) => o.value.startsWith('H100 80GB'));
    if (first) at('device').value = first.value;
    for (const f of FIELDS) usual[f] = at(f).value.trim();
    const given = at('given');
    if (given) {
        await takeMachine(given.dataset.name, Uint8Array.from(atob(given.textContent.trim()), (c) => c.charCodeAt(0)));
        usual.device = at('device').value;
    }
    restore();
    at('ask').addEventListener('input', (e) => {
        if (e.target.id === 'ini' || e.target.type === 'file') return;
        suit();
        later();
    });
    at('ask').addEventListener('submit', (e) => e.preventDefault());
    at('use-ini').addEventListener('click', () => {
        takeNetwork('pasted.ini', at('ini').value);
        later();
    });
    at('search').addEventListener('click', search);
    at('machine').addEventListener('change', () => [...at('machine').files].forEach(takeFile));
    document.addEventListener('dragover', (e) => {
        e.preventDefault();
        document.body.classList.add('drop');
    });
    document.addEventListener('dragleave', () => document.body.classList.remove('drop'));
    document.addEventListener('drop', (e) => {
        e.preventDefault();
        document.body.classList.remove('drop');
        [...e.dataTransfer.files].forEach(takeFile);
    });
    window.addEventListener('hashchange', () => {
        restore();
        answer();
    });
    let wide = 0;
    window.addEventListener('resize', () => {
        if (last && wide !== window.innerWidth) show(last);
        wide = window.innerWidth;
    });
    at('copy').addEventListener('click', () => {
        navigator.clipboard.writeText(location.href).then(() => (at('copied').textContent = 'Copied.'),
            () => (at('copied').textContent = 'Copy the address of the page.'));
    });
    return answer();
}

progress(0, undefined, 'Starting');
begin().then(start).catch((e) => {
    at('said').textContent = '';
    at('trouble').hidden = false;
    at('trouble').textContent = 'This browser cannot run the page: ' + e.message;
});
})();
