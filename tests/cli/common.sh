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
ASAN_OPTIONS=detect_leaks=0 exec "$LAYERMETER_BIN/layermeter-calibrate" "\$@"
END
cat >"$work/bin/layermeter" <<END
#!/bin/sh
[ "\$1" != calibrate ] || export ASAN_OPTIONS=detect_leaks=0
exec "$LAYERMETER_BIN/layermeter" "\$@"
END
chmod +x "$work/bin/layermeter-calibrate" "$work/bin/layermeter"
PATH=$work/bin:$LAYERMETER_BIN:$PATH
export PATH

fail() {
    echo "FAILED: $*"
    exit 1
}

# Without layermeter-calibrate in this build there is nothing to test: 77 skips.
need_calibrate() {
    [ -x "$LAYERMETER_BIN/layermeter-calibrate" ] && return
    echo "skipped: this build has no layermeter-calibrate"
    exit 77
}
