# Completion of layermeter for bash. The program itself says which words may stand next.
_layermeter()
{
    local cur=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} word files
    local -a given=("${COMP_WORDS[@]:1:COMP_CWORD}")

    [ "$cur" != "=" ] || cur=
    command -v -- "$program" >/dev/null || program=layermeter
    COMPREPLY=()
    if ((COMP_CWORD == 1)) || [ "${given[0]}" = help ]; then
        given=(--complete "$cur")
    else
        given=("${given[0]}" --complete "${given[@]:1}")
    fi
    while IFS=$'\t' read -r word _; do
        if [ "$word" = :files ]; then
            compopt -o filenames 2>/dev/null
            mapfile -t files < <(compgen -f -- "$cur")
            COMPREPLY+=("${files[@]}")
        else
            COMPREPLY+=("$word")
        fi
    done < <("$program" "${given[@]}" 2>/dev/null)
}
complete -F _layermeter layermeter
