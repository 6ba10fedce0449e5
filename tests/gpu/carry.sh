#!/bin/sh
# What a build needs of a system's packages (inih, LAPACKE with BLAS, cmocka, pkg-config), as one archive: for machines
# with a GPU, a compiler and CMake, where nothing can be installed. Made on a machine of the same kind of
# processor, with a C library that is not newer.
# usage: tests/gpu/carry.sh ARCHIVE.tar.gz      here, where the packages are
#        tar -xzf ARCHIVE.tar.gz -C FOLDER      there
#        LAYERMETER_CARRY=FOLDER tests/gpu/run.sh ...
set -eu

[ $# -eq 1 ] || { echo "usage: $0 ARCHIVE.tar.gz" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/include" "$work/lib/pkgconfig"

# The C library's own, and the compiler's, are where the build is.
needed() {
    ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
        grep -vE '/(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[^/]*)\.so' || true
}

# the BLAS that core/CMakeLists.txt finds
blas=$(pkg-config --exists blas && echo blas || echo openblas)
for package in inih lapacke "$blas" cmocka; do
    pkg-config --exists "$package" || { echo "$0: no $package here (Debian: lib$package-dev)" >&2; exit 1; }
    version=$(pkg-config --modversion "$package")
    name=$(pkg-config --libs-only-l "$package" | sed 's/-l\([^ ]*\).*/\1/')
    folder=$(pkg-config --variable=libdir "$package")
    library=
    for at in "$folder" /usr/lib /usr/lib/*-linux-gnu /lib/*-linux-gnu; do
        [ ! -e "$at/lib$name.so" ] || { library=$at/lib$name.so; break; }
    done
    [ -n "$library" ] || { echo "$0: no lib$name.so of $package" >&2; exit 1; }
    for file in "$library" $(needed "$library"); do
        soname=$(basename "$file")
        cp -L "$file" "$work/lib/$soname"
    done
    # the linker records the library's own name: it must be there, too
    own=$(readlink -f "$library")
    cp -L "$own" "$work/lib/$(objdump -p "$own" | awk '$1 == "SONAME" { print $2 }')"
    printf 'prefix=${pcfiledir}/../..\nName: %s\nDescription: carried\nVersion: %s\nLibs: -L${prefix}/lib -l%s\nCflags: -I${prefix}/include\n' \
        "$package" "$version" "$name" >"$work/lib/pkgconfig/$package.pc"
done
mkdir "$work/bin"
program=$(readlink -f "$(command -v pkg-config)")
cp -L "$program" "$work/bin/pkg-config"
for file in $(needed "$program"); do
    cp -L "$file" "$work/lib/$(basename "$file")"
done
include=$(dirname "$(find /usr/include -name lapacke.h | head -n 1)")
cp "$include"/lapacke*.h "$include"/lapack.h "$work/include/" 2>/dev/null || cp "$include"/lapacke*.h "$work/include/"
cblas=$(echo '#include <cblas.h>' | cc -E $(pkg-config --cflags "$blas") - | sed -n 's/^# 1 "\(.*cblas.h\)".*/\1/p')
cp "$cblas" "$(dirname "$cblas")"/openblas_config*.h "$work/include/"
cp /usr/include/ini.h /usr/include/cmocka*.h "$work/include/"
tar -czf "$1" -C "$work" bin include lib
echo "$1: $(du -h "$1" | cut -f 1): $(ls "$work/lib" | grep -c '\.so') libraries"
