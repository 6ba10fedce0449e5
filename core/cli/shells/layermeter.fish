# Completion of layermeter for fish. The program itself says which words may stand next.
function __layermeter_words
    set -l given (commandline -opc) (commandline -ct)
    set -l found
    if test (count $given) -le 2; or test "$given[2]" = help
        set found (layermeter --complete "$given[-1]" 2>/dev/null)
    else
        set found (layermeter $given[2] --complete $given[3..-1] 2>/dev/null)
    end
    for line in $found
        if test "$line" = :files
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c layermeter -f -a '(__layermeter_words)'
