#!/bin/sh
# Installs the Debian packages that are missing: setup.sh program|build|run|tests|packages ...
# As root or with sudo that asks nothing; otherwise prints the line to run, and fails.
set -eu

program="gcc libc6-dev cmake ninja-build pkg-config libinih-dev libopenblas-dev liblapacke-dev libjansson-dev zlib1g-dev"
build="$program libdnnl-dev libopenmpi-dev openmpi-bin nanopb libnanopb-dev protobuf-compiler libxgboost-dev libsqlite3-dev"
run="gnuplot-nox"
tests="g++ clang libcmocka-dev binutils dpkg-dev file jq chromium libxml2-utils mandoc"
packages="dpkg-dev file lintian python3-build python3-venv"

wanted=
for set_name in "$@"; do
    case $set_name in
    program) wanted="$wanted $program" ;;
    build) wanted="$wanted $build" ;;
    run) wanted="$wanted $run" ;;
    tests) wanted="$wanted $tests" ;;
    packages) wanted="$wanted $packages" ;;
    *) echo "setup.sh: unknown set '$set_name' (program, build, run, tests, packages)" >&2; exit 2 ;;
    esac
done

if ! command -v dpkg-query >/dev/null; then
    echo "setup.sh: not a Debian system; install the equivalents of:" $wanted >&2
    exit 1
fi

missing=
for package in $wanted; do
    case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
    *" installed") ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=
elif sudo -n true 2>/dev/null; then
    as_root="sudo"
else
    echo "Some packages are missing. Install them and run this again:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi

echo "Installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $as_root apt-get update -q && $as_root env DEBIAN_FRONTEND=noninteractive \
       apt-get install -q -y --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    echo "setup.sh: apt-get could not install:$missing" >&2
    exit 1
fi
