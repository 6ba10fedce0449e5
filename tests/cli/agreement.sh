#!/bin/sh
# Ranks that do not fit together are refused before anything is measured: other hardware, other plugins, other sweeps, other
# builds. Hosts, cores and what is crowded are written down. Skipped (77) without mpirun or without the backends.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

cat >sweep.ini <<'END'
[sweep]
backend     = onednn
collective  = mpi
warmup      = 0
min_repeats = 1
max_repeats = 1

[networks]
networks = tiny.ini
ranks    = 1, 2
END
command -v mpirun >/dev/null || skip "no mpirun"
layermeter-calibrate sweep.ini --dry-run >out 2>&1 || {
    grep -q 'this build has no backend' out && skip "$(cat out)"
    fail "$(cat out)"
}
many=
mpirun --oversubscribe -np 1 true >/dev/null 2>&1 && many=--oversubscribe
mpirun $many -np 2 true >out 2>&1 || skip "mpirun cannot start 2 ranks here: $(head -n 3 out)"
host=$(hostname)

# two COMMAND...: rank 1 by this, rank 0 plainly
two() {
    rm -f o.csv
    timeout 120 mpirun $many -np 1 layermeter-calibrate sweep.ini -o o.csv --quiet $options : -np 1 "$@" --quiet $options >out 2>&1
}
options=

# refused TEXT COMMAND...
refused() {
    text=$1
    shift
    two "$@" && fail "not refused: $*"
    [ "$(grep -c '^layermeter-calibrate: ' out)" -eq 1 ] || fail "not one line: $(cat out)"
    grep -q "^layermeter-calibrate: $text" out || fail "'$text' was not said: $(cat out)"
    [ ! -e o.csv ] || fail "'$text', but a file was begun"
}

# ---- what is written down ----------------------------------------------------------------------
two layermeter-calibrate sweep.ini -o o.csv || fail "two ranks: $(cat out)"
grep -qx "# hosts: $host (ranks 0-1)" o.csv || fail "$(grep '^# hosts' o.csv)"
cores=$(grep -c '^processor' /proc/cpuinfo)
grep -q "^# binding: rank.* 0.*: cores [-0-9,]* of $cores" o.csv || fail "$(grep '^# binding' o.csv)"
grep -q '^# mixed' o.csv && fail "one host is not mixed"

# ---- other hardware ----------------------------------------------------------------------------
# what a rank is told of its machine is what these files say
mkdir -p big small
for i in 0 1 2 3; do printf 'processor\t: %s\nmodel name\t: Made-up CPU 9000\n\n' $i; done >big/cpuinfo
echo 'MemTotal:       131000000 kB' >big/meminfo
cp big/* small/
echo 'MemTotal:       130000000 kB' >small/meminfo # the same machine, as far as anybody can tell
like() {
    LAYERMETER_PROC=$work/big two env "LAYERMETER_PROC=$work/small" layermeter-calibrate sweep.ini -o o.csv
}
like || fail "machines whose firmware keeps other memory: $(cat out)"
grep -q '^# mixed' o.csv && fail "$(grep '^# mixed' o.csv)"

echo 'MemTotal:       65000000 kB' >small/meminfo
LAYERMETER_PROC=$work/big
export LAYERMETER_PROC
refused 'ranks run on different hardware (--allow-mixed measures it nevertheless): memory: 124.9 GiB (rank 0), 62.0 GiB (rank 1)$' \
    env "LAYERMETER_PROC=$work/small" layermeter-calibrate sweep.ini -o o.csv
sed '/processor.*3/,$d' big/cpuinfo | sed 's/9000/8000/' >small/cpuinfo
refused '.*: cpu: Made-up CPU 9000 (rank 0), Made-up CPU 8000 (rank 1); cores: 4 (rank 0), 3 (rank 1); memory: 1.*$' \
    env "LAYERMETER_PROC=$work/small" layermeter-calibrate sweep.ini -o o.csv
options=--allow-mixed
like || fail "--allow-mixed: $(cat out)"
grep -q '^# mixed: cpu: Made-up CPU 9000 (rank 0), Made-up CPU 8000 (rank 1); cores' o.csv || fail "$(grep '^# mixed' o.csv)"
grep -q '^layermeter-calibrate: warning: .*cpu: Made-up CPU 9000' out || fail "nothing was said: $(cat out)"
options=
unset LAYERMETER_PROC

# ---- other instructions: the backend says so ----------------------------------------------------
isa=$(sed -n 's/^# onednn_isa: //p' o.csv)
if [ "$isa" != SSE4.1 ] && [ -n "$isa" ]; then
    refused '.*hardware.*: onednn_isa: .* (rank 0), .* (rank 1)$' \
        env DNNL_MAX_CPU_ISA=SSE41 layermeter-calibrate sweep.ini -o o.csv
fi

# ---- GPUs: what another rank alone knows is a difference, what it is like at the moment is none -----
fake=$LAYERMETER_BIN/layermeter-calibrate-fake
if [ -x "$fake" ] && [ -d "$LAYERMETER_BUILD/tests/ports/nvml" ]; then
    sed 's/^backend .*/backend = cudnn/; s/^collective .*/collective = nccl/; s/^ranks .*/ranks = 1/' sweep.ini >gpu.ini
    nvml="LD_LIBRARY_PATH=$LAYERMETER_BUILD/tests/ports/nvml:${LD_LIBRARY_PATH:-} LAYERMETER_FAKE_DEVICES=2 ASAN_OPTIONS=detect_leaks=0"
    none="LAYERMETER_FAKE_DEVICES=2 ASAN_OPTIONS=detect_leaks=0"
    gpus() { # ENVIRONMENT OF RANK 0, OF RANK 1
        rm -f o.csv
        timeout 120 mpirun $many -np 1 env $1 "$fake" gpu.ini -o o.csv --quiet : \
            -np 1 env $2 "$fake" gpu.ini -o o.csv --quiet >out 2>&1
    }
    gpus "$nvml" "$nvml LAYERMETER_FAKE_HELD_DOWN=1" || fail "another clock at the moment: $(cat out)"
    gpus "$none" "$nvml" && fail "a driver that rank 1 alone has is not refused"
    grep -q 'different hardware .*gpu_driver: none (rank 0), 580.1 (rank 1)' out || fail "rank 1 alone: $(cat out)"
    gpus "$nvml" "$none" && fail "a driver that rank 0 alone has is not refused"
    grep -q 'different hardware .*gpu_driver: 580.1 (rank 0), none (rank 1)' out || fail "rank 0 alone: $(cat out)"
fi

# ---- other plugins, sweeps, builds ---------------------------------------------------------------
refused "rank 1 on $host has other plugins than rank 0 on $host: layer types would differ\$" \
    layermeter-calibrate sweep.ini -o o.csv --plugin "$FAKES/hangs_later.so"
mkdir elsewhere
cp ./*.ini elsewhere/
sed -i 's/^filters = 4/filters = 5/' elsewhere/tiny.ini
other="cd $work/elsewhere && exec layermeter-calibrate sweep.ini -o o.csv --quiet"
refused "rank 1 on $host finds other points in the sweep than rank 0 on $host: " sh -c "$other" sh
cp tiny.ini elsewhere/
sed -i 's/^ranks .*/ranks = 1/' elsewhere/sweep.ini
refused "rank 1 on $host finds other points in the sweep than rank 0 on $host: " sh -c "$other" sh
rm elsewhere/sweep.ini
refused "rank 1 on $host: sweep.ini: No such file" sh -c "$other" sh
# the same program with another tail: another build, as far as its contents go
mkdir -p installed/bin
ln -s "$LAYERMETER_BIN/../lib" installed/lib
cp "$LAYERMETER_BIN/layermeter-calibrate" installed/bin/
echo >>installed/bin/layermeter-calibrate
refused "rank 1 on $host runs another build than rank 0 on $host, although both are " \
    env ASAN_OPTIONS=detect_leaks=0 "$work/installed/bin/layermeter-calibrate" sweep.ini -o o.csv

# ---- no room -------------------------------------------------------------------------------------
if command -v taskset >/dev/null; then
    first=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
    rm -f o.csv
    timeout 120 mpirun $many -np 2 taskset -c "$first" layermeter-calibrate sweep.ini -o o.csv --quiet >out 2>&1 ||
        fail "two ranks on a core: $(cat out)"
    grep -qx "layermeter-calibrate: warning: 2 threads of ranks share 1 core of $host" out || fail "$(cat out)"
    grep -qx "# crowded: 2 threads of ranks share 1 core of $host" o.csv || fail "$(grep '^#' o.csv)"
    grep -q "^# binding: ranks 0-1: cores $first of $cores" o.csv || fail "$(grep '^# binding' o.csv)"
    sed 's/^warmup/threads = 3\nwarmup/' sweep.ini >threads.ini
    rm -f o.csv
    taskset -c "$first" layermeter-calibrate threads.ini -o o.csv --quiet >out 2>&1 || fail "three threads on a core: $(cat out)"
    grep -q 'warning: 3 threads of ranks share 1 core' out || fail "$(cat out)"
fi
