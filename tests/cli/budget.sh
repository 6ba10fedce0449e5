#!/bin/sh
# layermeter calibrate --budget: what is measured, that it ends in time, and that a dry run tells it. Simulated
# machines are busy for as long as their times say, and that is what their budget counts: no real clock is asked.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cp "$here/roundtrip/truth.ini" "$here/roundtrip/compare.awk" "$work"
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

cat >sweep.ini <<'END'
[sweep]
backend     = sim
warmup      = 1
min_repeats = 4
max_repeats = 4

[sim]
machine = truth.ini

[networks]
networks = alexnet, vgg16, squeezenet1_1, resnet18, mobilenet_v2
batch    = 1..64*8
image    = 64, 128
ranks    = 1, 2, 8

[kernels]
networks = tiny.ini
limit    = 3

[collectives]
bytes      = 4KiB..64MiB*16
algorithms = default, ring
ranks      = 2, 4, 8
END

# seconds FILE: what a simulated machine was busy for, 5 times each step or all-reduce
seconds() {
    awk -F, '/^#/ { next } $1 == "kind" { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["phase"] == "step" || $1 != "network" { sum += 5 * $at["seconds"] } END { print sum + 0 }' "$1"
}

# points FILE: kind to algorithm of each point, in the order in which they were measured
points() {
    awk -F, '/^#/ { next } $1 == "kind" { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["phase"] == "step" || $1 != "network" {
            print $1, $at["name"], $at["input"], $at["batch"], $at["ranks"], $at["bytes"], $at["algorithm"], $at["geometry"]
        }' "$1"
}

# ---- within the budget, and most of it ---------------------------------------------------------
for budget in 1 5 20; do
    layermeter calibrate sweep.ini -o b$budget/ --budget ${budget}s --quiet 2>err || fail "$budget s: $(cat err)"
    spent=$(seconds b$budget/observations.csv)
    echo "budget $budget s: $(points b$budget/observations.csv | wc -l) points, $spent s"
    awk -v s="$spent" -v b=$budget 'BEGIN { exit !(s <= b && s > 0.7 * b) }' || fail "$budget s: $spent s were spent"
    grep -q "of a budget of $budget s: " b$budget/report.txt || fail "$(cat b$budget/report.txt)"
done
[ -z "$(points b20/observations.csv | sort | uniq -d)" ] || fail "a point was measured twice"

# What a formula uses goes first: rings of our own and single kernels only when nothing else fits.
points b5/observations.csv | awk '/^kernel/ || / ring / { late = 1; next } late { exit 1 }' ||
    fail "what no formula uses: $(points b5/observations.csv)"
# Every formula has its points after the first few seconds, and several networks.
awk -v model=counts -v mode=exact -f compare.awk truth.ini b5/machine.ini >found
[ "$(tail -n 1 found | cut -d' ' -f1,2)" = "12 0" ] || fail "coefficients after 5 s: $(cat found)"
[ "$(points b5/observations.csv | awk '$1 == "network" { print $2 }' | sort -u | wc -l)" -ge 3 ] ||
    fail "networks: $(points b5/observations.csv)"

# ---- what is asked for decides -----------------------------------------------------------------
# alone, nobody asks for an all-reduce: a sweep without several ranks measures none
sed -e '/^ranks    = 1, 2, 8/d' -e '/^.collectives/,$d' sweep.ini >alone.ini
layermeter calibrate alone.ini -o alone/ --budget 3s --for resnet50 --quiet 2>err || fail "$(cat err)"
grep -q 'lacks, for too few points, the parts: sync$' err || fail "$(cat err)"
grep -q '^Of resnet50; ' alone/report.txt || fail "$(cat alone/report.txt)"

# ---- more time ---------------------------------------------------------------------------------
# as much again, and three times as much: never wider
awk '/^What more time would buy/ { on = 1 } on && $1 ~ /^[0-9]+$/ { print $1, $3 }' b5/report.txt >more
[ "$(wc -l <more)" -eq 3 ] && awk 'NR > 1 && $2 > last { exit 1 } { last = $2 }
    NR == 2 && $1 != 5 { exit 1 } NR == 3 && $1 != 15 { exit 1 }' more || fail "$(cat b5/report.txt)"

# ---- enough for everything ---------------------------------------------------------------------
layermeter calibrate sweep.ini -o all.csv --quiet || fail "a sweep without a budget"
layermeter calibrate sweep.ini -o every/ --budget 1h --quiet || fail "a budget for everything"
points all.csv | sort >a
points every/observations.csv | sort | cmp - a || fail "a budget for everything leaves points"
grep -q 'Every point of this sweep is measured' every/report.txt || fail "$(cat every/report.txt)"

# ---- resumed: the budget is each run's own, and no point is measured twice ----------------------
layermeter calibrate sweep.ini -o b1/ --budget 5s --resume --quiet 2>err || fail "resumed: $(cat err)"
spent=$(seconds b1/observations.csv)
awk -v s="$spent" 'BEGIN { exit !(s <= 6 && s > 4) }' || fail "resumed: $spent s in all"
[ -z "$(points b1/observations.csv | sort | uniq -d)" ] || fail "resumed: a point was measured twice"

# ---- a dry run -----------------------------------------------------------------------------------
# with the machine's own coefficients it lists the points that are then measured, in turn; the networks are named, so that
# it does not depend on which ones are shipped
layermeter calibrate sweep.ini --for resnet50,vgg16 --dry-run --budget 5s --machine truth.ini --format csv >dry.csv 2>err ||
    fail "$(cat err)"
layermeter calibrate sweep.ini --for resnet50,vgg16 -o known/ --budget 5s --machine truth.ini --quiet ||
    fail "with a machine file"
points known/observations.csv >a
awk -F, 'NR > 1 { n++; sum += $NF } END { exit !(sum <= 5 && sum > 3.5 && n > 10) }' dry.csv || fail "$(cat dry.csv)"
awk -F, 'NR > 1' dry.csv | wc -l >n
awk -v a="$(wc -l <a)" '{ exit !($1 > 0.8 * a && $1 < 1.25 * a) }' n || fail "$(cat n) points listed, $(wc -l <a) measured"
grep -q "^$(cat n) points of 123 within 5 s (" err || fail "$(cat err)"
layermeter calibrate sweep.ini --dry-run --format json 2>err | tr -d ' \n' | grep -q '\[{"point":1,"kind":"network","what":' ||
    fail "JSON: $(layermeter calibrate sweep.ini --dry-run --format json | head)"
