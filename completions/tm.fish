# fish completion for tm and tars-memory
function __tars_memory_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l current (string unescape -- "$typed"; or string trim --left --chars "'\"" -- "$typed")
    set -l program $words[1]
    set -e words[1]
    set -l found (env _TARS_MEMORY_COMPLETE=fish $program $words "$current" 2>/dev/null)
    if test $status -eq 3
        __fish_complete_path "$current"
    else if set -q found[1]
        printf '%s\n' $found
    end
end
complete -c tm -f -a '(__tars_memory_complete)'
complete -c tars-memory -f -a '(__tars_memory_complete)'
