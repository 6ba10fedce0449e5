# Rooms of core include only those before them in the README's line of dependencies, and every room stands there.
set -u
. "$(dirname -- "$0")/common.sh"
source=${LAYERMETER_SOURCE:?}

order=$(sed -n 's/^`\(base ◀ .*\)`,*$/\1/p' "$source/README.md" | sed 's/◀//g')
[ -n "$order" ] || { echo "the README has no line of dependencies" >&2; exit 1; }
failed=0
seen=" layermeter "
for room in $order; do
    seen="$seen$room "
    for file in $(find "$source/core/$room" -name '*.[ch]'); do
        for other in $(sed -n 's|^#include "\([a-z_]*\)/.*|\1|p' "$file" | sort -u); do
            case $seen in
            *" $other "*) ;;
            *)
                echo "$file includes $other, which stands behind $room" >&2
                failed=1
                ;;
            esac
        done
    done
done
for folder in "$source"/core/*/; do
    room=$(basename "$folder")
    case $seen in
    *" $room "*) ;;
    *)
        [ "$room" = cmake ] || [ "$room" = include ] || [ "$room" = python ] || { echo "core/$room is not in the line of dependencies" >&2; failed=1; }
        ;;
    esac
done
exit $failed
