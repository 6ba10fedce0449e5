#!/bin/sh
# The NCCL backend, whole, on devices and a library that are not there (tests/ports), with real ranks. Skipped
# (77) without mpirun or MPI. And the program itself says in one line that it finds no GPU, if that is so.
. "$(dirname -- "$0")/common.sh"
need_fake
command -v mpirun >/dev/null || skip "no mpirun"
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1
LAYERMETER_FAKE_DEVICES=3
export LAYERMETER_FAKE_DEVICES
many=
mpirun --oversubscribe -np 1 true >/dev/null 2>&1 && many=--oversubscribe
mpirun $many -np 3 true >out 2>&1 || skip "mpirun cannot start 3 ranks here: $(head -n 3 out)"

cat >sweep.ini <<'END'
[sweep]
backend     = cudnn
collective  = nccl
warmup      = 1
min_repeats = 2
max_repeats = 2

[collectives]
bytes      = 6, 64KiB, 1MiB
algorithms = default, ring
ranks      = 2, 3
END
grep -q 'ncclAllReduce in place' "$fake" || skip "this build has no backend 'nccl'"
run() { # RANKS ARGUMENTS
    ranks=$1
    shift
    timeout 100 mpirun $many -np "$ranks" "$fake" "$@" --quiet 2>err
}
errors() { grep '^layermeter-calibrate-fake: [^w]' err; } # not mpirun's words, and no warnings

# ---- what connects the host; what NCCL is told of its log is no setting of the user's ------------------------
mkdir -p root/sys/class/infiniband/mlx5_0/ports/1
echo '400 Gb/sec (4X NDR)' >root/sys/class/infiniband/mlx5_0/ports/1/rate
echo '4: ACTIVE' >root/sys/class/infiniband/mlx5_0/ports/1/state
LAYERMETER_SYSTEM_ROOT=$work/root LAYERMETER_FAKE_NCCL_NET=Socket LAYERMETER_FAKE_NCCL_VERSION=22203 run 2 sweep.ini -o net.csv || fail "a network: $(cat err)"
grep -q '^# network_infiniband: mlx5_0 port 1: 400 Gb/sec (4X NDR), active$' net.csv || fail "cards: $(grep '^# net' net.csv)"
for each in '6,default,,,,chosen=tree/ll,' '65536,default,,,,chosen=ring/simple,'; do # by numbers
    grep -q ",2,1,$each" net.csv || fail "not '$each': $(grep '^collective' net.csv)"
done
grep -q '^# nccl_environment' net.csv && fail "the log's settings: $(grep '^# nccl' net.csv)"
grep -q ',socket,' net.csv && fail "ranks of one host go by no network"
ls /tmp/layermeter-nccl-?????? 2>/dev/null | while read -r log; do [ "$log" -nt sweep.ini ] && echo "$log"; done | grep . &&
    fail "a log was left"

# between hosts with InfiniBand, messages over TCP are not those of "the network", and flagged
sed -n '/^.sweep/,/^$/p' sweep.ini >hosts.ini
printf '[collectives]\nbytes = 64KiB\nnodes = 2\ndevices = 1\n' >>hosts.ini
two_hosts
mpirun --version 2>/dev/null | grep -q 'Open MPI' && on_hosts 1 slot true >out 2>&1 && {
    export LAYERMETER_SYSTEM_ROOT="$work/root"
    for net in Socket IB; do
        LAYERMETER_FAKE_NCCL_NET=$net on_hosts 1 slot "$fake" hosts.ini -o $net.csv --quiet >out 2>&1 || fail "two hosts: $(cat out)"
        grep -q '^collective,.*,ok$' $net.csv || fail "two hosts: $(cat $net.csv out)"
    done
    unset LAYERMETER_SYSTEM_ROOT
    grep -q '^collective,.*,socket,.*ok$' Socket.csv || fail "TCP beside InfiniBand: $(grep '^collective' Socket.csv)"
    grep -q '^collective,.*,socket,' IB.csv && fail "InfiniBand: $(grep '^collective' IB.csv)"
}

# ---- every point, once; a communicator for each set of ranks, once, and a ring where it is forced --------
LAYERMETER_FAKE_NCCL_LOG=$work/made run 3 sweep.ini -o o.csv || fail "a sweep: $(cat err)"
[ "$(grep -c '^collective,.*,ok$' o.csv)" -eq 12 ] || fail "rows: $(grep -v '^#' o.csv)"
for each in '2,1,6,default' '2,1,6,ring' '3,1,1048576,default' '3,1,1048576,ring'; do
    [ "$(grep -c ",f32,$each," o.csv)" -eq 1 ] || fail "$each: $(grep -v '^#' o.csv)"
done
# what the library chose is written down, and no part of the point
for each in '6,default chosen=tree/ll' '65536,default chosen=ring/simple' '6,ring chosen=ring/ll'; do
    [ "$(grep -c ",f32,[23],1,${each% *},,,,${each#* }," o.csv)" -eq 2 ] || fail "not '$each': $(grep '^collective' o.csv)"
done
cp o.csv again.csv
run 3 sweep.ini -o again.csv --resume || fail "resuming a finished run: $(cat err)"
cmp o.csv again.csv || fail "collectives were measured again"
grep -q '^# nccl: 2\.' o.csv || fail "no version: $(grep '^#' o.csv)"
[ "$(sort made | tr '\n' ',')" = "0 of 2: ,0 of 2: Ring,0 of 3: ,0 of 3: Ring,1 of 2: ,1 of 2: Ring,1 of 3: ,1 of 3: Ring,2 of 3: ,2 of 3: Ring," ] ||
    fail "communicators: $(sort made)"

# every kind, its results verified: one that is wrong ends the run, as does a library that takes the largest addend for the sum
cat >kinds.ini <<'END'
[sweep]
backend     = cudnn
collective  = nccl
warmup      = 1
min_repeats = 2
max_repeats = 2

[collectives]
kinds      = allreduce, allgather, reducescatter, alltoall, sendrecv, broadcast
bytes      = 6, 64KiB
ranks      = 2, 3
END
run 3 kinds.ini -o kinds.csv || fail "kinds: $(cat err)"
for kind in allreduce allgather reducescatter alltoall sendrecv broadcast; do
    [ "$(grep -c "^collective,$kind,.*,ok$" kinds.csv)" -eq 4 ] || fail "$kind: $(grep -v '^#' kinds.csv)"
    case $kind in
    alltoall | sendrecv) grep "^collective,$kind,.*chosen=" kinds.csv && fail "a choice for sends and receives" ;;
    *) [ "$(grep -c "^collective,$kind,.*chosen=" kinds.csv)" -eq 4 ] || fail "$kind: no choice: $(grep -v '^#' kinds.csv)" ;;
    esac
    sed "s/^kinds .*/kinds = $kind/" kinds.ini >kind.ini
    LAYERMETER_FAKE_NCCL_WRONG=1 run 2 kind.ini -o "wrong-$kind.csv" && fail "a wrong $kind is no failure"
    errors | grep -q ' gave 1000 instead of ' || fail "a wrong $kind: $(cat err)"
done
LAYERMETER_FAKE_NCCL_LARGEST=1 run 2 sweep.ini -o largest.csv && fail "the largest addend is no failure"
errors | grep -q 'the all-reduce gave .* instead of' || fail "the largest addend: $(cat err)"

# what the user has set is the library's choice, and written down
NCCL_ALGO=Tree LAYERMETER_FAKE_NCCL_LOG=$work/tree run 2 sweep.ini -o tree.csv || fail "NCCL_ALGO: $(cat err)"
[ "$(sort tree | tr '\n' ',')" = "0 of 2: Ring,0 of 2: Tree,1 of 2: Ring,1 of 2: Tree," ] || fail "NCCL_ALGO: $(sort tree)"
grep -q '^# nccl_environment: .*NCCL_ALGO=Tree' tree.csv || fail "NCCL_ALGO: $(grep '^#' tree.csv)"

# ---- clocks have risen before a message is timed -----------------------------------------------------------------
(
    LD_LIBRARY_PATH=$LAYERMETER_BUILD/tests/ports/nvml LAYERMETER_FAKE_RISES=$work/clocks
    export LD_LIBRARY_PATH LAYERMETER_FAKE_RISES
    run 2 sweep.ini -o rises.csv || fail "NVML: $(cat err)"
    grep -qx 1980 clocks || fail "the clock had not risen: $(sort -n clocks | tail -n 1) MHz"
) || exit 1

# ---- communicators: few are kept; memory that lacks for one skips the point, on all ranks ------------------------
cat >groups.ini <<'END'
[sweep]
backend     = cudnn
collective  = nccl
warmup      = 0
min_repeats = 1
max_repeats = 1

[collectives]
bytes      = 1KiB, 2KiB
algorithms = default, ring
ranks      = 2, 3, 4
END
if LAYERMETER_FAKE_DEVICES=4 mpirun $many -np 4 true >out 2>&1; then
    export LAYERMETER_FAKE_DEVICES=4
    LAYERMETER_FAKE_NCCL_ROOM=4 run 4 groups.ini -o few.csv || fail "few communicators: $(cat err)"
    [ "$(grep -c '^collective,.*,ok$' few.csv)" -eq 12 ] || fail "few communicators: $(grep -v '^#' few.csv)"
    LAYERMETER_FAKE_DEVICES=3
fi
LAYERMETER_FAKE_NCCL_ROOM=1 run 3 sweep.ini -o room.csv || fail "no memory for a communicator: $(cat err)"
grep -q '^collective,.*,ok$' room.csv || fail "no memory for a second communicator: $(grep -v '^#' room.csv)"
grep -q '^collective,.*,skipped-memory$' room.csv || fail "no memory for a second communicator: $(grep -v '^#' room.csv)"

# ---- cores: too few for NCCL's threads, or those of another socket than the GPU's ---------------------------
taskset -c 0 true 2>/dev/null && {
    cat >one.sh <<'END'
#!/bin/sh
exec taskset -c 0 "$@"
END
    chmod +x one.sh
    timeout 100 mpirun $many --bind-to none -np 2 ./one.sh "$fake" sweep.ini --quiet -o one.csv 2>err || fail "one core: $(cat err)"
    grep -q "warning: .*share" err || fail "one core, and no word of it: $(cat err)"
    grep -q '^# crowded: ' one.csv || fail "one core, and no word of it: $(grep '^#' one.csv)"
}
# one thread a core, and yet too few for NCCL's
[ "$(taskset -c 0,1 nproc 2>/dev/null)" = 2 ] && {
    timeout 100 taskset -c 0,1 mpirun $many --bind-to none -np 2 "$fake" sweep.ini --quiet -o few_cores.csv 2>err || fail "two cores: $(cat err)"
    grep -q "warning: NCCL's threads of rank 0 on .* share 2 cores with the thread that measures: give each rank 4 or more (mpirun --bind-to numa, srun --cpus-per-task)" err ||
        fail "two cores, and no word of it: $(cat err)"
}
for each in 00 01; do
    mkdir -p "sys/bus/pci/devices/0000:$each:00.0" && echo 1020-1023 >"sys/bus/pci/devices/0000:$each:00.0/local_cpulist"
done
LAYERMETER_SYS=$work/sys timeout 100 mpirun $many --bind-to none -np 2 "$fake" sweep.ini --quiet -o far.csv 2>err ||
    fail "far cores: $(cat err)"
grep -q 'warning: rank 0 on .* away from its GPU, which is beside cores 1020-1023' err || fail "far cores: $(cat err)"

# ---- what is wrong ends the run, with one line ------------------------------------------------------------
LAYERMETER_FAKE_NCCL_WRONG=1 run 2 sweep.ini -o wrong.csv && fail "a wrong sum is no failure"
[ "$(errors | wc -l)" -eq 1 ] && errors | grep -q 'the all-reduce gave' || fail "a wrong sum: $(cat err)"
LAYERMETER_FAKE_NCCL_LOST=3 run 2 sweep.ini -o lost.csv && fail "a lost network is no failure"
errors | grep -q 'NCCL: remote process exited' || fail "a lost network: $(cat err)"
[ "$(errors | wc -l)" -eq 1 ] || fail "a lost network, more than once: $(cat err)"

# a message that never ends, which NCCL tells whoever asks: alone, and in a step
LAYERMETER_FAKE_NCCL_BROKEN=4 run 2 sweep.ini -o broken_message.csv && fail "a broken connection is no failure"
[ "$(errors | wc -l)" -eq 1 ] && errors | grep -q 'all-reduce: NCCL: remote process exited' || fail "a broken connection: $(cat err)"

# ---- the launch is in no message's time, and none of it in the cache, by a clock of which all is known: 2 us and 1 ---
LAYERMETER_FAKE_LATENCY=1000 run 2 sweep.ini -o clock.csv || fail "a known clock: $(cat err)"
awk -F, '/^collective,.*,ok$/ { printf "%.2g\n", $17 }' clock.csv | sort -u >times
[ "$(cat times)" = 3e-06 ] || fail "a message of 3 us takes: $(cat times)"

# ---- a rank without memory for its message: the others' wait for it until their communicator is given up ---------
LAYERMETER_FAKE_NCCL_REFUSED=1 run 2 sweep.ini -o refused.csv || fail "no memory for a message: $(cat err)"
[ "$(grep -c '^collective,.*,skipped-memory$' refused.csv)/$(grep -c '^collective,.*,ok$' refused.csv)" = 1/5 ] ||
    fail "no memory for a message: $(grep -v '^#' refused.csv)"
# once it is timed it ends the run, at once
began=$(date +%s)
LAYERMETER_FAKE_NCCL_REFUSED=3 run 2 sweep.ini -o refused_later.csv && fail "no memory for a timed message is no failure"
[ $(($(date +%s) - began)) -lt 15 ] || fail "no memory for a timed message: the others were waited for: $(cat err)"
[ "$(errors | wc -l)" -eq 1 ] && errors | grep -q "rank 1 on .*: all-reduce: NCCL: .*out of memory.* while measuring" ||
    fail "no memory for a timed message: $(cat err)"

# ---- the native step: gradients in buckets -----------------------------------------------------------------
sed '/^.collectives/,$d' sweep.ini >step.ini
cat >>step.ini <<'END'
[networks]
networks = tiny.ini
image    = 8
batch    = 2
ranks    = 2
bucket   = 0, 1KiB
END
run 2 step.ini -o step.csv || fail "a step: $(cat err)"
for bucket in '' 1024; do
    [ "$(awk -F, -v b="$bucket" '/^network/ && $13 == b && $NF == "ok"' step.csv | wc -l)" -eq 5 ] ||
        fail "a step in buckets of '$bucket': $(grep -v '^#' step.csv)"
done

sed 's/^bucket .*/bucket = 1KiB/' step.ini >buckets.ini
LAYERMETER_FAKE_NCCL_BROKEN=6 run 2 buckets.ini -o broken_step.csv && fail "a broken connection in a step is no failure"
[ "$(errors | wc -l)" -eq 1 ] && errors | grep -q 'buckets: NCCL: remote process exited' || fail "a broken connection in a step: $(cat err)"

sed 's/^batch .*/batch = 2, 4/' buckets.ini >batches.ini
LAYERMETER_FAKE_NCCL_REFUSED=1 run 2 batches.ini -o refused_step.csv || fail "no memory for a bucket: $(cat err)"
grep -q '^network,.*,2,.*,skipped-memory$' refused_step.csv && grep -q '^network,.*,4,.*,ok$' refused_step.csv ||
    fail "no memory for a bucket: $(grep -v '^#' refused_step.csv)"

# ---- one rank's device breaks while the other waits for it: its words are said at once, and all end -------------
cat >second.sh <<'END'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" != 1 ] || export LAYERMETER_FAKE_LAUNCH=$BREAKS
exec "$@"
END
chmod +x second.sh
for each in 'sweep.ini 4' 'sweep.ini 30' 'step.ini 150'; do # 4: in the first message, which is verified
    set -- $each
    began=$(date +%s)
    BREAKS=$2 timeout 60 mpirun $many -np 2 ./second.sh "$fake" "$1" --quiet -o broken.csv 2>err && fail "$1: a broken device is no failure"
    [ $(($(date +%s) - began)) -lt 15 ] || fail "$1: a broken device: the others were waited for: $(cat err)"
    [ "$(errors | wc -l)" -eq 1 ] && errors | grep -q "rank 1 on .*: .*unspecified launch failure while measuring '.*' (point [0-9]* of [0-9]*); broken.csv holds" ||
        fail "$1: a broken device: $(cat err)"
    rm -f broken.csv
done

# ---- no device ---------------------------------------------------------------------------------------------
LAYERMETER_FAKE_DEVICES=0 run 2 sweep.ini -o no.csv && fail "no device is no failure"
errors | grep -q 'no CUDA device' || fail "no device: $(cat err)"
