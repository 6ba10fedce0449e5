#!/bin/sh
# What a search for layouts costs: a network on so many devices of nodes of 8, by round numbers for a machine
# (tests/cli/inputs/layout.ini). Processor seconds of the whole search, layouts in a second (each with its
# memory; those that cannot be among the best only bounded) once layers are priced, resident memory. No test: it
# prints figures.
#
#   tests/bench/layouts.sh [NETWORK [DEVICES [GLOBAL_BATCH]]]     default: llama3_1_70b:sequence=4096 512 1024
#
# LAYERMETER_BIN  folder of the program; default: build/bin
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
exec "${LAYERMETER_BIN:-$here/../../build/bin}/bench_layouts" "${1:-llama3_1_70b:sequence=4096}" \
    "$here/../cli/inputs/layout.ini" "${2:-512}" 8 "${3:-1024}" 21
