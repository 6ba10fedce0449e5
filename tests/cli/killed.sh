#!/bin/sh
# A calibration that is killed at random moments, each time gone on with: the same set of points as of one that nobody
# disturbed, none twice, and none of those lost that it had told of. Simulated, and on two real ranks of which one, the other or
# all are killed; the latter needs mpirun and the backends.
#
# Simulated, with noise, the rows are those of the undisturbed run to the last digit, and so is what is fitted to them.
#
# LAYERMETER_TEST_SEED   of the moments
# LAYERMETER_TEST_KILLS  how many [10]; given, also of simulated times on two real ranks
. "$(dirname -- "$0")/common.sh"
need_calibrate
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

seed=${LAYERMETER_TEST_SEED:-1}
kills=${LAYERMETER_TEST_KILLS:-10}
echo "seed $seed"

# keys FILE: its points, once each row that ends one, in lines that are whole
keys() {
    head -n "$(cat "$1" 2>/dev/null | wc -l)" "$1" 2>/dev/null | awk -F, '
        /^#/ { next }
        $1 == "kind" { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $1 != "network" || $at["phase"] == "step" {
            key = ""
            for (i = 1; i <= NF; i++)
                if (i != at["seconds"] && i != at["min_seconds"] && i != at["p95_seconds"] && i != at["cpu_seconds"] &&
                    i != at["repeats"] && i != at["clock_mhz"] && i != at["power_w"] && i != at["flags"])
                    key = key "," $i
            print key
        }' | sort
}

# seconds: since some day, with a fraction
seconds() {
    date +%s.%N
}

gone() {
    ! kill -0 "$1" 2>/dev/null || [ "$(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null)" = Z ]
}

# moment N: the N-th of the random moments, between 0 and $span seconds
moment() {
    awk -v seed="$seed" -v n="$1" -v span="$span" 'BEGIN {
        x = seed
        for (i = 0; i < n + 3; i++) x = (x * 16807) % 2147483647
        print x / 2147483647 * span
    }'
}

# begun: the run tells of its first point, or is over
begun() {
    while kill -0 $run 2>/dev/null && ! grep -q '^\[[0-9]*/' out; do sleep 0.02; done
}

# kill_often NAME SWEEP COMMAND...: runs COMMAND SWEEP -o FILE
kill_often() {
    name=$1
    sweep=$2
    shift 2
    "$@" "$sweep" -o "$name.whole.csv" >out 2>&1 &
    run=$!
    begun
    began=$(seconds)
    wait $run || fail "$name, undisturbed: $(cat out)"
    # all runs together get along by ten twelfths of it, on average
    span=$(awk -v a="$began" -v b="$(seconds)" -v n="$kills" 'BEGIN { print (b - a) * 20 / 12 / n }')
    keys "$name.whole.csv" >whole
    [ "$(uniq -d whole | wc -l)" -eq 0 ] || fail "$name: measured twice, undisturbed"
    n_whole=$(cat whole | wc -l)
    file=$name.csv
    for round in $(seq "$kills"); do
        before=$(keys "$file" | wc -l)
        "$@" "$sweep" -o "$file" --resume >out 2>&1 &
        run=$!
        [ $((round % 5)) -eq 3 ] || begun # or while it starts
        sleep "$(moment $round)"
        ranks=$(cat "/proc/$run/task/$run/children" 2>/dev/null)
        case $1,$((round % 3)) in
        mpirun,0) kill -KILL ${ranks%% *} 2>/dev/null ;;
        mpirun,1) kill -KILL ${ranks#* } 2>/dev/null ;;
        *) kill -KILL $run $ranks 2>/dev/null ;; # what a process alone started is Open MPI's
        esac
        wait $run 2>/dev/null
        for rank in $ranks; do
            while ! gone "$rank"; do sleep 0.05; done
        done
        keys "$file" >part
        n=$(cat part | wc -l)
        told=$(grep -c '^\[[0-9]*/[0-9]*\] ' out)
        [ -z "$(uniq -d part)" ] || fail "$name: measured twice: $(uniq -d part)"
        [ -z "$(comm -13 whole part)" ] || fail "$name: nobody asked for: $(comm -13 whole part)"
        [ "$n" -ge $((before + told)) ] || fail "$name: held $before points, told of $told more, and holds $n"
        [ "$n" -le $((before + told + 1)) ] || fail "$name: held $before points, told of $told more, but holds $n"
        echo "$name: killed with $n of $n_whole points"
    done
    "$@" "$sweep" -o "$file" --resume >out 2>&1 || fail "$name, at last: $(cat out)"
    keys "$file" | cmp - whole || fail "$name: not the points of an undisturbed run"
}

{ simulated machine.ini; cat; } >sim.ini <<'END'
[networks]
networks = tiny.ini, wide.ini, deep.ini
batch    = 1..200
ranks    = 1, 2, 4

[kernels]
networks = tiny.ini, deep.ini

[collectives]
bytes = 4KiB..1MiB*2
END
sed -i 's/^\[sim\]/&\nnoise = 0.02/' sim.ini
# same_rows NAME: simulated times are the same, whoever measures them, and so are prices: but for where and when, the files are one
same_rows() {
    grep -v '^#' "$1.whole.csv" | sort >a
    grep -v '^#' "$1.csv" | sort | cmp - a || fail "$1: the rows of a run that was killed"
    for file in "$1.whole" "$1"; do
        layermeter fit "$file.csv" -o "$file.m.ini" >/dev/null 2>&1 || fail "$file.csv cannot be fitted"
        sed '/^checksum/d; /^\[provenance\]/,/^$/d' "$file.m.ini" >"$file.prices"
    done
    cmp "$1.whole.prices" "$1.prices" || fail "$1: prices of a run that was killed"
    echo "$1: $kills kills, rows and prices as of the undisturbed run"
}

kill_often sim sim.ini layermeter-calibrate
same_rows sim

# The time of day jumps by up to a day, back and forth, whenever somebody looks: rows and prices are the same. What is preloaded
# comes before a sanitizer's library, which it then refuses.
if [ -n "${JUMPING_CLOCK:-}" ] && [ "${SANITIZED:-OFF}" = OFF ]; then
    kills="0 (the clock jumped)"
    rm -f sim.csv
    LD_PRELOAD=$JUMPING_CLOCK layermeter-calibrate sim.ini -o sim.csv >out 2>&1 || fail "the clock jumps: $(cat out)"
    same_rows sim
    kills=${LAYERMETER_TEST_KILLS:-10}
fi

sed -e 's/= sim$/= onednn\ncollective  = mpi\nretries = 0\nanchor_share = 0/' -e '/^.sim/,/^$/d' -e 's/^batch .*/batch = 1..150/' -e 's/, wide.ini, deep.ini//' \
    -e 's/1, 2, 4/1, 2/' sim.ini >mpi.ini
command -v mpirun >/dev/null || { echo "note: no mpirun"; exit; }
layermeter-calibrate mpi.ini --dry-run >out 2>&1 || {
    grep -q 'this build has no backend' out && { echo "note: $(cat out)"; exit; }
    fail "$(cat out)"
}
many=
mpirun --oversubscribe -np 1 true >/dev/null 2>&1 && many=--oversubscribe
mpirun $many -np 2 true >out 2>&1 || { echo "note: mpirun cannot start 2 ranks here"; exit; }
# simulated times on real ranks, of which one, the other or all are killed; it takes minutes, so only where kills are asked for
[ -z "${LAYERMETER_TEST_KILLS:-}" ] || {
    sed -e 's/^batch .*/batch = 1..40/' -e 's/1, 2, 4/1, 2/' sim.ini >ranks.ini
    kill_often ranks ranks.ini mpirun $many -np 2 layermeter-calibrate
    same_rows ranks
}
kill_often mpi mpi.ini mpirun $many -np 2 layermeter-calibrate
