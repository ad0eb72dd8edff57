#!/bin/sh
# What `make demo` runs: a vault made from the template, writes, the index, a hybrid search, a conversation whose facts
# are drawn out, decided and traced back, all of it taken back, and what agents get.
# Everything lives below the folder given as first argument; nothing needs a network.
set -eu

demo=$1
bin=$PWD/$demo/venv/bin
vault=$PWD/$demo/vault
rm -rf "$vault" "$PWD/$demo/home"
export TARS_MEMORY_HOME="$PWD/$demo/home"   # journal, index, prepared model: in here instead of the user's folders
export TARS_MEMORY_DIR="$vault"
export TARS_MEMORY_BACKGROUND=0             # what is shown here is all that happens: nothing goes on behind it

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

say "Write: a fact, a preference, what happened today. Each answer is the place of the line."
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

say "Search by words, and by meaning: the note holds none of these words"
run search birthday
run search "disease on vegetables"
run search --json --limit 1 "present for someone who likes writing by hand"

say "Nonsense finds nothing: exit code 1, no neighbours"
run search qqqxyzzy || printf '(exit %s)\n' "$?"

say "What was written, and all of the last of it taken back"
run history --limit 2
run undo --yes
run log
run status

say "A conversation with an assistant, as its log keeps it; nothing of it is sent anywhere"
today=$(date -u +%Y-%m-%d)
cat > "$vault/../chat.jsonl" <<END
{"role": "user", "content": "Hi! Anna wants to travel with us. I prefer night trains to planes.", "timestamp": "${today}T09:00:00Z"}
{"role": "assistant", "content": "A night train to Lisbon leaves at 21:34. Let's go with the sleeper for three?", "timestamp": "${today}T09:01:00Z"}
{"role": "user", "content": "Yes, good. Remember that the spare key is at the bakery while we are away.", "timestamp": "${today}T09:02:00Z"}
{"role": "assistant", "content": "Noted. You could also live on the boat.", "timestamp": "${today}T09:03:00Z"}
{"role": "user", "content": "Ha. No, the backup disk is 8 TB now, not 4. Would I like Porto better?", "timestamp": "${today}T09:04:00Z"}
END
say "extract: what was said becomes candidates, each with the words that it comes from; no model is set, so rules find them"
run extract "$demo/chat.jsonl"
sed -n '/^## Facts/,$p' "$vault/sessions/"*.md
say "Once: a second run finds nothing new"
run extract "$demo/chat.jsonl"

say "review: a person decides, at a terminal or with ticks in Obsidian. Here a script ticks two and rejects one."
run review --note
sed -e '/night trains/s/\[ \]/[x]/' -e '/spare key/s/\[ \]/[x]/' -e '/sleeper/s/\[ \]/[-]/' "$vault/Review.md" > "$vault/Review.new"
mv "$vault/Review.new" "$vault/Review.md"
grep '^- \[' "$vault/Review.md"
run review --from-note

say "why: where a line comes from, who approved it"
run why "$("$bin/tars-memory" list | awk '/spare key/ {print $1; exit}')"
run search "where is the key"

say "One undo takes the decisions back; a line that nobody decided waits on"
run undo --yes
run review --list

say "An agent: what Claude Code's hook gets at the start of a session, and with a prompt"
hook() { printf '\n$ echo '\''%s'\'' | tars-memory hook\n' "$1"; printf '%s' "$1" | "$bin/tars-memory" hook; }
hook '{"hook_event_name": "SessionStart", "session_id": "demo", "cwd": "/"}'
hook '{"hook_event_name": "UserPromptSubmit", "session_id": "demo", "cwd": "/", "prompt": "When does the NAS back up?"}'
say "The hooks are put into the host's own settings, and taken out again to the byte"
export HOME="$PWD/$demo/home"
mkdir -p "$HOME/.claude" && printf '{\n    "model": "opus" // mine\n}\n' > "$HOME/.claude/settings.json"
run hook install claude --yes
run hook uninstall claude --yes
cat "$HOME/.claude/settings.json"

say "Any MCP client: 'tars-memory mcp' serves seven tools on its standard input"
meta='"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/clientInfo": {"name": "demo", "version": "1"}}'
{
  printf '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {%s, "name": "memory_add", "arguments": {"text": "The boiler was serviced in October", "tier": "semantic"}}}\n' "$meta"
  printf '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {%s, "name": "memory_search", "arguments": {"query": "boiler service"}}}\n' "$meta"
} | "$bin/tars-memory" mcp
run history --limit 1

say "Every day: notes made and opened, tags, what is near a note, facts over time"
printf 'Tomatoes need a roof: [[Tomatoes]] #garden\n' | "$bin/tars-memory" new --stdin "Greenhouse"
run daily --print
run related Greenhouse
run tags
"$bin/tars-memory" --quiet facts add Anna "lives in" Dublin --since 2024-03-01
run facts add Anna "lives in" Cork
run facts Anna --timeline
run facts Anna --mermaid

say "What other programs remember becomes candidates, each with its place; undo takes the import back"
printf '# Rules\n\n- Answer in metric units\n- Run the tests before each commit\n' > "$vault/../CLAUDE.md"
run import "$demo/CLAUDE.md"
run undo --yes

say "The vault, in plain markdown: $vault"
cat "$vault/Memory.md"
