"""`python -m bench`: what a command costs, as ratios, in one interleaved run; writes only below a temporary folder.

`extract` needs a labelled set (`--set DIR`), `scale` makes 100,000 notes, `multilingual` and `live` need the extras
`multilingual` and `tui`, `postgres` a database with pgvector (`--database URL`): they are measured only if they are
named.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

PARTS = ("start", "watched", "sweep", "throughput", "talks", "growth", "secrets")


def main() -> None:
    """Measure what was asked for and print it as it comes."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all if none is named")
    parser.add_argument("--rounds", type=int, default=15, help="of the start-up (15)")
    parser.add_argument("--notes", type=int, default=1000, help="in the vault of the start-up (1000)")
    parser.add_argument("--logs", type=int, default=300, help="of 200 kB, for the part talks (300)")
    parser.add_argument("--sizes", default="1000,10000,100000", help="notes of the part scale, passages of postgres")
    parser.add_argument("--large", action="store_true", help="growth up to 150,000 chunks (minutes, 2 GB of disk)")
    parser.add_argument("--shapes", default="", metavar="PART", help="growth of all shapes whose names hold this")
    parser.add_argument("--all", action="store_true", help="growth of all shapes (hours)")
    parser.add_argument(
        "--set",
        type=Path,
        metavar="DIR",
        help="for extract labelled conversations, for postgres a vault and queries.jsonl",
    )
    parser.add_argument("--vault", type=Path, metavar="DIR", help="a vault for the part live, instead of a made one")
    parser.add_argument("--database", default="", metavar="URL", help="with pgvector, for the part postgres")
    parser.add_argument("--kept", type=Path, metavar="DIR", help="what postgres made and measured is left there")
    parser.add_argument("--queries", type=int, default=1_000, help="of the set that postgres asks (1,000)")
    parser.add_argument("--lowered", action="store_true", help="postgres with the limits of a million passages")
    parser.add_argument("--keys", type=int, default=200, help="that are pressed in the part live (200)")
    parser.add_argument("--tokenizer", type=Path, metavar="FILE", help="tokenizer.json, for the part multilingual")
    parser.add_argument("--texts", type=int, default=100_000, help="that it is compared on (100,000)")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - {*PARTS, "extract", "scale", "multilingual", "live", "postgres"}
    if unknown:
        parser.error(f"no part named {', '.join(sorted(unknown))}")
    parts = arguments.parts or PARTS
    if "extract" in parts:
        if arguments.set is None:
            parser.error("extract needs --set DIR")
        from bench import extract

        with tempfile.TemporaryDirectory(prefix="bench-") as name:
            print(extract.report(arguments.set, Path(name)), flush=True)
    if set(parts) <= {"extract"}:
        return
    if "secrets" in parts:
        from bench import secrets

        print(secrets.report(), flush=True)
    if parts == ["secrets"]:
        return
    from bench.place import Place

    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        if {"start", "throughput", "watched", "multilingual", "live"} & set(parts):
            place = Place(folder / "start")
            place.build_apart(arguments.notes)
        if "start" in parts:
            from bench import start

            print(start.report(place, arguments.rounds), flush=True)
        if "live" in parts:
            from bench import live

            print(live.report(place, arguments.vault, arguments.keys), flush=True)
        if "watched" in parts:
            from bench import watched

            print(watched.report(place, arguments.rounds), flush=True)
        if "throughput" in parts:
            from bench import throughput

            print(throughput.report(place, 3), flush=True)
        if "multilingual" in parts:
            from bench import multilingual

            print(multilingual.report(place, arguments.rounds), flush=True)
            if arguments.tokenizer is not None:
                print(multilingual.compared(place, arguments.tokenizer, arguments.texts), flush=True)
        if "sweep" in parts:
            from bench import sweep

            wide = Place(folder / "sweep")
            wide.build(5000)
            print(sweep.report(wide, arguments.rounds), flush=True)
        if "talks" in parts:
            from bench import talks

            print(talks.report(folder / "talks", arguments.notes, arguments.logs, min(arguments.rounds, 9)), flush=True)
        if "scale" in parts:
            from bench import scale

            print(scale.report([int(size) for size in arguments.sizes.split(",")], folder), flush=True)
        if "postgres" in parts:
            if not arguments.database:
                parser.error("postgres needs --database URL")
            from bench import postgres

            if arguments.set is not None:
                asked, lowered = arguments.queries, arguments.lowered
                print(postgres.compared(arguments.set, arguments.database, folder, asked, lowered=lowered), flush=True)
            else:
                sizes = [int(size) for size in arguments.sizes.split(",")]
                print(postgres.report(sizes, arguments.database, arguments.kept or folder), flush=True)
        if "growth" in parts:
            from bench import growth

            print(growth.report([4_000, 35_000, *([150_000] if arguments.large else [])], folder), flush=True)
            from bench import shapes

            told, fine = shapes.report(folder.resolve(), arguments.shapes, every=arguments.all)
            print(told, flush=True)
            if not fine:
                raise SystemExit(1)


if __name__ == "__main__":
    main()
