# The page of `layermeter page` in a real browser, without a network: what it shows is what the program prints.
. "$(dirname -- "$0")/common.sh"
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

# a build without the page says so; nothing is written
mkdir -p bare/bin && cp "$LAYERMETER_BIN/layermeter" bare/bin || exit 1
refused 'built without emscripten' bare/bin/layermeter page -o no.html
[ ! -e no.html ] || fail "a page without its parts"
[ -e "$LAYERMETER_BIN/../share/layermeter/planner/engine.js" ] || skip "this build has no emscripten (Debian: emscripten)"

sed 's/^max_ranks .*/max_ranks = many/' machine.ini >bad.ini
refused 'bad.ini:[0-9]*: ' layermeter page --machine bad.ini -o no.html
[ ! -e no.html ] || fail "a page with a damaged machine file"
layermeter page -o planner.html || fail "no page"
layermeter page --machine machine.ini -o given.html || fail "no page with a machine file"
[ "$(wc -c <planner.html)" -le 5000000 ] || fail "the page has $(wc -c <planner.html) bytes"
need_browser

# check.html asks each question in a frame, drops files there, and writes down what is said, a line each.
{
    cat <<'END2'
<!DOCTYPE html><html><body><pre id="said"></pre><script>
const said = [], b64 = (t) => btoa(unescape(encodeURIComponent(t.replace(/\u00a0/g, ' '))));
const say = (...words) => said.push(words.join(' '));
END2
    for file in machine bad tiny; do
        printf 'const %s = atob("%s");\n' "$file" "$(base64 -w 0 <"$file.ini")"
    done
    cat <<'END2'
const pause = () => new Promise((go) => setTimeout(go, 20));
/* Time of the page does not wait for the compiler: the turns of a loop take real time. */
async function until(what, fine) {
    for (let i = 0; i < 1000; i++) {
        if (fine()) return true;
        for (let k = 0, x = 1; k < 4e6; k++) x = (x * 16807) % 2147483647;
        await pause();
    }
    say('fault', 'never:', what);
    return false;
}
async function frame(page, hash, width) {
    const f = document.createElement('iframe');
    f.style = 'border:0;width:' + width + 'px;height:900px';
    f.src = page + '#' + hash;
    document.body.append(f);
    await until('load ' + page, () => f.contentWindow.document.getElementById('answer'));
    await settled(f, hash);
    return f;
}
const of = (f, id) => f.contentWindow.document.getElementById(id);
const settled = (f, what) => until('answer to ' + what, () => of(f, 'said').textContent.slice(0, 8) !== 'Starting' &&
    !of(f, 'answer').hasAttribute('data-busy'));
function tell(name, f) {
    say('said', name, b64(of(f, 'said').textContent + ' ' + of(f, 'cards').textContent + ' ' + of(f, 'notes').textContent));
    for (const k of ['predict', 'scale', 'memory', 'plan', 'layouts'])
        if (of(f, 'words-' + k)) say('ran', name, k, b64(of(f, 'words-' + k).textContent), b64(of(f, 'json-' + k).textContent));
}
async function drop(f, name, content, taken) {
    const data = new f.contentWindow.DataTransfer(), w = f.contentWindow;
    data.items.add(new w.File([Uint8Array.from(content, (c) => c.charCodeAt(0))], name));
    w.document.dispatchEvent(new w.DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
    await until('taken: ' + name, taken);
    for (let i = 0; i < 20; i++) await pause(); /* until it is asked about */
    await settled(f, 'dropped ' + name);
}
function light(colour) {
    const [r, g, b] = colour.match(/[\d.]+/g).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : Math.pow((c / 255 + 0.055) / 1.055, 2.4)));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
/* The ground of an element (WCAG 2.1, 1.4.3: 4.5 to 1). */
function ground(w, e) {
    while (e && /, 0\)$/.test(w.getComputedStyle(e).backgroundColor)) e = e.parentElement;
    return w.getComputedStyle(e || w.document.body).backgroundColor;
}
function look(f, width) {
    const w = f.contentWindow, d = w.document, seen = new Set();
    if (d.documentElement.scrollWidth > width) say('fault', width, 'scrolls sideways:', d.documentElement.scrollWidth);
    if (w.performance.getEntriesByType('resource').length) say('fault', width, 'loads something');
    for (const e of d.querySelectorAll('[id]')) {
        if (seen.has(e.id)) say('fault', width, 'two of id', e.id);
        seen.add(e.id);
    }
    for (const e of d.querySelectorAll('input,select,textarea'))
        if (!e.labels.length || !e.labels[0].textContent.trim()) say('fault', width, 'no label:', e.id);
    for (const e of d.querySelectorAll('svg[role=img]'))
        if (!e.getAttribute('aria-label')) say('fault', width, 'a picture without words');
    for (const e of d.querySelectorAll('h1,h2,h3,p,label,legend,summary,button,li,dt,dd,input,select,svg text,.hint-line')) {
        const r = e.getBoundingClientRect(), svg = e.tagName === 'text', s = w.getComputedStyle(e);
        if (!r.width) continue;
        if (r.right > width + 0.5 || r.left < -0.5) say('fault', width, e.tagName, 'outside:', e.textContent.slice(0, 40));
        if (parseFloat(s.fontSize) < 11) say('fault', width, 'text of', s.fontSize, e.textContent.slice(0, 40));
        const a = light(svg ? s.fill : s.color), b = light(ground(w, svg ? e.closest('figure') : e));
        if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) say('fault', width, 'faint:', e.tagName, e.id, e.textContent.slice(0, 40));
    }
    say('looked', width, d.querySelectorAll('figure svg').length);
}
async function all() {
    let f = await frame('planner.html', '', 400);
    look(f, 400);
    tell('plain', f);
    f.remove();
    if (matchMedia('(prefers-color-scheme: dark)').matches) return; /* looked at */
    for (const [name, hash] of [['laid', 'network=llama3_8b&batch=1&precision=dtype%3Dbf16&tp=4&zero=1&tokens=15T'],
        ['dear', 'network=bert_base&batch=16&optimizer=adam&nodes=3&per=4&interconnect=nvlink4%2Bib400&epochs=3&dataset=1000000&price=2.50USD%2Fh'],
        ['decode', 'network=gpt2&phase=decode&batch=4&context=100&new-tokens=7&tokens=1M'], ['infers', 'phase=inference&device=Tesla+T4']]) {
        f = await frame('planner.html', hash, 600);
        tell(name, f);
        say('link', name, f.contentWindow.location.hash.slice(1) === hash ? 'kept' : f.contentWindow.location.hash);
        f.remove();
    }
    f = await frame('planner.html', 'network=gpt2&batch=4&nodes=2&global=64&tokens=1M', 600);
    of(f, 'search').click();
    await until('layouts', () => of(f, 'layouts').querySelector('button'));
    tell('search', f);
    const row = of(f, 'layouts').querySelector('td').textContent;
    of(f, 'layouts').querySelector('button').click();
    await settled(f, 'the layout that was found');
    say('taken', of(f, 'said').textContent.includes('takes ' + row + ' on 2 nodes') ? 'the same' : b64(row + of(f, 'said').textContent));
    f.remove();
    f = await frame('planner.html', 'network=resnet5', 600);
    say('trouble', b64(of(f, 'trouble').textContent));
    f.remove();
    f = await frame('planner.html', 'nodes=2&per=1&batch=8', 1280);
    await drop(f, 'bad.ini', bad, () => of(f, 'warned').textContent);
    say('damaged', of(f, 'device').value === 'H100 80GB HBM3' ? 'kept' : of(f, 'device').value, b64(of(f, 'warned').textContent));
    await drop(f, '<img src=x>.ini', machine, () => of(f, 'device').value.startsWith('file:<'));
    say('markup', f.contentWindow.document.querySelectorAll('img').length, b64(of(f, 'device').selectedOptions[0].textContent));
    await drop(f, 'machine.ini', machine, () => of(f, 'device').value === 'file:machine.ini');
    await drop(f, 'tiny.ini', tiny, () => of(f, 'network').value === 'tiny.ini');
    tell('dropped', f);
    look(f, 1280);
    const link = f.contentWindow.location.hash;
    f.remove();
    f = await frame('given.html', link.slice(1), 600);
    tell('again', f);
    say('device', of(f, 'device').value);
}
all().catch((e) => say('fault', e)).then(() => (document.getElementById('said').textContent = said.join('\n') + '\nend\n'));
</script></body></html>
END2
} >check.html

# seen SCHEME N: what the browser sees in light (1) or dark (0), N pages looked at
seen() {
    browse --blink-settings=preferredColorScheme="$1" --allow-file-access-from-files --virtual-time-budget=900000 \
        --window-size=1400,1000 --dump-dom "file://$work/check.html" || fail "$(tail -n 3 err)"
    sed -n '/<pre id="said">/,/^end$/p' out | sed 's/<pre id="said">//;s/.*<body>//' >said
    tail -n 1 said | grep -qx end || fail "the browser did not come to the end: $(tail -c 500 out)"
    ! grep '^fault' said || fail "the page"
    [ "$(grep -c '^looked .* 3$' said)" = "$2" ] || fail "pictures: $(grep '^looked' said)"
}
plain() { printf '%s' "$1" | base64 -d; }

# Each command that stands on the page prints what stands below it, to the last digit.
seen 0 1
seen 1 2
runs=0
grep '^ran' said >ran
while read -r _ name key words text; do
    plain "$words" >words.sh
    plain "$text" >page.json
    case $name-$key in laid-scale) continue ;; esac # several commands, of which one is shown
    sh words.sh >own.json 2>own.err || fail "$name: $(cat words.sh own.err)"
    sed -i -e 's|"[^"]*/share/layermeter/|"/share/layermeter/|' -e '/^  "checksum": /d' own.json page.json # it is of the paths, too
    cmp -s own.json page.json || fail "$name: $(cat words.sh; diff own.json page.json | head -n 6)"
    runs=$((runs + 1))
done <ran
[ $runs = 32 ] || fail "$runs commands were compared: $(cut -d' ' -f2,3 ran)"

# what is written large is that number, rounded
step=$(layermeter predict resnet50 --device 'H100 80GB HBM3' --batch 64 --nodes 8 --devices-per-node 8 --format json 2>err |
    awk '/"step_ms"/ { printf "%.3g ms", $2 }')
plain "$(sed -n 's/^said plain //p' said)" >text
grep -q "A step of resnet50 takes $step (" text || fail "not $step: $(cat text)"
held=$(layermeter plan resnet50 --device 'H100 80GB HBM3' --largest-batch --nodes 8 --devices-per-node 8 --format json 2>err |
    awk '/"largest_batch":/ { print $2 + 0 }')
grep -q "largest batch$(echo "$held" | sed 's/\(...\)$/.*\1/')A run" text || fail "not $held: $(cat text)"
[ "$(grep -c '^link .* kept$' said)" = 4 ] || fail "links: $(grep '^link' said)"
plain "$(sed -n 's/^trouble //p' said)" | grep -q "did you mean 'resnet50'" || fail "no trouble"
plain "$(sed -n 's/^damaged kept //p' said)" | grep -q 'bad.ini:[0-9]*: ' || fail "damaged: $(grep '^damaged' said)"
[ "$(plain "$(sed -n 's/^markup 0 //p' said)")" = '<img src=x>.ini' ] || fail "markup: $(grep '^markup' said)"
grep -q '^taken the same$' said || fail "the layout that was found: $(grep '^taken' said)"
grep -q '^device file:machine.ini$' said || fail "$(grep '^device' said)"
plain "$(sed -n 's/^said again //p' said)" | grep -q 'A step of tiny.ini' || fail "the link lost its network"

# ---- keys, in real time ----
command -v python3 >/dev/null || { echo "$runs commands compared; no keys pressed: no python3"; exit 0; }
python3 "$here/keys.py" "file://$work/planner.html" "$work/pressed" >keys || fail "keys: $(cat keys)"
tail -n 1 keys | grep -qx end || fail "keys: $(cat keys)"
! grep '^fault' keys || fail "keys"
echo "$runs commands compared; $(head -n 1 keys)"
