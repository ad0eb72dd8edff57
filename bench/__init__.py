"""`make bench`: what a command costs, as ratios of CPU time to the bare floor, all in one interleaved run."""
