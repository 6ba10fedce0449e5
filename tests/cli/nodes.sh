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

# What should start a daemon on another host starts it here. Two that start at the same moment on one machine
# meet in files they take for their own: of Open MPI 4.1.4's launches, one in five then dies or waits for ever. So
# the second comes later, and a launch that has started no rank in half a minute is made again.
printf '#!/bin/sh\n[ "$1" = n1 ] || sleep 1\nshift\nexec /bin/sh -c "$*"\n' >here
chmod +x here
# Shared memory of two "hosts" would collide.
launch() {
    layout=$1
    shift
    exec timeout 240 mpirun --oversubscribe --map-by "$layout" --host n1:2,n2:2 -np 4 --mca plm_rsh_agent "$work/here" \
        --mca plm_rsh_no_tree_spawn 1 --mca btl tcp,self --mca mpi_yield_when_idle 1 \
        sh -c 'touch "$0" && exec "$@"' "$work/started" "$@"
}
on_hosts() {
    for attempt in 1 2 3; do
        rm -f started
        launch "$@" &
        launched=$!
        for second in $(seq 30); do
            [ ! -e started ] && kill -0 $launched 2>/dev/null || break
            sleep 1
        done
        [ -e started ] || kill $launched 2>/dev/null
        wait $launched
        status=$?
        [ ! -e started ] || return $status
        echo "launch $attempt started no rank: exit status $status"
    done
    return 1
}
on_hosts slot true >out 2>&1 || skip "mpirun cannot start two daemons here: $(head -n 3 out)"

# ranks and hosts of what was measured, as "ranks@hosts", each once an algorithm
measured() {
    awk -F, '/^#/ { next } $1 == "kind" { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["status"] == "ok" && $at["seconds"] > 0 { print $at["algorithm"] " " $at["ranks"] "@" $at["hosts"] }' "$1" |
        sort | tr '\n' ','
}

on_hosts slot layermeter-calibrate sweep.ini -o slot.csv --quiet >out 2>&1 || fail "filled one after the other: $(cat out)"
grep -q '^# ranks: 4 on 2 hosts' slot.csv || fail "hosts: $(grep '^# ranks' slot.csv)"
# ranks = 2 is one host with both of its ranks: the same point as nodes = 1, devices = 2
want=
for algorithm in default nonblocking ring; do
    for on in 2@1 2@2 3@2 4@2; do want="$want$algorithm $on,"; done
done
[ "$(measured slot.csv)" = "$want" ] || fail "filled one after the other: $(measured slot.csv)"

# dealt round, the first two ranks are on two hosts
on_hosts node layermeter-calibrate sweep.ini -o node.csv --quiet >out 2>&1 || fail "dealt round: $(cat out)"
[ "$(measured node.csv)" = "$want" ] || fail "dealt round: $(measured node.csv)"

# all that the file holds is known again
cp slot.csv before.csv
on_hosts slot layermeter-calibrate sweep.ini -o slot.csv --quiet --resume >out 2>&1 || fail "resume: $(cat out)"
cmp slot.csv before.csv || fail "measured again: $(diff before.csv slot.csv)"

# what another program measured in another way is not gone on with
sed 's/^# collective: .*/# collective: MPI_Allreduce of what caches hold/' before.csv >slot.csv
cp slot.csv before.csv
on_hosts slot layermeter-calibrate sweep.ini -o slot.csv --quiet --resume >out 2>&1 && fail "resumed what was measured in another way"
grep -q 'slot.csv: its all-reduces were measured in another way' out || fail "measured in another way: $(cat out)"
cmp slot.csv before.csv || fail "a refused run changed the file"
