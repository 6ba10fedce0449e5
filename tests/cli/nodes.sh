#!/bin/sh
# Nodes and devices of a sweep under mpirun: two daemons of Open MPI on this machine are two hosts to it,
# with two ranks each. Skipped (77) without Open MPI or without the backends.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cd "$work" || exit 1

mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip "no Open MPI"

cat >sweep.ini <<'END'
[sweep]
backend     = onednn
collective  = mpi
warmup      = 0
min_repeats = 2
max_repeats = 2

[collectives]
bytes      = 4KiB
algorithms = default, nonblocking, ring
nodes      = 1..3
devices    = 1..3
ranks      = 2, 3
END
layermeter-calibrate sweep.ini --dry-run >out 2>&1
grep -q 'this build has no backend' out && skip "$(cat out)"
grep -q "nothing to measure: every point needs other ranks than the 1 that there is ('mpirun -np N' starts N)" out || fail "$(cat out)"

two_hosts
on_hosts 2 slot true >out 2>&1 || skip "mpirun cannot start two daemons here: $(head -n 3 out)"

# ranks and hosts of what was measured, as "ranks@hosts", each once an algorithm
measured() {
    awk -F, '/^#/ { next } $1 == "kind" { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["status"] == "ok" && $at["seconds"] > 0 { print $at["algorithm"] " " $at["ranks"] "@" $at["hosts"] }' "$1" |
        sort | tr '\n' ','
}

on_hosts 2 slot layermeter-calibrate sweep.ini -o slot.csv --quiet >out 2>&1 || fail "filled one after the other: $(cat out)"
grep -q '^# ranks: 4 on 2 hosts' slot.csv || fail "hosts: $(grep '^# ranks' slot.csv)"
# ranks = 2 is one host with both of its ranks: the same point as nodes = 1, devices = 2
want=
for algorithm in default nonblocking ring; do
    for on in 2@1 2@2 3@2 4@2; do want="$want$algorithm $on,"; done
done
[ "$(measured slot.csv)" = "$want" ] || fail "filled one after the other: $(measured slot.csv)"

# dealt round, the first two ranks are on two hosts
on_hosts 2 node layermeter-calibrate sweep.ini -o node.csv --quiet >out 2>&1 || fail "dealt round: $(cat out)"
[ "$(measured node.csv)" = "$want" ] || fail "dealt round: $(measured node.csv)"

# all that the file holds is known again
cp slot.csv before.csv
on_hosts 2 slot layermeter-calibrate sweep.ini -o slot.csv --quiet --resume >out 2>&1 || fail "resume: $(cat out)"
cmp slot.csv before.csv || fail "measured again: $(diff before.csv slot.csv)"

# what another program measured in another way is not gone on with
sed 's/^# collective: .*/# collective: MPI_Allreduce of what caches hold/' before.csv >slot.csv
cp slot.csv before.csv
on_hosts 2 slot layermeter-calibrate sweep.ini -o slot.csv --quiet --resume >out 2>&1 && fail "resumed what was measured in another way"
grep -q 'slot.csv: its all-reduces were measured in another way' out || fail "measured in another way: $(cat out)"
cmp slot.csv before.csv || fail "a refused run changed the file"
