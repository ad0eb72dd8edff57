#!/bin/sh
# What `make release` runs: wheel and sdist, built twice and compared byte by byte; then a bare home in which uv and pipx
# install the wheel from a folder of wheels, with no index and, where the system allows it, no network.
set -eu

bin=$PWD/$1
house=$PWD/.cache/wheelhouse
bare=$PWD/.cache/bare
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 1767225600)}"
say() { printf '\n# %s\n' "$*"; }

say "Built twice, with SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH"
rm -rf dist .cache/again
for folder in dist .cache/again; do
  "$bin/python" -m build -q --no-isolation -o "$folder" .
done
for made in dist/*; do
  cmp "$made" ".cache/again/${made#dist/}"
  (cd dist && sha256sum "${made#dist/}")
done

say "The wheels that it needs, as locked"
mkdir -p "$house"
"$bin/python" -m pip download -q --require-hashes -r requirements/demo.txt -d "$house"
rm -f "$house"/tars_memory-*
cp dist/*.whl "$house"

# No network: a network namespace of its own, if this user may have one.
alone=""
if unshare -rn true 2>/dev/null; then alone="unshare -rn"; fi
wheel=$(cd "$house" && ls tars_memory-*.whl)

bare() {
  $alone env -i PATH="$bare/.local/bin:$bin:/usr/bin:/bin" HOME="$bare" UV_OFFLINE=1 UV_NO_INDEX=1 UV_FIND_LINKS="$house" \
    UV_NO_CONFIG=1 UV_PYTHON_DOWNLOADS=never UV_TOOL_BIN_DIR="$bare/.local/bin" PIPX_BIN_DIR="$bare/.local/bin" PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1 PIP_FIND_LINKS="$house" \
    PIP_DISABLE_PIP_VERSION_CHECK=1 TARS_MEMORY_BACKGROUND=0 "$@"
}
try() {
  bare tm --version
  bare tm init --quiet "$bare/Notes"
  bare tm --vault "$bare/Notes" remember "Anna collects fountain pens"
  bare tm --vault "$bare/Notes" reindex
  bare tm --vault "$bare/Notes" search --mode semantic "present for someone who likes writing by hand"
  bare tm completion bash | head -n 1
}

say "uv tool install, ${alone:-with the network, but no index}"
rm -rf "$bare" && mkdir -p "$bare"
bare uv tool install -q --python "$bin/python" "tars-memory[embedded,mcp,tui] @ file://$house/$wheel"
try

say "pipx install, likewise"
rm -rf "$bare" && mkdir -p "$bare"
bare pipx install -q --python "$bin/python" "tars-memory[embedded,mcp,tui] @ file://$house/$wheel"
try
test -f "$bare"/.local/share/man/man1/tm.1 || test -f "$bare"/.local/share/pipx/venvs/tars-memory/share/man/man1/tm.1
rm -rf "$bare" .cache/again
say "dist/ is ready"
