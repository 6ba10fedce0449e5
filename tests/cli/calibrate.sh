#!/bin/sh
# layermeter-calibrate: its file survives whatever happens to the run, and no point is measured twice.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

# rows FILE: its data, without the head that tells the date
rows() {
    grep -v '^#' "$1"
}

{ simulated machine.ini; cat; } >small.ini <<'END'
[networks]
networks = tiny.ini, deep.ini
batch    = 1, 2
ranks    = 1, 2

[kernels]
networks = tiny.ini
limit    = 3

[collectives]
bytes = 4KiB, 8KiB
END

# ---- dry run -----------------------------------------------------------------------------------
layermeter-calibrate small.ini --dry-run -o dry.csv >listed || fail "dry run: $(cat listed)"
[ ! -e dry.csv ] || fail "a dry run writes a file"
grep -q '^13 points (8 networks, 3 kernels, 2 all-reduces), ' listed || fail "dry run: $(cat listed)"

# ---- overwriting -------------------------------------------------------------------------------
layermeter-calibrate small.ini -o full.csv --quiet || fail "a simulated sweep"
[ "$(rows full.csv | wc -l)" -eq $((1 + 4 * 4 + 4 * 5 + 3 + 2)) ] || fail "rows of a sweep: $(rows full.csv)"
cp full.csv kept.csv
why='full.csv: exists already: --resume continues it, --force replaces it'
refused "$why" layermeter-calibrate small.ini -o full.csv --quiet
cmp full.csv kept.csv || fail "a refused run changed the file"
layermeter-calibrate small.ini -o full.csv --quiet --resume || fail "resuming a finished run"
cmp full.csv kept.csv || fail "resuming a finished run changed the file"
cp tiny.ini forced.csv
layermeter-calibrate small.ini -o forced.csv --quiet --force || fail "--force"
rows full.csv >a; rows forced.csv | cmp - a || fail "--force is not a fresh run"
layermeter-calibrate small.ini -o fresh.csv --quiet --resume || fail "resuming without a file"
rows fresh.csv | cmp - a || fail "resuming without a file is not a fresh run"

# ---- another sweep -----------------------------------------------------------------------------
why='full.csv: is of another sweep (its points are others): --force replaces it, another -o keeps it'
sed 's/^batch .*/batch = 1, 3/' small.ini >other.ini
refused "$why" layermeter-calibrate other.ini -o full.csv --quiet --resume
why='another sweep (its repetitions are others)'
sed 's/^max_repeats .*/max_repeats = 2/' small.ini >other.ini
refused "$why" layermeter-calibrate other.ini -o full.csv --quiet --resume
why='another sweep (its sim are others)'
sed 's/^.sim./&\nseed = 7/' small.ini >other.ini
refused "$why" layermeter-calibrate other.ini -o full.csv --quiet --resume
why='another sweep (its points are others)' # nor below a head without rows
sed '/^kind,/q' full.csv >head.csv
sed 's/^batch .*/batch = 1, 3/' small.ini >other.ini
refused "$why" layermeter-calibrate other.ini -o head.csv --quiet --resume
cmp full.csv kept.csv || fail "a refused run changed the file"
# the same points in another order, and another text, are the same sweep; so is a budget
sed -e 's/^networks = tiny.ini, deep.ini/networks = deep.ini, tiny.ini/' -e 's/^batch .*/batch = 2,1/' small.ini >same.ini
layermeter-calibrate same.ini -o full.csv --quiet --resume || fail "the same sweep in another order"
layermeter-calibrate small.ini -o full.csv --quiet --resume --budget 1s || fail "the same sweep under a budget"
cmp full.csv kept.csv || fail "resuming a finished run changed the file"

# ---- all-reduces in buckets of another definition ----------------------------------------------
{ simulated machine.ini; printf '[networks]\nnetworks = tiny.ini\nbatch = 1,2\nranks = 2\nbucket = 1KiB\n'; } >buckets.ini
layermeter-calibrate buckets.ini -o behind.csv --quiet || fail "a sweep with buckets"
layermeter-calibrate buckets.ini -o behind.csv --quiet --resume || fail "resuming a sweep with buckets"
sed '/^# exposed: /d' behind.csv >earlier.csv
cp earlier.csv kept.csv
why='earlier.csv: its all-reduces in buckets begin with each rank.s own pass'
refused "$why" layermeter-calibrate buckets.ini -o earlier.csv --quiet --resume
cmp earlier.csv kept.csv || fail "a refused run changed the file"

# ---- other people's files ----------------------------------------------------------------------
cp observations.csv other.csv
why='other.csv:3: other columns'
refused "$why" layermeter-calibrate small.ini -o other.csv --quiet --resume
cmp other.csv observations.csv || fail "resuming changed a file of other columns"
why='binary'
printf '\000\001' >binary.csv
refused "$why" layermeter-calibrate small.ini -o binary.csv --quiet --resume
why='none/o.csv: No such file'
refused "$why" layermeter-calibrate small.ini -o none/o.csv --quiet

# ---- cut anywhere ------------------------------------------------------------------------------
# in the newline, the last row, the one before, a network's rows, the header, the provenance, at 0
size=$(wc -c <full.csv)
head=$(sed '/^kind,/q' full.csv | wc -c)
for cut in 1 2 3 20 150 500 1000 1500 2222 $((size - head)) $((size - head + 1)) $((size - head + 60)) \
    $((size - 100)) "$size"; do
    head -c $((size - cut)) full.csv >cut.csv
    layermeter-calibrate small.ini -o cut.csv --quiet --resume || fail "resuming a file cut by $cut bytes"
    rows cut.csv | cmp - a || fail "a file cut by $cut bytes is not completed"
done

# ---- killed ------------------------------------------------------------------------------------
{ simulated machine.ini; cat; } >long.ini <<'END'
[networks]
networks = tiny.ini, wide.ini, deep.ini
batch    = 1..150
ranks    = 1, 2, 4
END
layermeter-calibrate long.ini -o whole.csv --quiet || fail "a long run"
for wait_for in 40 400; do
    rm -f killed.csv
    layermeter-calibrate long.ini -o killed.csv --quiet &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ "$(cat killed.csv 2>/dev/null | wc -l)" -lt $wait_for ]; do :; done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    n=$(rows killed.csv | wc -l)
    [ "$n" -lt "$(rows whole.csv | wc -l)" ] || echo "note: the run was finished before it was killed"
    layermeter fit killed.csv -o killed.ini >out 2>&1 || fail "fit of a killed run: $(cat out)"
    layermeter-calibrate long.ini -o killed.csv --quiet --resume || fail "resuming a killed run"
    rows whole.csv >a; rows killed.csv | cmp - a || fail "a killed run is not completed"
    echo "killed after $n rows, completed"
done
