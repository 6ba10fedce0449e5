# What the pages of the project say can be followed: links lead somewhere, the commands of the README and of the guides are
# understood, nearly all of them run as they stand, and the README's figures are the exam's.
#
# LAYERMETER_SOURCE   the source tree
. "$(dirname -- "$0")/common.sh"
source=${LAYERMETER_SOURCE:?}
cd "$work" || exit 1

# ---- links -------------------------------------------------------------------------------------------------------------

# Headings as anchors: small letters, dashes for spaces, no other marks.
anchors() {
    sed '/^```/,/^```/d' "$1" | sed -n 's/^##* //p' | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g'
}

find "$source" -name '*.md' -not -path '*/build*/*' -not -path '*/.git/*' >pages
while read -r page; do
    sed '/^```/,/^```/d' "$page" | grep -o ']([^) ]*)' | sed 's/^](//; s/)$//' | grep -v '^http' >links
    while read -r link; do
        file=${link%%#*}
        [ -n "$file" ] && file=$(dirname "$page")/$file || file=$page
        [ -e "$file" ] || fail "$page: $link: no such file"
        case $link in
        *.md\#* | \#*) anchors "$file" | grep -qx "${link#*#}" || fail "$page: $link: no such heading" ;;
        esac
    done <links
done <pages
[ "$(wc -l <"$source/README.md")" -le 150 ] || fail "the README has more than 150 lines: move what is of one task into its guide"

# ---- figures of the README are those of the exam, as they are rounded --------------------------------------------------

sed -n '/^## How good/,/^## What it cannot/p' "$source/README.md" | grep -v '^| question\|^| ---' | grep '^|' >figures
[ "$(wc -l <figures)" -ge 6 ] || fail "the README has no figures"
awk -F'|' '
    FNR == NR { n = split($0, c, ","); value[++k] = c[n]; set[k] = substr($0, 1, index($0, ",") - 1); rows[k] = "," $0; next }
    {
        data = $6; gsub(/[ `]/, "", data); cases = $3; gsub(/ /, "", cases)
        for (column = 4; column <= 5; column++)
            if (match($column, /[0-9.]+ %/)) {
                figure = substr($column, RSTART, RLENGTH - 2); found = 0
                digits = index(figure, ".") ? length(figure) - index(figure, ".") : 0
                for (i = 1; i <= k; i++)
                    found += set[i] == data && sprintf("%.*f", digits, value[i]) == figure &&
                        (column == 5 || index(rows[i], "," cases ","))
                if (!found) { print "not in expected.csv: " figure " % of " data ": " $2; bad = 1 }
            } else if (column == 4) { print "no figure: " $0; bad = 1 }
    }
    END { exit bad }' "$source/tests/accuracy/expected.csv" figures || fail "figures of the README"

# ---- commands ----------------------------------------------------------------------------------------------------------

# Those that begin with `layermeter`, of all pages; of the guide to calibration guide.sh runs each line.
for page in "$source/README.md" "$source"/examples/guides/*.md; do
    case $page in */calibrate.md) continue ;; esac
    sed -n '/^```sh/,/^```/s/^\(layermeter .*\)/\1/p' "$page" | sed 's/   *#.*//'
done | sort -u >commands
[ "$(wc -l <commands)" -gt 70 ] || fail "only $(wc -l <commands) commands in the pages"

# What samples this machine until it is stopped is left to watch.sh, what asks all plugins to the test of plugins.
grep -v -e '^layermeter watch .*-o' -e '^layermeter check$' commands >asked

# The first answer is the one that stands below it.
line=$(grep '^layermeter plan' "$source/README.md" | head -n 1)
awk '/^layermeter plan/ { on = 1 } on && /^```/ { n++; next } on && n == 2 { print } n > 2 { exit }' "$source/README.md" >answer
sh -c "$line" 2>/dev/null | head -n "$(wc -l <answer)" >out
[ -s answer ] && cmp -s answer out || fail "README.md: copy what $line prints now: $(cat out)"

# Files of the reader's own are made, so that each command finds what it names. A calibration of a made-up machine stands for
# the reader's.
if [ ! -x "$LAYERMETER_BIN/layermeter-calibrate" ]; then # misuse is told before a file is read: status 2
    while read -r line; do
        timeout 60 sh -c "$line" </dev/null >out 2>err
        [ $? -ne 2 ] || fail "$line: $(cat err)"
    done <asked
    echo "$(wc -l <pages) pages, $(wc -l <commands) commands"
    exit 0
fi
find . -mindepth 1 -maxdepth 1 ! -name bin ! -name pages ! -name commands ! -name asked -exec rm -rf {} +
cp -R "$here/inputs/." . && cp "$here/roundtrip/truth.ini" . || exit 1
mkdir -p configs models && ln -s "$source/configs/sweeps" configs/sweeps && ln -s "$source/models/resnet50.ini" models/ || exit 1
{ simulated truth.ini; cat; } >sweep.ini <<'END'
[networks]
networks = alexnet, vgg16, squeezenet1_1, resnet18, mobilenet_v2
batch    = 1..64*8
image    = 64, 128
ranks    = 1, 2, 4
phases   = training, inference

[collectives]
bytes = 4KiB..64MiB*16
ranks = 2, 4, 8
END
layermeter calibrate sweep.ini -o cluster/ --quiet 2>err || fail "$(cat err)"
machines=$source/configs/machines
cp cluster/machine.ini v100.ini
cp "$machines/v100-sxm2-16gb-amp.ini" a.ini
cp "$machines/h100-sxm-amp.ini" b.ini
cp cluster/machine.ini p100.ini
cp power.ini a30.ini
cp plain.onnx net.onnx
cp "$source/configs/prices.ini" mine.ini
# two networks on the new device, and three devices that are the same machine
awk -F, '/^kind,/ || /^network,/ && ($2 == "resnet18" || $2 == "alexnet") && $7 == 1' cluster/observations.csv >few.csv
for device in t4 v100 a100; do
    cp cluster/observations.csv "$device.csv"
done
# datasheets of the reader's own
printf '[my board]\nf32       = 10 TFLOP/s\nf16       = 40 TFLOP/s\nbandwidth = 500 GB/s\nmemory    = 24 GB\npower     = 100 W\n' >boards.ini
# a trace, and jobs on several GPUs
python=$(command -v python3) && "$python" "$source/tests/traces/synthetic.py" --seed 7 --set epoch_s=30 --format smi -o trace.csv \
    --truth truth.json >out 2>&1 && cp trace.csv smi.csv && cp trace.csv t4_trace.csv
awk 'BEGIN {
    print "workload,group,gpu,seconds,busy_percent,power_mean_w"
    split("T4 V100-SXM2-16GB A10G", n); split("8 15 35", f); split("320 900 600", b); split("70 300 150", w)
    for (i = 0; i < 24; i++) {
        t = 1 + i % 8; s = (i * 37 % 40) / 40
        for (g = 1; g <= 3; g++) {
            x = t * s * 10 / f[g]; y = t * (1 - s) * 500 / b[g]
            printf "w%d,net%d,%s,%.6g,%.4g,%.5g\n", i, i % 5, n[g], x + y, 100 * x / (x + y), w[g] * (0.5 + 0.5 * x / (x + y))
        }
    } }' >jobs.csv
{ head -n 1 jobs.csv; grep ',T4,' jobs.csv | head -n 1; } >job.csv
layermeter learn jobs.csv -o gpus.txt >out 2>&1 || rm -f gpus.txt
layermeter plan resnet50 --device V100 --deadline 7d --price 2.50USD/h --format json >plan.json 2>err || fail "$(cat err)"
# whole steps of runs, a fifth slower than what was measured
awk -F, '/^kind,/ { print "kind,name,phase,seconds,input,batch,ranks,hosts,dtype" }
    /^network,/ && $3 == "step" && $7 == 1 { print "network," $2 ",step," 1.2 * $17 "," $4 "," $5 ",1,1,f32" }' cluster/observations.csv >runs.csv

: >ran
: >passed
: >broken
while read -r line; do
    if timeout 60 sh -c "$line" </dev/null >out 2>err; then
        echo "$line" >>ran
    elif grep -q 'this build' err; then # a library that is a choice
        echo "$line: $(cat err)" >>passed
    else
        echo "$line: $(tail -n 1 err)" >>broken
    fi
done <asked
cat passed broken
[ ! -s broken ] || fail "$(wc -l <broken) commands of the pages fail as they stand"
echo "$(wc -l <pages) pages, $(wc -l <commands) commands, $(wc -l <ran) of these run"
