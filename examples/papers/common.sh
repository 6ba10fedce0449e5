# What the scripts of this folder share; read by them, not run.
# shellcheck shell=sh

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

# measure NAME SWEEP: into $results/NAME, unless it was measured before.
measure() {
    [ -f "$results/$1/machine.ini" ] && { echo "$1: measured before, in $results/$1"; return; }
    layermeter calibrate "$2" -o "$results/$1" --force >"$results/$1.log" 2>&1 || { tail -n 3 "$results/$1.log" >&2; exit 1; }
}

# heading TITLE BASELINE: a table begins; BASELINE is the method as published.
heading() {
    printf '\n%s\n' "$1"
    printf '  %-52s %10s  %14s  %10s\n' 'mean error [%]' published "$2" ours
}

# row WHAT PUBLISHED BASELINE OURS: '-' or nothing where there is no figure.
row() {
    printf '  %-52s %10s  %14s  %10s\n' "$1" "${2:--}" "${3:--}" "${4:--}"
}

# mape FILE GROUP PHASE MODEL: of a CSV that 'validate' printed.
mape() {
    python3 - "$@" <<'END'
import csv, sys
path, *key = sys.argv[1:]
for r in csv.DictReader(open(path)):
    if [r["group"], r["phase"], r["model"]] == key and r["mape_percent"]:
        print(f"{float(r['mape_percent']):.1f}")
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

# examined BASELINE OURS: a row for each question of the exam that both, or one of them, answered with a mean error.
examined() {
    python3 - "$results/exam.csv" "$@" <<'END'
import csv, sys
path, baseline, ours = sys.argv[1:]
rows = {}
for r in csv.DictReader(open(path)):
    if r["metric"] == "MAPE %" and r["model"] in (baseline, ours) and r["value"] not in ("", "inf"):
        what = f"{r['dataset']}: {r['question']}" + ("" if r["group"] == "all" else f", {r['group']}")
        rows.setdefault(what, {"published": ""})[r["model"]] = f"{float(r['value']):.1f}"
        rows[what]["published"] = rows[what]["published"] or r["published"]
for what, r in rows.items():
    if baseline in r or r["published"]:
        print(f"  {what:<52} {r['published'] or '-':>10}  {r.get(baseline, '-'):>14}  {r.get(ours, '-'):>10}")
END
}

# page NETWORK MACHINE: a page of HTML on what the machine file says of a network.
page() {
    layermeter report "$1" --machine "$2" -o "$results/$paper.html" >/dev/null
    printf '\npage          %s\nobservations  %s\n' "$results/$paper.html" "$results"
}
