# bash completion for tm and tars-memory
_tars_memory() {
    local line found code
    COMPREPLY=()
    found=$(_TARS_MEMORY_COMPLETE=bash "${1/#\~/$HOME}" "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
    code=$?
    [ "$code" = 3 ] && compopt -o default 2>/dev/null
    [ "$code" = 5 ] && compopt -o filenames 2>/dev/null
    while IFS= read -r line; do
        [ -n "$line" ] || continue
        line=${line%%$'\t'*}
        [ "$code" = 4 ] && printf -v line %q "$line"
        COMPREPLY+=("$line")
    done <<< "$found"
}
complete -F _tars_memory tm tars-memory
