#!/bin/sh
# The observation file of a run against what happens to files: full disks, folders that go away or may not be written,
# other runs, other programs. One line each, exit status 1, and what was measured before stays.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

{ simulated machine.ini; cat; } >long.ini <<'END'
[networks]
networks = tiny.ini, wide.ini, deep.ini
batch    = 1..300
ranks    = 1, 2, 4
END

# so many points that none of them is the last, however late this script gets its turn
sed -e 's/1..300$/1..2000/' long.ini >endless.ini

# points FILE: which ones, once each line
points() {
    grep -v -e '^#' -e '^kind,' "$1" | cut -d, -f1-3,5-7 | sort
}

# begin FILE [SWEEP]: starts a run, and halts it when the first points are there
begin() {
    layermeter-calibrate "${2:-endless.ini}" -o "$1" --quiet >out 2>err &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ "$(cat "$1" 2>/dev/null | wc -l)" -lt 60 ]; do :; done
    kill -STOP $pid || fail "finished before anything could happen to it"
    state=
    while [ "$state" != T ]; do
        state=$(sed 's/.*) \(.\).*/\1/' /proc/$pid/stat) || fail "$(cat err)"
    done
}

# ends TEXT: goes on with the run that was halted, which fails with this one line
ends() {
    kill -CONT $pid
    wait $pid
    [ $? -eq 1 ] || fail "'$1' is no failure: $(cat out err)"
    told "$1"
}

# told TEXT: that and nothing else was said
told() {
    [ "$(wc -l <err)" -eq 1 ] && [ ! -s out ] || fail "not one line: $(cat out err)"
    grep -q -e "^layermeter[a-z-]*: $1" err || fail "'$1' was not said: $(cat err)"
}

# refused TEXT COMMAND...
refused() {
    text=$1
    shift
    "$@" >out 2>err
    [ $? -eq 1 ] || fail "not refused: $*"
    told "$text"
}

# ---- two runs at once --------------------------------------------------------------------------
begin twice.csv
cp twice.csv before.csv
refused 'twice.csv: is being written by another run' layermeter-calibrate endless.ini -o twice.csv --quiet --resume
refused 'twice.csv: is being written by another run' layermeter-calibrate endless.ini -o twice.csv --quiet --force
cmp twice.csv before.csv || fail "a refused run changed the file of another"
kill -KILL $pid
wait $pid 2>/dev/null

# ---- what happens to the file while it is written ------------------------------------------------
begin changed.csv
echo '# hello' >>changed.csv
ends 'changed.csv: was changed by another program during the run'

begin removed.csv
rm removed.csv
ends 'removed.csv: no longer exists: No such file'

begin replaced.csv
cp replaced.csv other.csv
mv other.csv replaced.csv
ends 'replaced.csv: was replaced during the run'

mkdir folder
begin folder/o.csv
rm -r folder
ends 'folder/o.csv: no longer exists: No such file'

mkdir folder
begin folder/o.csv
mv folder moved
ends 'folder/o.csv: no longer exists: No such file'
[ "$(points moved/o.csv | wc -l)" -ge 8 ] || fail "the points before are lost"

# ---- no room -----------------------------------------------------------------------------------
# no_room NAME FILE: the run that wrote it as NAME ended where there was no more room, and goes on where there is
no_room() {
    told "$1: \(File too large\|No space left on device\)"
    cp "$2" part.csv
    n=$(points part.csv | wc -l)
    [ "$n" -gt 0 ] && [ "$n" -lt "$(points whole.csv | wc -l)" ] || fail "$n rows where there was no room"
    tail -n 1 part.csv | grep -q ',step,.*,ok$' || fail "half a point where there was no room: $(tail -n 1 part.csv)"
    layermeter-calibrate long.ini -o part.csv --quiet --resume || fail "resuming where there is room"
    points part.csv >a
    points whole.csv | cmp - a || fail "the points of a run that had no room"
}
layermeter-calibrate long.ini -o whole.csv --quiet || fail "a simulated run"
begin limited.csv long.ini
prlimit --pid $pid --fsize=$(($(wc -c <limited.csv) + 5000)) || fail "no limit could be set"
kill -CONT $pid
wait $pid
[ $? -eq 1 ] || fail "a limit on the size of files is no failure: $(cat out err)"
no_room limited.csv limited.csv
mkdir disk
if mount -t tmpfs -o size=16k none disk 2>/dev/null; then
    layermeter-calibrate long.ini -o disk/o.csv --quiet >out 2>err
    code=$?
    cp disk/o.csv disk.csv
    umount disk
    [ $code -eq 1 ] || fail "a full disk is no failure: $(cat out err)"
    no_room disk/o.csv disk.csv
else
    echo "note: nothing can be mounted here, so a full disk is not tried"
fi
ln -s /dev/full full.csv
refused 'full.csv: is not a regular file' layermeter-calibrate long.ini -o full.csv --quiet --force

# ---- what may not be written -------------------------------------------------------------------
# root may write everywhere: then somebody else tries
plain=
[ "$(id -u)" -ne 0 ] || plain='setpriv --reuid=65534 --regid=65534 --clear-groups'
if $plain true 2>/dev/null && $plain test -x "$LAYERMETER_BIN/layermeter-calibrate"; then
    chmod 755 "$work"
    mkdir -m 555 closed
    refused 'closed/o.csv: Permission denied' $plain layermeter-calibrate long.ini -o closed/o.csv --quiet
    cp whole.csv read_only.csv
    chmod 444 read_only.csv
    refused 'read_only.csv: Permission denied' $plain layermeter-calibrate long.ini -o read_only.csv --quiet --resume
    refused 'read_only.csv: Permission denied' $plain layermeter-calibrate long.ini -o read_only.csv --quiet --force
    cmp whole.csv read_only.csv || fail "a file that may not be written was"
else
    echo "note: root may write everywhere, and nobody else can be asked"
fi
refused 'none/o.csv: No such file' layermeter-calibrate long.ini -o none/o.csv --quiet
