# What the scripts of this folder share; read by them, not run.
# shellcheck shell=sh

# --help: the comment at the script's head. Another option is not a folder of results.
case ${1:-} in
--help | -h)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
-*)
    echo "$0: unknown option $1 (see '$0 --help')" >&2
    exit 2
    ;;
esac

source=$(cd "$(dirname "$0")/../.." && pwd)
paper=$(basename "$0" .sh)
results=${1:-$source/papers-results/$paper}
data=${LAYERMETER_DATA:-$source/../shared/data}

for folder in "${LAYERMETER_BIN:-}" "$source/build/bin" "$source/build/quickstart/bin"; do
    [ -x "$folder/layermeter" ] || continue
    PATH=$folder:$PATH
    break
done
command -v layermeter >/dev/null || {
    echo "$0: no program 'layermeter': run examples/quickstart.sh, or set LAYERMETER_BIN to its folder" >&2
    exit 1
}
LAYERMETER_BIN=$(dirname "$(command -v layermeter)")
export LAYERMETER_BIN OMP_NUM_THREADS=1
mkdir -p "$results"

# measure NAME SWEEP: into $results/NAME. What was measured before is only fitted again, by this version.
measure() {
    if [ -f "$results/$1/machine.ini" ]; then
        echo "$1: measured before, in $results/$1"
        layermeter fit "$results/$1/observations.csv" -o "$results/$1/machine.ini" >"$results/$1.log" 2>&1 || { tail -n 3 "$results/$1.log" >&2; exit 1; }
    else
        layermeter calibrate "$2" -o "$results/$1" --force >"$results/$1.log" 2>&1 || { tail -n 3 "$results/$1.log" >&2; exit 1; }
    fi
}

# heading TITLE BASELINE...: a table begins; the first BASELINE is the method as published.
heading() {
    printf '\n%s\n  %-52s %10s' "$1" 'mean error [%]' published
    shift
    printf '  %14s' "$@"
    printf '  %10s\n' ours
}

# row WHAT PUBLISHED BASELINE... OURS: '-' or nothing where there is no figure.
row() {
    printf '  %-52s %10s' "$1" "${2:--}"
    shift 2
    while [ $# -gt 1 ]; do
        printf '  %14s' "${1:--}"
        shift
    done
    printf '  %10s\n' "${1:--}"
}

# mape FILE GROUP PHASE MODEL: of a CSV that 'validate' printed; of all points of the groups if GROUP is a pattern (resnet*).
mape() {
    python3 - "$@" <<'END'
import csv, fnmatch, sys
path, group, *key = sys.argv[1:]
rows = [r for r in csv.DictReader(open(path))
        if fnmatch.fnmatch(r["group"], group) and [r["phase"], r["model"]] == key and r["mape_percent"]]
if rows:
    points = [int(r["points"]) for r in rows]
    print(f"{sum(n * float(r['mape_percent']) for n, r in zip(points, rows)) / sum(points):.1f}")
END
}

# exam DATASET...: the exam of public data into $results/exam.csv; false where they are not here.
exam() {
    for dataset; do
        [ -d "$data/$dataset" ] || {
            echo "public data: no $data/$dataset (LAYERMETER_DATA)"
            return 1
        }
    done
    LAYERMETER_DATA=$data "$source/tests/accuracy/run.sh" --csv "$results/exam.csv" "$@" >"$results/exam.txt" 2>&1
    [ -s "$results/exam.csv" ] || { tail -n 3 "$results/exam.txt" >&2; return 1; }
}

# examined BASELINE... OURS: a row for each question of the exam that the first baseline answered with a mean error, or that has a
# published one. OURS are models, 'residual,layermeter': the first that answered.
examined() {
    python3 - "$results/exam.csv" "$@" <<'END'
import csv, sys
path, *baselines, ours = sys.argv[1:]
ours, rows = ours.split(","), {}
for r in csv.DictReader(open(path)):
    if r["metric"] == "MAPE %" and r["value"] not in ("", "inf"):
        what = r["question"] + ("" if r["group"] == "all" else f", {r['group']}")
        rows.setdefault(what, {"published": ""})[r["model"]] = f"{float(r['value']):.1f}"
        rows[what]["published"] = rows[what]["published"] or r["published"]
for what, r in rows.items():
    if baselines[0] in r or r["published"]:
        told = "".join(f"  {r.get(b, '-'):>14}" for b in baselines)
        print(f"  {what:<60} {r['published'] or '-':>8}{told}  {next((r[o] for o in ours if o in r), '-'):>10}")
END
}

# pooled FILE GROUP MODEL: rows, mean error [%] and RMSE [ms], of evaluation and of steps together, of a CSV that 'validate' printed.
pooled() {
    awk -F, -v group="$2" -v model="$3" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $1 == group && $3 == model && ($2 == "inference" || $2 == "step") {
            n += $4; mape += $4 * $at["mape_percent"]; square += $4 * $at["rmse_ms"] ^ 2 }
        END { if (n) printf "%d %.1f %.3f\n", n, mape / n, sqrt(square / n); else print "0 - -" }' "$1"
}

# observed FILE.csv.gz ROWS: layers of Justus et al.'s data as observations, so many drawn at random. A row with an optimizer is a whole
# step of a loss, whose inputs are variables, too.
observed() {
    gzip -dc "$1" | awk -F, -v rows="$2" -v seed=1 '
        function ceil(x) { return x == int(x) ? x : int(x) + 1 }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print "kind,name,geometry,phase,input,batch,settings,optimizer,seconds"; srand(seed); next }
        {
            if (at["kernel"]) {
                m = $at["matrix_size"]; k = $at["kernel"]; s = $at["stride"]
                pad = $at["padding"] == "same" ? (ceil(m / s) - 1) * s + k - m : 0; pad = pad > 0 ? pad : 0
                before = int(pad / 2); after = pad - before; odd = before != after
                name = (odd ? "pad; " : "") "conv2d"; input = $at["channels_in"] "x" m "x" m
                keys = (odd ? "before=" before "," before " after=" after "," after "; " : "") "filters=" $at["channels_out"] " kernel=" k \
                    " stride=" s " padding=" (odd ? 0 : before) " bias=" ($at["use_bias"] ? "yes" : "no")
            } else { name = "linear"; keys = "features=" $at["dim_out"]; input = $at["dim_in"] }
            f = $at["activation"]; o = $at["optimizer"]
            if (f != "none") { name = name "; " f; keys = keys "; " }
            if (o != "none") { name = name "; mse_loss"; keys = keys "; " }
            line[++n] = "layer," name ",\"" keys "\"," (o == "none" ? "inference" : "step") "," input "," $at["batch"] ",trains=inputs," \
                (o == "none" ? "" : o) "," $at["time_median_ms"] * 1e-3
        }
        END { for (i = n; i > 1; i--) { j = 1 + int(rand() * i); t = line[i]; line[i] = line[j]; line[j] = t } for (i = 1; i <= n && i <= rows; i++) print line[i] }'
}

# unseen TYPE ROWS BASELINE [OPTION...]: conv or dense of each of Justus et al.'s GPUs by the others' rows, where there are two or more:
# a row for each. Limits of power, which the data lack, are those of the boards' datasheets, half of them for M60 and K80, two devices each.
unseen() {
    kind=$1 rows=$2 baseline=$3 files='' names=''
    shift 3
    [ -r "$data/justus2018/gpus.csv" ] || { echo "  public data: no $data/justus2018 (LAYERMETER_DATA)"; return 0; }
    awk -F, 'BEGIN { split("v100 250 p100 250 m60 150 k80 150 k40 235", w, " "); for (i = 1; i < 10; i += 2) power[w[i]] = w[i + 1] }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { printf "[%s]\ncapability = %s\nf32 = %g TFLOP/s\nbandwidth = %s GB/s\nmultiprocessors = %s\ncores = %s\nclock = %s MHz\nmemory = %s GB\npower = %s W\n\n",
            $1, $at["compute_capability"], $at["fp32_peak_gflops"] / 1e3, $at["memory_bandwidth_gb_s"], $at["sm_count"], $at["fp32_cores"],
            $at["clock_boost_mhz"], $at["memory_gb"], power[$1] }' "$data/justus2018/gpus.csv" >"$results/devices.ini"
    for gpu in v100 p100 m60 k80 k40; do
        [ -r "$data/justus2018/${kind}_$gpu.csv.gz" ] || continue
        observed "$data/justus2018/${kind}_$gpu.csv.gz" "$rows" >"$results/$gpu.csv"
        files="$files $gpu.csv" names="$names${names:+,}$gpu"
    done
    # shellcheck disable=SC2086 # words
    (cd "$results" && layermeter validate $files --leave-out device --device "$names" --devices devices.ini --model "layermeter,$baseline" \
        "$@" --format csv >unseen.csv 2>unseen.txt) || { tail -n 3 "$results/unseen.txt" >&2; return 1; }
    for gpu in $(echo "$names" | tr , ' '); do
        [ "$kind$gpu" = convv100 ] && [ "$baseline" = justus ] && published=39.6 || published=-
        row "$gpu" $published "$(pooled "$results/unseen.csv" "$gpu" "$baseline" | cut -d' ' -f2)" \
            "$(pooled "$results/unseen.csv" "$gpu" layermeter | cut -d' ' -f2)"
    done
}

# page NETWORK MACHINE [OPTION...]: a page of HTML on what the machine file says of a network.
page() {
    network=$1 machine=$2
    shift 2
    layermeter report "$network" --machine "$machine" "$@" -o "$results/$paper.html" >/dev/null
    printf '\npage          %s\nobservations  %s\n' "$results/$paper.html" "$results"
}

# told TITLE TABLES [PICTURE.svg]: a page of HTML of tables that are text, and of a picture if it is there. It loads nothing.
told() {
    {
        printf '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">\n'
        printf '<title>%s</title>\n<style>body{font:16px/1.5 sans-serif;max-width:70em;margin:1em auto;padding:0 1em}' "$1"
        printf 'pre{overflow-x:auto}svg{max-width:100%%;height:auto}</style></head>\n<body><h1>%s</h1>\n' "$1"
        [ ! -s "${3:-}" ] || sed '/<?xml/d; /<!DOCTYPE/d; /^ "http:.*dtd">/d' "$3"
        printf '<pre>\n'
        sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g' "$2"
        printf '</pre>\n</body></html>\n'
    } >"$results/$paper.html"
    printf '\npage          %s\n' "$results/$paper.html"
}
