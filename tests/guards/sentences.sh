#!/bin/sh
# sentences.sh SOURCE_FOLDER
# No sentence of a header's comment, of the README or of a guide has more than 40 words. Words within code fences do not
# count; a blank line, a list item, a tag (@param) and a table's cell end a sentence.
set -eu
cd "$1"
{
    find core calibrate plugins -name '*.h' | sort
    echo README.md
    ls core/*.md examples/guides/*.md
} | xargs awk -v most=40 '
    function finish() {
        if (n > most) { print begun ": a sentence of " n " words: make it two"; failed = 1 }
        n = 0
    }
    function take(text, word, k, i) {
        gsub(/`[^`]*`/, "X", text)
        k = split(text, word, /[ \t]+/)
        for (i = 1; i <= k; i++) {
            if (word[i] !~ /[A-Za-z0-9]/) continue
            if (!n++) begun = FILENAME ":" FNR
            words++
            if (word[i] ~ /[.!?:;][")\047]*$/) finish()
        }
    }
    FNR == 1 { finish(); open = 0; code = 0; page = FILENAME ~ /\.md$/ }
    page {
        if (/^```/) { code = !code; finish() }
        else if (!code) {
            if (/^[ \t]*$/ || /^#/ || /^ *(\*|-|[0-9]+\.) / || /^\|/) finish()
            if (/^\|/) { cells = split($0, cell, "|"); for (c = 1; c <= cells; c++) { take(cell[c]); finish() } }
            else if (!/^#/) take($0)
        }
        next
    }
    {
        line = $0
        while (line != "") {
            if (!open) {
                if (!(at = index(line, "/*"))) break
                line = substr(line, at + 2); sub(/^\*+<?/, "", line); open = 1
            }
            at = index(line, "*/")
            text = at ? substr(line, 1, at - 1) : line
            sub(/^[ \t]*\*[ \t]?/, "", text)
            if (text ~ /^[ \t]*$/ || text ~ /^[ \t]*[@*-]/) finish()
            take(text)
            line = at ? substr(line, at + 2) : ""
            if (at) { finish(); open = 0 }
        }
        if (open && $0 ~ /^[ \t]*\*?[ \t]*$/) finish()
    }
    END { finish(); if (words < 10000) { print "only " words " words: are these the sources?"; failed = 1 } exit failed }'
