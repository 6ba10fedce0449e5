#!/bin/sh
# types.sh SOURCE_FOLDER
# No two headers of core, calibrate and plugins define types of one name.
set -eu
cd "$1"
find core calibrate plugins -name '*.h' | sort | xargs awk '
    function seen(name) { if (!((name, FILENAME) in had)) { had[name, FILENAME]; where[name] = where[name] " " FILENAME; n[name]++ } }
    FNR == 1 { comment = 0 }
    {
        line = $0
        if (comment) { if (!sub(/^.*\*\//, "", line)) next; comment = 0 }
        while (match(line, /\/\*([^*]|\*[^\/])*\*\//)) line = substr(line, 1, RSTART - 1) substr(line, RSTART + RLENGTH)
        if (sub(/\/\*.*/, "", line)) comment = 1
        sub(/ +$/, "", line)
        word = line
        if (line ~ /^(typedef )?(struct|union|enum) [A-Za-z_0-9]+ *\{/) { # a body
            sub(/^typedef /, "", word); split(word, w, /[ {]+/); seen(w[2])
        }
        if (line ~ /^(typedef .*)?\} *[A-Za-z_0-9]+;$/) {                  # a name behind one
            sub(/^.*\} */, "", word); sub(/;$/, "", word); seen(word)
        } else if (line ~ /^typedef .*\(\*[A-Za-z_0-9]+\)\(/) {            # a function
            sub(/^.*\(\*/, "", word); sub(/\).*/, "", word); seen(word)
        } else if (line ~ /^typedef [^{(]*;$/) {                            # another name; not one told beforehand
            k = split(line, w, /[ ;*]+/); name = w[k - 1]
            if (!(line ~ /^typedef (struct|union|enum) / && w[3] == name)) seen(name)
        }
    }
    END { for (name in n) if (n[name] > 1) { print name ": defined in" where[name]; failed = 1 }
          exit failed }'
