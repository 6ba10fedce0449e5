#!/bin/sh
# Packages of the tree that was built: a tarball that runs where it is unpacked, and Debian's packages, laid into an empty
# root: each has its own files, depends on what it is linked with, and together they run, compile and predict.
set -eu

for tool in cpack dpkg-deb dpkg-shlibdeps file gzip; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LAYERMETER_PLUGIN_PATH LAYERMETER_MODEL_PATH
export LC_ALL=C SOURCE_DATE_EPOCH=1577836800
fail() { echo "$*" >&2; exit 1; }

cd "$work"
(cd "$LAYERMETER_BUILD" && cpack -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -B "$work/made") >log 2>&1 || { tail -n 20 log; exit 1; }
version=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")/\1/p' "$LAYERMETER_BUILD/CPackConfig.cmake")
[ "$("$LAYERMETER_BIN/layermeter" version | cut -d' ' -f2)" = "$version" ]

# ---- tarball ----
mkdir tar
tar -C tar -xzf made/layermeter-"$version"-*.tar.gz
tar/layermeter-*/bin/layermeter show resnet18 --totals | grep -q '11,689,512'
[ ! -e tar/layermeter-*/share/doc ]

# ---- Debian ----
file_of() { echo made/"$1"_"$version"-1_*.deb; }
field() { dpkg-deb -f "$(file_of "$1")" "$2"; }
soname=$(cd "$LAYERMETER_BUILD" && readelf -d lib*/liblayermeter.so lib/*/liblayermeter.so 2>/dev/null | sed -n 's/.*SONAME.*\[liblayermeter\.so\.\(.*\)\]/\1/p')
library=liblayermeter$soname
for name in layermeter "$library" liblayermeter-dev; do
    [ -s "$(file_of "$name")" ] || fail "no package $name"
    dpkg-deb -c "$(file_of "$name")" | awk '{ print $6 }' >"$name.list"
    for file in copyright changelog.Debian.gz changelog.gz; do
        grep -q "^./usr/share/doc/$name/$file$" "$name.list" || fail "$name has no $file"
    done
    if dpkg-deb -c "$(file_of "$name")" | grep -v ' root/root '; then fail "$name: these are not root's"; fi
    dpkg-deb -x "$(file_of "$name")" root
done
field layermeter Depends | grep -q 'libinih1' || fail "layermeter depends on $(field layermeter Depends)"
field layermeter Depends | grep -q 'libc6 (>=' || fail "layermeter depends on $(field layermeter Depends)"
field layermeter Recommends | grep -q liblapacke || fail "layermeter recommends $(field layermeter Recommends)"
field "$library" Depends | grep -q "layermeter (= $version-1)" || fail "$library depends on $(field "$library" Depends)"
field liblayermeter-dev Depends | grep -qx "$library (= $version-1)"
dpkg-deb -I "$(file_of "$library")" shlibs | grep -qx "liblayermeter $soname $library (>= $version)" || {
    dpkg-deb -I "$(file_of "$library")" shlibs
    fail "these are the shlibs of $library"
}
cat ./*.list | grep -v '/$' | sort | uniq -d | if grep .; then fail "these lie in two packages"; fi
grep -q '/usr/bin/layermeter$' layermeter.list
grep -q '/usr/share/man/man1/layermeter-scale.1.gz$' layermeter.list
if grep -E '\.1$' layermeter.list; then fail "these pages are not compressed"; fi
grep -q "/liblayermeter.so.$soname$" "$library.list"
grep -q '/liblayermeter.so$' liblayermeter-dev.list
grep -q '/usr/include/layermeter/layermeter.h$' liblayermeter-dev.list

root/usr/bin/layermeter predict resnet18 --device A100 --format csv >out 2>/dev/null
[ "$(wc -l <out)" = 2 ]
export PKG_CONFIG_SYSROOT_DIR="$work/root"
PKG_CONFIG_LIBDIR=$(dirname "$(find root -name layermeter.pc)")
export PKG_CONFIG_LIBDIR
[ "$(pkg-config --modversion layermeter)" = "$version" ]

# ---- lintian: what it says beyond the tags that are listed here, each with its reason ----
if ! command -v lintian >/dev/null; then
    echo "not looked at: no lintian"
    exit 0
fi
# initial-upload-closes-no-bugs: no bug of Debian asks for these packages
# maintscript-calls-ldconfig: cpack writes that script beside the trigger
listed=initial-upload-closes-no-bugs,maintscript-calls-ldconfig
# of a tree that is not built for /usr, whose library does not lie in a folder of the architecture
case $(cat "$library.list") in
*-linux-gnu*) ;;
*) listed=$listed,pkg-config-multi-arch-wrong-dir,pkg-config-unavailable-for-cross-compilation ;;
esac
# hardening-no-pie: programs of a sanitized build lie at a fixed place, so that they start sooner
if grep -q '^LAYERMETER_SANITIZE:BOOL=ON' "$LAYERMETER_BUILD/CMakeCache.txt"; then
    listed=$listed,hardening-no-pie
fi
lintian --fail-on error,warning --suppress-tags $listed made/*.deb >found 2>lintian.log || { cat found lintian.log; exit 1; }
