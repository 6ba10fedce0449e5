#!/bin/sh
# The page of `layermeter report` in a real browser, without a network: on a phone, on a desk, on paper.
. "$(dirname -- "$0")/common.sh"
for program in gnuplot xmllint; do
    command -v $program >/dev/null || skip "no $program (Debian: gnuplot-nox, libxml2-utils)"
done
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1
sed 's/= 1e-10 s/= 2e-11 s/' machine.ini >fast.ini

need_browser

# check.html looks at the page in frames as wide as a phone and a desk, and writes down what is wrong.
cat >check.html <<'END'
<!DOCTYPE html><html><body>
<iframe id="phone" src="page.html" style="border:0;width:390px;height:800px"></iframe>
<iframe id="desk" src="page.html" style="border:0;width:1280px;height:800px"></iframe>
<pre id="said"></pre>
<script>
const said = [];
function say(name, text) { said.push(name + ': ' + text); }
function look(name, width) {
    const w = document.getElementById(name).contentWindow, d = w.document;
    const seen = new Set();
    if (d.compatMode !== 'CSS1Compat') say(name, 'not in standards mode');
    if (d.documentElement.scrollWidth > width) say(name, 'scrolls sideways: ' + d.documentElement.scrollWidth);
    if (d.scripts.length) say(name, d.scripts.length + ' scripts');
    if (w.performance.getEntriesByType('resource').length) say(name, 'loads something');
    for (const e of d.querySelectorAll('[id]')) {
        if (seen.has(e.id)) say(name, 'two of id ' + e.id);
        seen.add(e.id);
    }
    for (const e of d.querySelectorAll('[href],[*|href]'))
        for (const a of e.attributes)
            if (a.localName === 'href' && !(a.value[0] === '#' && seen.has(a.value.slice(1)))) say(name, 'link to ' + a.value);
    for (const e of d.querySelectorAll('h1,h2,h3,p,li,figure,.card,.scroll,summary')) {
        const r = e.getBoundingClientRect();
        if (r.width && (r.right > width + 0.5 || r.left < -0.5)) say(name, e.tagName + ' outside: ' + e.textContent.slice(0, 40));
    }
    for (const s of d.querySelectorAll('figure svg')) {
        const r = s.getBoundingClientRect();
        if (r.width < 250 || r.height < 60) say(name, 'a picture of ' + r.width + 'x' + r.height);
        if (!s.querySelector(':scope > title').textContent || !s.querySelector(':scope > desc').textContent)
            say(name, 'a picture without words');
        if (!s.querySelector('.hint > title')) say(name, 'a picture without hints');
        for (const t of s.querySelectorAll('.hint > title'))
            if (!/[0-9]/.test(t.textContent)) say(name, 'a hint without a value: ' + t.textContent);
        if (s.querySelectorAll('title').length !== s.querySelectorAll('.hint > title').length + 1)
            say(name, 'a title that is no hint');
        for (const t of s.querySelectorAll('text')) {
            const b = t.getBoundingClientRect();
            if (b.right > r.right + 1 || b.left < r.left - 1 || b.bottom > r.bottom + 1 || b.top < r.top - 1)
                say(name, 'text of a picture cut off: ' + t.textContent);
            if (b.height < 8.5) say(name, 'text of ' + b.height + ' px: ' + t.textContent);
        }
    }
    for (const f of d.querySelectorAll('.charts')) {
        const last = f.querySelector(':scope > figure:last-child:nth-child(odd)');
        if (last && width > 1000 && last.getBoundingClientRect().width < 0.9 * f.getBoundingClientRect().width)
            say(name, 'an empty half beside ' + last.textContent.trim().slice(0, 40));
    }
    for (const r of d.querySelectorAll('table.wide tbody tr')) {
        const list = w.getComputedStyle(r).display === 'block';
        if (list !== width < 570) say(name, 'a row of ' + r.cells.length + (list ? ' is a list' : ' is no list'));
    }
    say(name, d.querySelectorAll('figure svg').length + ' pictures, ' + d.querySelectorAll('table').length + ' tables');
}
onload = () => { look('phone', 390); look('desk', 1280); document.getElementById('said').textContent = said.join('\n') + '\n'; };
</script></body></html>
END

# look NAME OPTION...: makes a page and looks at it
look() {
    name=$1
    shift
    layermeter report "$@" -o page.html >out 2>err || fail "$name: $(cat err)"
    [ -s err ] && fail "$name: said $(cat err)"
    xmllint --noout page.html >out 2>&1 || fail "$name: not well-formed: $(cat out)"
    grep -i -n -E '(src|href)="?(https?:|//)|url\(["'"'"']?(https?:|//)|@import' page.html && fail "$name: refers to others"
    browse --allow-file-access-from-files --virtual-time-budget=5000 --window-size=1400,1000 --dump-dom "file://$work/check.html" ||
        fail "$name: $(tail -n 3 err)"
    sed -n '/<pre id="said">/,/<\/pre>/p' out | sed -e 's/<[^>]*>//g' -e '/^$/d' >said
    [ "$(grep -c -E '^(phone|desk): [1-9][0-9]* pictures, [1-9][0-9]* tables$' said)" = 2 ] || fail "$name: the browser said $(cat said)"
    [ "$(wc -l <said)" = 2 ] || fail "$name: $(cat said)"
    [ "$(sed -n 's/^desk: \([0-9]*\) .*/\1/p' said)" = "$(grep -c '<figure>' page.html)" ] || fail "$name: figures without pictures"
}

# paint NAME WIDTH HEIGHT: a picture of the page, which is not blank
paint() {
    browse --window-size="$2,$3" --screenshot="$work/$1.png" "file://$work/page.html" || fail "$1: $(tail -n 3 err)"
    [ "$(head -c 4 "$1.png" | tail -c 3)" = PNG ] || fail "$1: no picture"
    [ "$(wc -c <"$1.png")" -gt 30000 ] || fail "$1: the page is blank"
}

# the page and its pictures follow the dark, without a script
layermeter report tiny.ini --machine machine.ini --nodes 1,2 --batch 8 --dataset 1000 -o page.html >out 2>err || fail "dark: $(cat err)"
cat >dark.html <<'END'
<!DOCTYPE html><html><body><iframe id="f" src="page.html" style="width:800px;height:800px"></iframe><pre id="said"></pre>
<script>onload = () => {
    const w = document.getElementById('f').contentWindow, d = w.document, of = (e, k) => w.getComputedStyle(e)[k];
    document.getElementById('said').textContent = [of(d.body, 'backgroundColor'), of(d.querySelector('figure svg rect'), 'fill'),
        of(d.querySelector('figure svg text'), 'fill')].join(' / ') + '\n';
};</script></body></html>
END
for scheme in 1:'rgb(255, 255, 255) / rgb(255, 255, 255) / rgb(85, 85, 85)' 0:'rgb(20, 23, 26) / rgb(20, 23, 26) / rgb(174, 180, 186)'; do
    browse --blink-settings=preferredColorScheme="${scheme%%:*}" --allow-file-access-from-files --virtual-time-budget=5000 \
        --dump-dom "file://$work/dark.html" || fail "dark: $(tail -n 3 err)"
    grep -q -F "${scheme#*:}" out || fail "dark: scheme ${scheme%%:*}: $(sed -n '/id="said"/,$p' out)"
done

look "two machines" tiny.ini --machine machine.ini --machine fast.ini --nodes 1,2,4,8 --batch 8 --dataset 1000 \
    --sync ddp:1KiB --price 2.50USD/h
paint phone 390 3000
paint desk 1280 3000
browse --no-pdf-header-footer --print-to-pdf="$work/page.pdf" "file://$work/page.html" || fail "print: $(tail -n 3 err)"
[ "$(head -c 4 page.pdf)" = %PDF ] && [ "$(wc -c <page.pdf)" -gt 30000 ] || fail "print: no pages"
# what is folded on a screen is there on paper
if command -v gs >/dev/null; then
    gs -q -sDEVICE=txtwrite -o page.txt page.pdf || fail "print: no PDF"
    for text in device-hours inter-node conv_stem; do
        grep -q -e "$text" page.txt || fail "print: '$text' is not there"
    done
fi

sed -e '/^\[[a-z]*\.sync\]/,/^$/d' -e 's/^max_ranks = .*/max_ranks = 1/' machine.ini >single.ini
look "one that knows one node" tiny.ini --machine single.ini --machine machine.ini --nodes 1,2 --batch 8 --dataset 1000
look "one node" tiny.ini --machine machine.ini --nodes 1 --batch 8 --dataset 1000
look "each tensor" deep.ini --machine machine.ini --nodes 2..6 --batch 4 --dataset 1000 --sync tensor --devices-per-node 2
look "another model" tiny.ini --machine machine.ini --model convmeter --nodes 1,2 --batch 8 --dataset 1000
look "global" tiny.ini --machine machine.ini --nodes 1..16*2 --scaling global --global-batch 256 --batch 8 --dataset 1000

cat >job.csv <<'END'
kind,name,phase,batch,hosts,ranks,seconds
network,tiny.ini,step,8,1,1,0.0213
network,tiny.ini,step,8,1,8,0.0223
network,tiny.ini,step,8,2,16,0.0235
END
layermeter fit job.csv -o job.ini >out 2>err || fail "job: $(cat err)"
look "a job's own steps" tiny.ini --machine job.ini --nodes 1..8*2 --devices-per-node 8 --batch 8 --dataset 10000

# names that look like markup, and long ones
long="a-machine-of-a-name-that-is-longer-than-any-legend-can-hold-0123456789"
cp machine.ini "$long.ini"
mkdir 'a&b' && cp machine.ini "a&b/<script>alert(1)<'\".ini"
sed -e 's/^name = .*/name = <script>document.title = 1<\/script>/' -e 's/^\[conv\]/[<b>conv\&amp;]/' tiny.ini >n.ini
look "names" n.ini --machine "a&b/<script>alert(1)<'\".ini" --machine "$long.ini" --nodes 1,2 --batch 8 --dataset 1000 --sync ddp \
    --title "</title><script>alert('2')</script> \"ümlaut\""

for i in 1 2 3 4 5; do cp machine.ini "m$i.ini"; done
look "six machines" tiny.ini --machine m1.ini --machine m2.ini --machine m3.ini --machine m4.ini --machine m5.ini --machine fast.ini \
    --nodes 1..64*2 --batch 8 --dataset 10000 --sync horovod
