#!/bin/sh
# Every shipped sweep: its networks can be bound, its layers drawn, and it has points. On simulated hardware, since a build
# need not have the backend that a sweep is for.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cp "$here/inputs/machine.ini" "$work" && cd "$work" || exit 1

for sweep in "${LAYERMETER_SOURCE:?}"/configs/sweeps/*.ini; do
    name=$(basename "$sweep" .ini)
    # simulated ranks are as many as are asked for; settings are those of the backend that is not there
    sed -e 's/^backend .*/backend = sim/; /^collective /d; /^layout /d; /^math /d; /^cache /d; /^launch /d; /^update /d' \
        -e '/^algorithms *= *\(heuristic\|autotuned\)/d' "$sweep" >"$name.ini"
    printf '\n[sim]\nmachine = machine.ini\n' >>"$name.ini"
    layermeter-calibrate "$name.ini" --dry-run >"$name.txt" 2>err || fail "$name: $(cat err)"
    tail -n 1 "$name.txt" | sed "s/^/$name: /"
    # the same points on every machine: random layers, too
    layermeter-calibrate "$name.ini" --dry-run | cmp -s - "$name.txt" || fail "$name: other points the second time"
    grep -q "\`$name.ini\`" "${LAYERMETER_SOURCE:?}/configs/sweeps/README.md" || fail "$name.ini: not in the table of sweeps"
done

# What layers.ini drew when this was written. A change here is a change of what a sweep means.
layermeter-calibrate layers.ini -o layers.csv --quiet || fail "layers.ini on simulated hardware"
sum=$(grep '^layer,' layers.csv | grep ',step,' | cut -d, -f2,4,5,11,12 | cksum)
[ "$sum" = "444649391 13580" ] || fail "layers.ini draws other layers than it did: $sum"
