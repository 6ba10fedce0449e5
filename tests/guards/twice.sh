#!/bin/sh
# twice.sh NM LIBRARY...
# No two objects of the libraries define one name: of two in archives the linker takes one without a word.
set -eu
nm=$1
shift
"$nm" -A -g --defined-only "$@" | awk '
    NF < 3 || $NF ~ /^(__(odr_)?asan|__covrec|__llvm)/ { next }
    {
        seen++
        object = $1; sub(/:[0-9a-f]*$/, "", object)
        if ($NF in where) { print $NF ": defined in " where[$NF] " and " object; failed = 1 }
        where[$NF] = object
    }
    END { if (!seen) { print "no names: are these libraries?"; failed = 1 } exit failed }'
