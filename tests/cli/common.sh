# Sourced by the tests of this folder: a temporary folder $work, and the programs in PATH.
#
# LAYERMETER_BIN   folder of the programs
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
: "${LAYERMETER_BIN:?}"
unset LAYERMETER_PLUGIN_PATH LAYERMETER_MODEL_PATH
LC_ALL=C
export LC_ALL

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
# What Open MPI keeps until the process ends is not ours, and nameless once its modules are unloaded.
mkdir "$work/bin" && cat >"$work/bin/layermeter-calibrate" <<END
#!/bin/sh
ASAN_OPTIONS=\${ASAN_OPTIONS:-}:detect_leaks=0 exec "$LAYERMETER_BIN/layermeter-calibrate" "\$@"
END
cat >"$work/bin/layermeter" <<END
#!/bin/sh
[ "\$1" != calibrate ] || export ASAN_OPTIONS=\${ASAN_OPTIONS:-}:detect_leaks=0
exec "$LAYERMETER_BIN/layermeter" "\$@"
END
chmod +x "$work/bin/layermeter-calibrate" "$work/bin/layermeter"
PATH=$work/bin:$LAYERMETER_BIN:$PATH
export PATH
# Open MPI refuses root unless told.
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM

fail() {
    echo "FAILED: $*"
    exit 1
}

# What is lacking here; ctest knows 77.
skip() {
    echo "skipped: $*"
    exit 77
}

# simulated MACHINE: what a sweep of a simulated machine begins with, each point measured once.
simulated() {
    cat <<END
[sweep]
backend     = sim
warmup      = 0
min_repeats = 1
max_repeats = 1

[sim]
machine = $1

END
}

# refused WHY COMMAND...: exit 1, and one line that says it.
refused() {
    why=$1
    shift
    "$@" >out 2>err
    [ $? -eq 1 ] || fail "$*: not refused"
    [ "$(wc -l <err)" -eq 1 ] && [ ! -s out ] || fail "$*: $(cat out err)"
    grep -q -e "$why" err || fail "$*: $(cat err)"
}

need_calibrate() {
    [ -x "$LAYERMETER_BIN/layermeter-calibrate" ] || skip "this build has no layermeter-calibrate"
}

# $fake: the program on devices that are not there.
need_fake() {
    fake=$LAYERMETER_BIN/layermeter-calibrate-fake
    [ -x "$fake" ] || skip "this build has no layermeter-calibrate-fake"
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # of Open MPI
    export ASAN_OPTIONS
}

# What should start a daemon on another host starts it here. Two that start at the same moment on one machine
# meet in files they take for their own: of Open MPI 4.1.4's launches, one in five then dies or waits for ever. So
# the second comes later, and a launch that has started no rank in half a minute is made again.
two_hosts() {
    printf '#!/bin/sh\n[ "$1" = n1 ] || sleep 1\nshift\nexec /bin/sh -c "$*"\n' >"$work/here"
    chmod +x "$work/here"
}

# Shared memory of two "hosts" would collide.
launch() {
    each=$1
    layout=$2
    shift 2
    exec timeout 240 mpirun --oversubscribe --map-by "$layout" --host "n1:$each,n2:$each" -np $((2 * each)) --mca plm_rsh_agent "$work/here" \
        --mca plm_rsh_no_tree_spawn 1 --mca btl tcp,self --mca mpi_yield_when_idle 1 \
        sh -c 'touch "$0" && exec "$@"' "$work/started" "$@"
}

# on_hosts RANKS LAYOUT COMMAND...: so many ranks on each of two "hosts", after two_hosts
on_hosts() {
    for attempt in 1 2 3; do
        rm -f "$work/started"
        launch "$@" &
        launched=$!
        for second in $(seq 30); do
            [ ! -e "$work/started" ] && kill -0 $launched 2>/dev/null || break
            sleep 1
        done
        [ -e "$work/started" ] || kill $launched 2>/dev/null
        wait $launched
        status=$?
        [ ! -e "$work/started" ] || return $status
        echo "launch $attempt started no rank: exit status $status"
    done
    return 1
}

# browse ARGUMENT...: what is looked up or fetched fails, but files. A sandbox of its own takes rights that
# tests lack.
browse() {
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" \
        --host-resolver-rules='MAP * ~NOTFOUND' --proxy-server=127.0.0.1:9 --no-first-run \
        --disable-background-networking --disable-dev-shm-usage "$@" >out 2>err
}

# A browser that does not start says nothing about a page.
need_browser() {
    command -v chromium >/dev/null || skip "no chromium (Debian: chromium)"
    browse --dump-dom about:blank && grep -q '<html>' out || skip "chromium does not start here: $(tail -n 1 err)"
}
