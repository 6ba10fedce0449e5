#!/bin/sh
# The native step under mpirun: buckets behind the backward pass, optimizers, polling and a thread. That
# sums are right the backend checks itself, of every bucket, and ends the run if not. Skipped (77)
# without mpirun or without the backends.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

# tiny.ini holds 3048 bytes of weights: 40 + 2560 of the last layer are one bucket at 1KiB, the other 448
# the second; at 1 byte there are four, at 1MiB there is one.
cat >sweep.ini <<'END'
[sweep]
backend     = onednn
collective  = mpi
warmup      = 1
min_repeats = 2
max_repeats = 2

[networks]
networks  = tiny.ini
batch     = 2
ranks     = 1, 2, 3
bucket    = 0, 1, 1KiB, 1MiB
optimizer = sgd, momentum, adam
progress  = poll, thread
END
command -v mpirun >/dev/null || skip "no mpirun"
layermeter-calibrate sweep.ini --dry-run >out 2>&1 || {
    grep -q 'this build has no backend' out && skip "$(cat out)"
    fail "$(cat out)"
}
many=
mpirun --oversubscribe -np 1 true >/dev/null 2>&1 && many=--oversubscribe
mpirun $many -np 3 true >out 2>&1 || skip "mpirun cannot start 3 ranks here: $(head -n 3 out)"

mpirun $many -np 3 layermeter-calibrate sweep.ini -o o.csv --quiet >out 2>&1 || fail "3 ranks: $(cat out)"
# phase optimizer bucket progress ranks, each once; disturbed points may be there again, under a flag
grep -v '^#' o.csv | awk -F, '
    $1 == "kind" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    {
        if (!($at["seconds"] > 0) || $at["status"] != "ok") { print "no time: " $0; failed = 1 }
        how = $at["settings"]; sub(/.*progress=/, "", how)
        seen[$at["phase"] " " $at["optimizer"] " " $at["bucket_bytes"] " " how " " $at["ranks"]]++
        step[NR] = $at["phase"] == "step" && $at["bucket_bytes"] != "" ? $at["seconds"] : 0
    }
    function want(what) { n_wanted++; if (!seen[what]) { print what ": is not there"; failed = 1 } }
    END {
        n_p = split("forward backward update step sync", phase, " ")
        n_o = split("sgd momentum adam", optimizer, " ")
        n_b = split("1 1024 1048576", bucket, " ")
        for (p = 1; p <= n_p; p++)
            for (o = 1; o <= n_o; o++) {
                if (phase[p] != "sync") want(phase[p] " " optimizer[o] "   1")
                for (r = 2; r <= 3; r++) {
                    want(phase[p] " " optimizer[o] "   " r)
                    for (b = 1; b <= n_b; b++) {
                        want(phase[p] " " optimizer[o] " " bucket[b] " poll " r)
                        want(phase[p] " " optimizer[o] " " bucket[b] " thread " r)
                    }
                }
            }
        for (s in seen) n++
        if (n != n_wanted) { print n " things measured, " n_wanted " wanted"; failed = 1 }
        exit failed
    }' || fail "$(grep -v '^#' o.csv)"
layermeter fit o.csv -o m.ini >out 2>&1 || fail "$(cat out)"

# Only what the exchange cannot do is left out, and says why.
sed -e 's/^ranks .*/ranks = 2/' -e '/^optimizer/d' -e '/^progress/d' -e 's/^bucket .*/bucket = 0, 1KiB/' \
    -e 's/^backend .*/backend = sim/' -e '/^collective/d' sweep.ini >sim.ini
cat >>sim.ini <<'END'

[sim]
machine = machine.ini
model   = convmeter
END
layermeter-calibrate sim.ini -o s.csv >out 2>&1 || fail "$(cat out)"
grep -q "model 'convmeter' knows no all-reduce apart from the update: its buckets" out || fail "$(cat out)"
[ "$(grep -c 'skipped-unsupported' s.csv)" -eq 1 ] || fail "$(cat s.csv)"
