# SPDX-License-Identifier: Apache-2.0
#
# Completes the words of tessera in fish, as completion.bash does in bash. `source` it, or install it as
# share/fish/vendor_completions.d/tessera.fish.

function __tessera_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    for line in ($words[1] complete -- $words[2..] "$last" 2>/dev/null)
        if test -n "$line"
            printf '%s\n' $line
        else # an empty line stands for names of files
            set -l kept (string match -r '^.*=' -- "$last")
            for file in (__fish_complete_path (string replace -r '^.*=' '' -- "$last"))
                printf '%s\n' "$kept$file"
            end
        end
    end
end
complete -c tessera -f -a '(__tessera_complete)'
