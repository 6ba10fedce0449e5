#!/bin/sh
# layermeter-calibrate under mpirun: real backends on 1 and 2 ranks, and a killed run. Skipped (77)
# without mpirun or without the backends.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

cat >sweep.ini <<'END'
[sweep]
backend     = onednn
collective  = mpi
warmup      = 1
min_repeats = 2
max_repeats = 3
max_seconds = 0.1
retries      = 0
anchor_share = 0

[networks]
networks = tiny.ini
image    = 8, 16
batch    = 2
ranks    = 1, 2

[collectives]
bytes      = 4KiB, 256KiB
algorithms = default, ring
ranks      = 2
END

command -v mpirun >/dev/null || skip "no mpirun"
# alone there are no points for 2 ranks, but the backends are opened
layermeter-calibrate sweep.ini --dry-run >out 2>&1 || {
    grep -q 'this build has no backend' out && skip "$(cat out)"
    fail "$(cat out)"
}
# Open MPI counts cores and wants to be told; others do not know the word
many=
mpirun --oversubscribe -np 1 true >/dev/null 2>&1 && many=--oversubscribe
mpirun $many -np 2 true >out 2>&1 || skip "mpirun cannot start 2 ranks here: $(head -n 3 out)"

mpirun $many -np 2 layermeter-calibrate sweep.ini -o o.csv --quiet >out 2>&1 || fail "2 ranks: $(cat out)"

# Every point has all of its phases once, positive; sync with 2 ranks only.
awk -F, '
    /^#/ { next }
    $1 == "kind" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    {
        phase = $at["phase"]; ranks = $at["ranks"]
        if (!($at["seconds"] > 0) || $at["status"] != "ok") bad("no time")
        if (!($at["min_seconds"] <= $at["seconds"] && $at["seconds"] <= $at["p95_seconds"])) bad("order of times")
        if ($at["kind"] == "network") {
            seen[$at["input"] " " ranks " " phase]++
            if (phase != "step") { low[$at["input"] " " ranks] += $at["min_seconds"]; high[$at["input"] " " ranks] += $at["p95_seconds"] }
            if (phase == "step") step[$at["input"] " " ranks] = $at["min_seconds"]
        } else {
            seen[$at["algorithm"] " " $at["bytes"] " " ranks " " phase]++
        }
    }
    function bad(why) { print FNR ": " why ": " $0; failed = 1 }
    function want(what) { n_wanted++; if (seen[what] != 1) { print what ": " seen[what] + 0 " times"; failed = 1 } }
    END {
        split("3x8x8 3x16x16", input, " "); split("forward backward update step", phases, " ")
        for (i = 1; i <= 2; i++)
            for (r = 1; r <= 2; r++) {
                for (p = 1; p <= 4; p++) want(input[i] " " r " " phases[p])
                if (r == 2) want(input[i] " " r " sync")
                # the least sum is no less than the sum of the least, and no more than that of the largest,
                # which of 2 and 3 repetitions is at most 1 / 0.9 of the 95th percentile, between them; of two
                # ranks one may be the slower forward and the other backward: the largest sum is less then
                at_step = step[input[i] " " r]
                if (!(at_step > (r == 1 ? 0.999 : 0.5) * low[input[i] " " r] && at_step < 1.12 * high[input[i] " " r])) {
                    print "step and phases: " low[input[i] " " r], at_step, high[input[i] " " r]; failed = 1
                }
            }
        split("default ring", algorithm, " ")
        for (a = 1; a <= 2; a++) { want(algorithm[a] " 4096 2 sync"); want(algorithm[a] " 262144 2 sync") }
        for (s in seen) n++
        if (n != n_wanted) { print n " things measured, " n_wanted " wanted"; failed = 1 }
        exit failed
    }' o.csv || fail "$(grep -v '^#' o.csv)"
grep -q '^# ranks: 2 on 1 host' o.csv || fail "the ranks are not written down"
layermeter fit o.csv -o m.ini >out 2>&1 || fail "$(cat out)"

# What goes wrong on every rank is said once.
mpirun $many -np 2 layermeter-calibrate none.ini -o p.csv >out 2>&1 && fail "a missing sweep"
[ "$(grep -c 'none.ini: No such file' out)" -eq 1 ] || fail "$(cat out)"
mpirun $many -np 2 layermeter-calibrate sweep.ini -o o.csv >out 2>&1 && fail "overwriting"
[ "$(grep -c 'o.csv: exists already' out)" -eq 1 ] || fail "$(cat out)"

# Nor is a file gone on with on another machine.
grep -q '^# machine_fingerprint: hosts=1 cores=' o.csv || fail "$(grep '^#' o.csv)"
sed 's/^\(# machine_fingerprint: hosts=1 cores=\)/\19/' o.csv >moved.csv
mpirun $many -np 2 layermeter-calibrate sweep.ini -o moved.csv --resume >out 2>&1 && fail "another machine"
[ "$(grep -c 'moved.csv: was measured on another machine (cores differ): --force replaces it' out)" -eq 1 ] ||
    fail "$(cat out)"

# A killed job leaves a file that loads, and is resumed.
sed -e 's/^batch .*/batch = 1..24/' -e '/^.collectives/,$d' sweep.ini >long.ini
mpirun $many -np 2 layermeter-calibrate long.ini -o killed.csv --quiet >out 2>&1 &
pid=$!
while kill -0 $pid 2>/dev/null && [ "$(cat killed.csv 2>/dev/null | wc -l)" -lt 60 ]; do sleep 0.05; done
ranks=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
kill -9 $pid $ranks 2>/dev/null
wait $pid 2>/dev/null
for rank in $ranks; do
    while kill -0 "$rank" 2>/dev/null; do sleep 0.05; done
done
layermeter fit killed.csv -o m.ini >out 2>&1 || fail "fit of a killed job: $(cat out)"
cp killed.csv before.csv
mpirun $many -np 2 layermeter-calibrate long.ini -o killed.csv --quiet --resume >out 2>&1 || fail "$(cat out)"
layermeter validate killed.csv >out 2>&1 || fail "$(cat out)"
# kind to hosts, and the algorithm: each once
twice=$(grep -v '^#' killed.csv | cut -d, -f1-10 | sort | uniq -d)
[ -z "$twice" ] || fail "measured twice: $twice"
for input in 3x8x8 3x16x16; do
    for batch in 1 3 5; do
        [ "$(grep -c "^network,tiny.ini,[a-z]*,$input,$batch,f32," killed.csv)" -eq 9 ] ||
            fail "batch $batch of $input is not complete"
    done
done
echo "killed after $(grep -vc '^#' before.csv) rows, resumed"

# Whoever asks for several ranks must say who runs their all-reduce: known before anything is measured.
grep -v '^collective ' sweep.ini | sed '/^.collectives/,$d' >alone.ini
mpirun $many -np 2 layermeter-calibrate alone.ini -o alone.csv --quiet >out 2>&1 && fail "no collective"
[ "$(grep -c "alone.ini: points on 2 ranks need 'collective = mpi'" out)" -eq 1 ] || fail "$(cat out)"
[ ! -e alone.csv ] || fail "a refused sweep left a file"

# Ranks on hosts that do not share the folder: rank 0 alone knows what is there.
mkdir -p elsewhere
cp ./*.ini elsewhere/
head -n $(($(grep -n '^kind' o.csv | cut -d: -f1) + 4)) o.csv >part.csv
timeout 120 mpirun $many -np 1 -wdir "$work" layermeter-calibrate sweep.ini -o part.csv --resume --quiet : \
    -np 1 -wdir "$work/elsewhere" layermeter-calibrate sweep.ini -o part.csv --resume --quiet >out 2>&1 ||
    fail "resume from rank 0's folder: $(cat out)"
[ "$(grep -vc '^#' part.csv)" -eq "$(grep -vc '^#' o.csv)" ] || fail "resumed rows: $(cat part.csv)"

# A rank that cannot get memory makes the point skipped, on all ranks, and the run goes on.
if [ -z "$(find "$LAYERMETER_BIN" -name layermeter-calibrate -exec grep -l __asan_init {} +)" ]; then
    sed -e 's/^batch .*/batch = 4096/' -e 's/^image .*/image = 64/' -e 's/^ranks .*/ranks = 2/' sweep.ini >big.ini
    limit=900000 # kB; NCCL alone takes 200 MB of addresses
    ldd "$LAYERMETER_BIN/layermeter-calibrate" | grep -q libnccl && limit=1400000
    timeout 120 mpirun $many -np 1 layermeter-calibrate big.ini -o big.csv --quiet : \
        -np 1 sh -c "ulimit -v $limit; exec layermeter-calibrate big.ini -o big.csv --quiet" >out 2>&1 ||
        fail "a rank without memory: $(cat out)"
    grep -q 'skipped-memory' big.csv || fail "no point was skipped: $(cat big.csv)"
fi

# Every kind of collective, its results verified; a fit of them answers for each by itself.
cat >kinds.ini <<'END'
[sweep]
backend     = onednn
collective  = mpi
warmup      = 1
min_repeats = 2
max_repeats = 2
retries      = 0
anchor_share = 0

[collectives]
kinds = all-reduce, all-gather, reduce-scatter, all-to-all, send-recv, broadcast
bytes = 1KiB, 64KiB
ranks = 2
END
mpirun $many -np 2 layermeter-calibrate kinds.ini -o kinds.csv --quiet >out 2>&1 || fail "kinds: $(cat out)"
layermeter fit kinds.csv -o kinds-machine.ini >out 2>&1 || fail "$(cat out)"
for kind in allreduce allgather reducescatter alltoall sendrecv broadcast; do
    [ "$(grep -c "^collective,$kind,.*,ok$" kinds.csv)" -eq 2 ] || fail "$kind: $(grep -v '^#' kinds.csv)"
    grep -q "^.$kind.default.one.$" kinds-machine.ini || fail "$kind: $(cat kinds-machine.ini)"
done
