#!/bin/sh
# What `make lock` runs: requirements/*.txt from pyproject.toml, for every platform, with hashes; and the bill of
# materials of the package. Versions that are locked stay, unless UPGRADE=--upgrade is set.
set -eu

bin=$1
pin() {
  "$bin/uv" pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate \
    --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" ${UPGRADE:-} "$@" pyproject.toml
}
pin --extra embedded --extra llm --extra dev --group build -o requirements/dev.txt
pin --extra embedded --extra mcp --extra tui --group build -c requirements/dev.txt -o requirements/demo.txt
"$bin/uv" pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate \
  --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" ${UPGRADE:-} \
  --group tools -o requirements/tools.txt
core=$(mktemp)
trap 'rm -f "$core"' EXIT
pin --no-header -c requirements/demo.txt -o "$core"
"$bin/cyclonedx-py" requirements "$core" --pyproject pyproject.toml --output-reproducible --sv 1.6 --of JSON \
  -o sbom.cdx.json
