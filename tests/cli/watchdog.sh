#!/bin/sh
# Ranks that are killed, stopped, hung or told to end: one line says which, where and at what, nothing is left running,
# and a machine that is not busy with something else takes less than 30 s. Skipped (77) without mpirun or without the backends; what needs one process alone is not.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

sed 's/^type = relu/type = hangs/' tiny.ini >hanging.ini
cat >sweep.ini <<'END'
[sweep]
backend     = onednn
collective  = mpi
warmup      = 1
min_repeats = 2
max_repeats = 3
max_seconds = 0.1

[networks]
networks = hanging.ini
image    = 8, 16
batch    = 1..2000
ranks    = 1, 2
END
sed -e 's/onednn/sim/' -e '/^collective/d' sweep.ini >alone.ini
printf '[sim]\nmachine = machine.ini\n' >>alone.ini
measure="layermeter-calibrate --plugin $FAKES/hangs_later.so"

# await FILE: until some points are in it
await() {
    while kill -0 "$run" 2>/dev/null && [ "$(cat "$1" 2>/dev/null | wc -l)" -lt 60 ]; do sleep 0.05; done
    kill -0 "$run" 2>/dev/null || fail "$1: ended before anything happened: $(cat out)"
}

# gone PID: it is, or has ended and waits for its parent
gone() {
    ! kill -0 "$1" 2>/dev/null || [ "$(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null)" = Z ]
}

# said FILE TEXT: one line of ours says so, and how to go on
said() {
    [ "$(grep -c '^layermeter' out)" -eq 1 ] || fail "not one line: $(cat out)"
    grep -q "^layermeter[a-z -]*: $2 \(while\|after\) measuring '.*' (point [0-9]* of [0-9]*); $1 holds [0-9]* points, --resume goes on\$" out ||
        fail "'$2' was not said: $(cat out)"
    held=$(sed -n 's/.* holds \([0-9]*\) points.*/\1/p' out)
    there=$(grep -c '^network,.*,step,.*,ok$' "$1")
    # the line may be written just before the last point is
    [ "$there" -eq "$held" ] || [ "$there" -eq $((held + 1)) ] || fail "$1 holds $there points: $(cat out)"
}

# ---- a kernel that never ends while kernels are verified, before there is a file; watched beside all that follows ---
fake=$LAYERMETER_BIN/layermeter-calibrate-fake
cat >verified.ini <<'END'
[sweep]
backend     = cudnn
warmup      = 0
min_repeats = 2
max_repeats = 2

[networks]
networks = tiny.ini
image    = 8
batch    = 2
END
if [ -x "$fake" ]; then
    LAYERMETER_FAKE_ENDLESS=40 timeout 300 "$fake" verified.ini -o verified.csv --quiet >out_verified 2>&1 &
    verified=$!
fi
# stalled LOG WHO: its one line
stalled() {
    grep -qx "layermeter-calibrate-fake: $2 made no progress for 20 s while verifying 'f32 [a-z]* [a-z_]* .*' (kind [0-9]* of [0-9]*)" "$1" ||
        fail "a kernel that never ends: $(cat "$1")"
    [ ! -e verified.csv ] || fail "a file before all is verified"
}

# ---- one process -------------------------------------------------------------------------------
for signal in INT TERM HUP; do
    rm -f alone.csv
    # what shells start in the background ignores SIGINT
    env --default-signal=INT,HUP $measure alone.ini -o alone.csv --quiet >out 2>&1 &
    run=$!
    await alone.csv
    kill -$signal $run
    wait $run
    code=$?
    [ "$(kill -l $code)" = $signal ] || fail "SIG$signal: exit status $code"
    said alone.csv interrupted
done
rm -f alone.csv
nohup $measure alone.ini -o alone.csv --quiet --force >out 2>&1 &
run=$!
await alone.csv
kill -HUP $run
sleep 1
gone $run || kill -KILL $run
wait $run 2>/dev/null
code=$? # 0: it was fast, and has finished
[ $code -eq 0 ] || [ "$(kill -l $code)" = KILL ] || fail "nohup does not help: exit status $code: $(cat out)"

# it hangs: its watchdog ends it
rm -f alone.csv
LAYERMETER_TEST_HANG=$work/hang $measure alone.ini -o alone.csv --quiet >out 2>&1 &
run=$!
await alone.csv
# ends COMMAND...: the run ends behind it, by itself; how long that takes depends on what else runs here
ends() {
    began=$(date +%s)
    "$@"
    while ! gone $run && [ $(($(date +%s) - began)) -lt 300 ]; do sleep 0.2; done
    gone $run || fail "$*: nothing has happened after 300 s: $(cat out)"
    wait $run
    code=$?
    took=$(($(date +%s) - began))
    [ $code -ne 0 ] || fail "$*: exit status 0"
    echo "$*: exit status $code after $took s"
    [ $took -lt 30 ] || echo "note: that is more than 30 s: this machine is busy"
}
ends touch hang
said alone.csv 'the run made no progress for 20 s'
rm hang

# when all points are measured, those that were disturbed are measured again, watched as well
sed -e 's/^batch .*/batch = 1..400/' -e 's/^warmup/retries = 100\nretry_share = 10\nwarmup/' alone.ini >disturbed.ini
printf 'busy_from = 0s\nbusy_until = 1000000s\n' >>disturbed.ini
env --default-signal=INT $measure disturbed.ini -o disturbed.csv >out 2>&1 &
run=$!
while kill -0 $run 2>/dev/null && ! grep -q '^\[again\]' out; do sleep 0.05; done
kill -INT $run || fail "ended before it was interrupted: $(cat out)"
wait $run
code=$?
[ "$(kill -l $code)" = INT ] || fail "SIGINT, late: exit status $code"
grep -q "^layermeter[a-z -]*: interrupted .* measuring '.*' (point [0-9]* of 1600); disturbed.csv holds 1600 points, --resume goes on\$" out ||
    fail "nobody watches what is measured again: $(grep -v '^\[' out)"

if [ -x "$fake" ]; then
    wait $verified
    [ $? -eq 1 ] || fail "a kernel that never ends: $(cat out_verified)"
    stalled out_verified 'the run'
fi

# ---- two ranks ---------------------------------------------------------------------------------
command -v mpirun >/dev/null || skip "no mpirun"
layermeter-calibrate --plugin "$FAKES/hangs_later.so" sweep.ini --dry-run >out 2>&1 || {
    grep -q 'this build has no backend' out && skip "$(cat out)"
    fail "$(cat out)"
}
many=
mpirun --oversubscribe -np 1 true >/dev/null 2>&1 && many=--oversubscribe
mpirun $many -np 2 true >out 2>&1 || skip "mpirun cannot start 2 ranks here: $(head -n 3 out)"
host=$(hostname)

if [ -x "$fake" ]; then # rank 1's device alone
    cat >second.sh <<'END'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" != 1 ] || export LAYERMETER_FAKE_ENDLESS=40
exec "$@"
END
    chmod +x second.sh
    LAYERMETER_FAKE_DEVICES=2 timeout 300 mpirun $many -np 2 ./second.sh "$fake" verified.ini -o verified.csv --quiet >out_second 2>&1 &
    verified=$!
fi

# begin: two ranks, the second of which may hang; $rank0 and $rank1 are their processes
begin() {
    rm -f o.csv
    mpirun $many -np 1 $measure sweep.ini -o o.csv --quiet : \
        -np 1 env "LAYERMETER_TEST_HANG=$work/hang" $measure sweep.ini -o o.csv --quiet >out 2>&1 &
    run=$!
    await o.csv
    children=$(cat "/proc/$run/task/$run/children")
    rank0=${children%% *}
    rank1=${children#* }
    rank1=${rank1%% *}
}

# all_gone: and o.csv loads
all_gone() {
    for rank in $rank0 $rank1; do
        tries=0
        while ! gone "$rank" && [ $((tries += 1)) -lt 200 ]; do sleep 0.05; done
        gone "$rank" || fail "a rank is left: $(cat out)"
    done
    layermeter fit --plugin "$FAKES/hangs_later.so" o.csv -o left.ini >more 2>&1 || fail "what is left does not load: $(cat more)"
}

begin
ends kill -KILL $rank1
said o.csv "rank 1 on $host died"
all_gone

begin
ends kill -KILL $rank0
said o.csv "rank 0 on $host died"
all_gone

begin
ends kill -TERM $rank1
said o.csv "rank 1 on $host was ended by a signal"
all_gone

begin
ends kill -STOP $rank1
said o.csv "rank 1 on $host gave no sign of life for 15 s"
all_gone

begin
ends kill -STOP $rank0
said o.csv "rank 0 on $host gave no sign of life for 15 s"
all_gone

begin
ends touch hang
said o.csv "rank 1 on $host made no progress for 20 s"
rm hang
all_gone

for signal in INT TERM; do
    begin
    ends kill -$signal $run
    said o.csv interrupted
    all_gone
done
begin
ends kill -INT $rank0
[ $code -eq 130 ] || fail "mpirun: exit status $code"
said o.csv interrupted
all_gone

if [ -x "$fake" ]; then
    wait $verified && fail "a kernel of rank 1 that never ends is no failure"
    stalled out_second "rank 1 on $host"
    [ "$(grep -o 'kind .*' out_second)" = "$(grep -o 'kind .*' out_verified)" ] || fail "not rank 1's kernel: $(cat out_second)"
fi
