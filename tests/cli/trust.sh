#!/bin/sh
# What a run says of its own numbers: disturbed points are flagged and measured again, a machine that
# changes is seen, on a simulated machine; and on this one, beside a process that takes its core.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

cat >busy.ini <<'END'
[sweep]
backend        = sim
warmup         = 0
min_repeats    = 3
max_repeats    = 3
retry_share    = 1
anchor_share   = 0.1
anchor_seconds = 150us

[sim]
machine    = machine.ini
busy_from  = 1ms
busy_until = 3ms

[networks]
networks = tiny.ini, deep.ini, wide.ini
batch    = 1..8
END

# points FILE: name, batch, flags of each step, in the file's order
points() {
    awk -F, '/^#/ { next } !n++ { for (i = 1; i <= NF; i++) at[$i] = i; next }
             $at["phase"] == "step" { print $at["name"], $at["batch"], $at["flags"] }' "$1"
}

# value FILE NAME BATCH FLAGS: seconds of that step
value() {
    awk -F, -v name="$2" -v batch="$3" -v flags="$4" '
        /^#/ { next } !n++ { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["phase"] == "step" && $at["name"] == name && $at["batch"] == batch && $at["flags"] == flags {
            print $at["seconds"] }' "$1"
}

# ---- somebody takes half the core for two milliseconds -------------------------------------------
layermeter-calibrate busy.ini -o busy.csv >out 2>&1 || fail "a busy machine: $(cat out)"
grep -q 'tiny.ini 3x8x8 batch 3, 1 rank: 0.323 ms (contended)' out || fail "not said: $(cat out)"
grep -q '^\[again\] tiny.ini 3x8x8 batch 3, 1 rank: 0.161 ms$' out || fail "not measured again: $(cat out)"
grep -q '^disturbed: 2 of 24 points, 2 measured again, 0 still so$' out || fail "$(cat out)"
points busy.csv >p
[ "$(grep -c contended p)" -eq 2 ] && [ "$(grep -vc 'anchor' p)" -eq 26 ] || fail "both rows are not kept: $(cat p)"
awk -v a="$(value busy.csv tiny.ini 3 contended)" -v b="$(value busy.csv tiny.ini 3 '')" \
    'BEGIN { exit !(a / b > 1.999 && a / b < 2.001) }' || fail "the time without contention: $(cat p)"
[ "$(grep -n contended p | tail -n 1 | cut -d: -f1)" -lt "$(grep -n wide.ini p | head -n 1 | cut -d: -f1)" ] &&
    [ "$(grep -n '^tiny.ini 3 $' p | cut -d: -f1)" -gt "$(grep -n '^wide.ini 8 $' p | cut -d: -f1)" ] ||
    fail "again is not after all others: $(cat p)"
layermeter fit busy.csv -o m.ini >/dev/null 2>err || fail "$(cat err)"
grep -q 'busy.csv: 2 flagged points are left out' err || fail "fit: $(cat err)"
grep -q '^noise_floor' m.ini || fail "no noise floor in $(cat m.ini)"

# No retries: the flagged rows alone, which a later run with retries measures again.
sed 's/^retry_share.*/retries = 0/' busy.ini >once.ini
layermeter-calibrate once.ini -o once.csv --quiet >out 2>&1 || fail "$(cat out)"
[ "$(points once.csv | grep -vc anchor)" -eq 24 ] || fail "measured again without retries"
cp once.csv kept.csv
layermeter-calibrate once.ini -o once.csv --quiet --resume >out 2>&1 || fail "$(cat out)"
cmp once.csv kept.csv || fail "retries are used up, and still it is measured again"
layermeter fit once.csv -o m.ini >/dev/null 2>err || fail "$(cat err)"
grep -q 'once.csv: 2 points are used that are flagged' err || fail "fit: $(cat err)"
sed '/^busy_/d' busy.ini >quiet.ini
layermeter-calibrate quiet.ini -o once.csv --quiet --resume >out 2>&1 || fail "$(cat out)"
[ "$(points once.csv | grep -v anchor | grep -vc contended)" -eq 24 ] || fail "resumed: $(points once.csv)"

# Cut anywhere and resumed: each point has a good row, and no more rows than tries.
lines=$(wc -l <busy.csv)
for kept in $((lines - 3)) $((lines - 20)) $((lines - 70)) $((lines - 90)); do
    head -n "$kept" busy.csv >cut.csv
    layermeter-calibrate quiet.ini -o cut.csv --quiet --resume >out 2>&1 || fail "$(cat out)"
    points cut.csv | grep -v anchor | grep -v contended | sort >a
    points busy.csv | grep -v anchor | grep -v contended | sort | cmp - a || fail "cut to $kept lines: $(cat a)"
done

# ---- the machine gets slower --------------------------------------------------------------------
sed '/^busy_/d; s/^machine.*/&\ndrift = 2/' busy.ini >drift.ini
layermeter-calibrate drift.ini -o drift.csv >out 2>&1 || fail "$(cat out)"
grep -Eq '^drift: \+[0-9.]+ % over the run, \+- [0-9.]+ % \(anchor measured [0-9]+ times\)$' out || fail "$(cat out)"
grep -Eq '^drift: [0-9]+ rows are flagged drifted' out || fail "$(cat out)"
points drift.csv >p
grep -q '^tiny.ini 1 drifted$' p && grep -q '^wide.ini 8 drifted$' p && grep -q '^deep.ini 7 $' p ||
    fail "the slow end and the fast beginning: $(cat p)"
cp drift.csv kept.csv
layermeter-calibrate drift.ini -o drift.csv --quiet --resume || fail "resuming a reviewed file"
cmp drift.csv kept.csv || fail "a reviewed file is reviewed once more"
sed 's/^drift.*//' drift.ini >steady.ini
layermeter-calibrate steady.ini -o steady.csv >out 2>&1 || fail "$(cat out)"
grep -q '^drift: +0.0 % over the run' out && ! grep -q drifted steady.csv || fail "a steady machine: $(cat out)"

# ---- this machine --------------------------------------------------------------------------------
skip_rest() {
    echo "passed over: $*"
    exit 0
}
command -v taskset >/dev/null || skip_rest "no taskset"
[ "$(nproc)" -gt 1 ] || skip_rest "one core"
[ -r /proc/self/schedstat ] || skip_rest "this system does not tell who waits for a core"
core=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
cat >real.ini <<'END'
[sweep]
backend     = onednn
warmup      = 1
min_repeats = 3
max_repeats = 3
retry_share = 10
retries     = 1

[networks]
networks = wide.ini
batch    = 256
image    = 64
END
taskset -c "$core" layermeter-calibrate real.ini --dry-run >out 2>&1 || {
    grep -q 'this build has no backend' out && skip_rest "$(cat out)"
    fail "$(cat out)"
}
# it ends by itself, should nobody end it
taskset -c "$core" timeout 100 sh -c 'while :; do :; done' &
spinner=$!
taskset -c "$core" layermeter-calibrate real.ini -o real.csv >out 2>&1
status=$?
kill "$spinner"
wait "$spinner" 2>/dev/null
[ "$status" -eq 0 ] || fail "$(cat out)"
[ "$(points real.csv | grep -c contended)" -eq 2 ] || fail "beside another process: $(cat out; points real.csv)"
grep -q '^disturbed: 1 of 1 point, 1 measured again, 1 still so$' out || fail "$(cat out)"
