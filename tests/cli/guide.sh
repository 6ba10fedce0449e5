#!/bin/sh
# The guide to calibration, command by command, as it stands there: on simulated hardware, with launchers that are none.
#
# LAYERMETER_SOURCE   the source tree
. "$(dirname -- "$0")/common.sh"
need_calibrate
guide=${LAYERMETER_SOURCE:?}/examples/guides/calibrate.md
bash --version >/dev/null 2>&1 || { echo "skipped: no bash"; exit 77; }
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1
mkdir -p fake examples && ln -s "$LAYERMETER_SOURCE/examples/pytorch" examples/pytorch

# What the shipped sweeps are called, small and simulated: the sweeps themselves have a test of their own.
{ simulated machine.ini; cat; } >small.ini <<'END'
[networks]
networks = alexnet, resnet18, squeezenet1_1, mobilenet_v2
batch    = 1, 2
image    = 64, 128
ranks    = 1, 2

[collectives]
bytes = 64KiB..1MiB*4
END
cat >fake/layermeter <<END
#!/bin/sh
# what is suggested is for this machine: it is asked for, and a simulated sweep is run in its place
if [ "\$1" = suggest ]; then
    "$LAYERMETER_BIN/layermeter" "\$@" --machine machine.ini && [ -s next.ini ] && cp small.ini next.ini
    exit
fi
for word; do
    shift
    case \$word in quick | standard) [ -e "$LAYERMETER_SOURCE/configs/sweeps/\$word.ini" ] && word=small.ini ;; esac
    set -- "\$@" "\$word"
done
exec "$LAYERMETER_BIN/layermeter" "\$@"
END
cat >fake/mpirun <<'END'
#!/bin/sh
while [ "$1" != layermeter ]; do echo "$1" >>mpirun.log; shift; done
ASAN_OPTIONS=detect_leaks=0 exec "$@"
END
cat >fake/srun <<'END'
#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
ASAN_OPTIONS=detect_leaks=0 exec "$@"
END
printf '#!/bin/sh\nexec bash "$@"\n' >fake/sbatch
chmod +x fake/*
PATH=$work/fake:$PATH

awk '/^```sh/ { on = 1; next } /^```/ { on = 0 } on' "$guide" >commands
[ "$(wc -l <commands)" -ge 12 ] || fail "no commands in $guide"
while IFS= read -r line; do
    case $line in
    *collect.py*)
        /usr/bin/python3 -c 'import torchvision' 2>/dev/null || { echo "passed over, no torchvision: $line"; continue; }
        line="$line --min-repeats 1 --max-repeats 1 --warmup 0" ;;
    esac
    ASAN_OPTIONS=detect_leaks=0 sh -c "$line" >out 2>&1 </dev/null || fail "$line: $(cat out)"
done <commands

# what it says they leave
for file in machine.ini observations.csv report.txt report.json; do
    [ -s cluster/$file ] && [ -s both/$file ] && [ -s cluster2/$file ] || fail "no $file"
done
grep -q '^collective,allreduce,.*,2,.*' network2.csv || fail "the network's log: $(cat network2.csv)"
grep -c '^collective' cluster/observations.csv | grep -qx "$(($(grep -c '^collective' network.csv) + 3))" ||
    fail "the network's rows were not added"
[ ! -e torch.csv ] || layermeter fit torch.csv -o torch.ini >out 2>&1 || grep -q 'too few rows' out || fail "torch.csv: $(cat out)"
# and the words it explains are those of the program
for word in contended throttled drifted skipped-memory skipped-unsupported; do
    grep -q "^| \`$word\` |" "$guide" && grep -q "\`$word\`" "$LAYERMETER_SOURCE/core/observe/OBSERVATIONS.md" || fail "$word"
done
echo "$(wc -l <commands) commands"
