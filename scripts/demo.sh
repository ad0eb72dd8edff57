#!/bin/sh
# What `make demo` runs: a vault made from the template, writes, the index, a hybrid search, and all of it taken back.
# Everything lives below the folder given as first argument; nothing needs a network.
set -eu

demo=$1
bin=$PWD/$demo/venv/bin
vault=$PWD/$demo/vault
rm -rf "$vault" "$PWD/$demo/home"
export TARS_MEMORY_HOME="$PWD/$demo/home"   # journal, index, prepared model: in here instead of the user's folders
export TARS_MEMORY_DIR="$vault"

run() {
  printf '\n$ tars-memory'
  for word in "$@"; do
    case $word in *[!A-Za-z0-9_./:=-]*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
  done
  printf '\n'
  "$bin/tars-memory" "$@"
}
say() { printf '\n# %s\n' "$*"; }

say "A vault from the template"
"$bin/tars-memory" init "$vault"

say "Write: a fact, a preference, what happened today. Each answer is the line where it stands."
run remember "Anna's birthday is on 14 March; she collects fountain pens" --tag people
run remember "The NAS in the cellar backs up every night at 03:15 to the off-site disk"
run log "Met Anna in Cork, we talked about the move to a smaller flat"
run log "Bread: 78 % hydration was too wet, try 72 % next time"

say "Somebody's own note, written by hand in Obsidian"
mkdir -p "$vault/Garden"
printf '# Tomatoes\n\nThe San Marzano plants get blight every August.\n\nMove them under the glass roof next spring.\n' \
  > "$vault/Garden/Tomatoes.md"

say "Index: keywords and vectors, outside the vault"
run reindex

say "Search by words, and by meaning: none of these words stands in the note"
run search birthday
run search "disease on vegetables"
run search --json --limit 1 "present for someone who likes writing by hand"

say "Nonsense finds nothing: exit code 1, no neighbours"
run search qqqxyzzy || printf '(exit %s)\n' "$?"

say "What was written, and all of the last of it taken back"
run history --limit 2
run undo
run log
run status

say "The vault, in plain markdown: $vault"
cat "$vault/Memory.md"
