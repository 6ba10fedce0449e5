#!/bin/sh
# The wheel, built from this source and installed into an empty environment: the program answers, the Python package finds
# the library, nothing comes from the build or from the system's inih, jansson and zlib. Takes a compilation of its own, and
# scikit-build-core, which Debian 12 has not: pip install scikit-build-core, else this skips.
set -eu

python=
for candidate in python3 /usr/bin/python3; do
    if $candidate -c 'import scikit_build_core, venv, ensurepip' 2>/dev/null; then python=$candidate; break; fi
done
[ -n "$python" ] || { echo "skipped: no python3 with scikit-build-core and venv"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LAYERMETER_PLUGIN_PATH LAYERMETER_MODEL_PATH LD_PRELOAD
export CMAKE_GENERATOR=Ninja
if command -v ccache >/dev/null; then export CMAKE_C_COMPILER_LAUNCHER=ccache; fi
fail() { echo "$*" >&2; exit 1; }

cd "$work"
$python - "$LAYERMETER_SOURCE/core/python" "$work" >log 2>&1 <<'END' || { tail -n 30 log; exit 1; }
import os, sys
import scikit_build_core.build as backend
os.chdir(sys.argv[1])
backend.build_wheel(sys.argv[2], {"build-dir": os.path.join(sys.argv[2], "build"),
                                    "cmake.define.LAYERMETER_WERROR": "ON", "cmake.define.LAYERMETER_WITH_PAGE": "OFF"}) # compiles all of it once more
END
wheel=$(ls layermeter-*.whl)
case $wheel in
layermeter-*-py3-none-*.whl) ;;
*) fail "$wheel: is not of any Python 3" ;;
esac
[ "$(wc -c <"$wheel")" -lt 15000000 ] || fail "$wheel: has $(wc -c <"$wheel") bytes"
$python -m venv env
env/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps "./$wheel"
rm -rf build
env/bin/layermeter predict resnet50 --device A100 --format csv >out
[ "$(wc -l <out)" = 2 ]
head -c 4 env/bin/layermeter | grep -q ELF || fail "bin/layermeter is a script"
for file in env/bin/layermeter env/lib/liblayermeter.so.1; do
    ldd $file | awk '/inih|jansson|libz/ { print $3 }' >needed
    [ "$(wc -l <needed)" -gt 0 ]
    if grep -v "^$work/env/" needed; then fail "$file: these are the system's"; fi
done
if grep -rlIF "$LAYERMETER_SOURCE" env; then fail "these name the source"; fi
cd / && "$work/env/bin/python" -W error -c '
import csv, layermeter, sys
step = layermeter.predict("resnet50", device="A100")
with open(sys.argv[1]) as file:
    row = next(csv.DictReader(file))
assert abs(step.step_ms / float(row["step_ms"]) - 1) < 1e-9, (step, row)
' "$work/out"
"$work/env/bin/python" -m pip uninstall --quiet --disable-pip-version-check --yes layermeter
[ ! -e "$work/env/bin/layermeter" ] || fail "uninstalled, but the program is there"
