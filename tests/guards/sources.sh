#!/bin/sh
# sources.sh SOURCE_FOLDER
# Each .c below core, calibrate and plugins is in a list of the nearest CMakeLists.txt; no list is made by a glob.
set -eu
cd "$1"
failed=0

scripts=$(find CMakeLists.txt core calibrate plugins models configs tests examples -name CMakeLists.txt -o -name '*.cmake*')
# shellcheck disable=SC2086 # names without spaces
if grep -nE 'file *\( *(GLOB|GLOB_RECURSE)\b|aux_source_directory' $scripts /dev/null; then
    echo "a list of files that CMake makes up: write it down"
    failed=1
fi

# Paths of the .c files that a CMakeLists.txt names, one a line.
named() {
    sed 's/#.*//' "$1" | tr '\n()' '   ' | awk -v folder="${1%CMakeLists.txt}" '
        { for (i = 1; i <= NF; i++) {
              if ($i == "layermeter_room") { room = $(i + 2) "/"; i += 2 }
              else if ($i ~ /\.c$/) print folder room $i
              else room = ""
          } }'
}

lists=$(mktemp)
trap 'rm -f "$lists"' EXIT
for script in $(find core calibrate plugins -name CMakeLists.txt); do named "$script"; done >"$lists"
for file in $(find core calibrate plugins -name '*.c' | sort | grep -vxFf "$lists"); do
    echo "$file: not in the CMakeLists.txt of its folder or one above"
    failed=1
done
exit $failed
