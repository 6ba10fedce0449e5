#!/bin/sh
# header.sh COMPILER STANDARD INCLUDE_FOLDER HEADER
# Compiles <layermeter/HEADER.h> alone, twice included, padding and all warnings being errors.
set -eu
[ -n "$1" ] && command -v "$1" >/dev/null || { echo "no compiler for $2"; exit 77; }
case $2 in
c++*) language=c++ ;;
*)    language=c ;;
esac
printf '#include <layermeter/%s.h>\n#include <layermeter/%s.h>\n' "$4" "$4" |
    "$1" -x "$language" -std="$2" -Wall -Wextra -Wpedantic -Wpadded -Werror -I "$3" -fsyntax-only -
