#!/bin/sh
# What continuous integration of a folder of plugins runs: builds each source with all warnings, checks its layer types, and prints a
# line for the page about them. A plugin that breaks the contract ends it with exit status 1.
set -eu
mkdir -p built
for source in *.c; do
    cc -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -shared -fPIC $(pkg-config --cflags layermeter-plugin) "$source" \
        -o "built/layermeter-${source%.c}.so"
done
layermeter check built/layermeter-*.so
layermeter check --badge built/layermeter-*.so
