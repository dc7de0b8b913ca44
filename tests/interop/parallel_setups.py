# SPDX-License-Identifier: Apache-2.0
"""What is trained where ranks do not all hold the same parameters."""

from dataclasses import dataclass

# Samples of every optimizer step, whatever the number of ranks.
BATCH = 24


@dataclass(frozen=True)
class ParallelSetup:
    kind: str  # pipeline, experts or slices
    stage: int
    precision: str
    degree: int = 2  # pipeline stages, expert-parallel ranks or tensor slices
    data_first: bool = False  # experts: use_data_before_expert_parallelism
    round_robin: bool = False
    universal: bool = False  # the engine loads universal checkpoints, and no native ones

    @property
    def name(self):
        parts = [f"{self.kind}{self.degree}", f"zero{self.stage}", self.precision]
        parts += ["data-first"] if self.data_first else []
        parts += ["roundrobin"] if self.round_robin else []
        parts += ["universal"] if self.universal else []
        return "-".join(parts)

    def data_ranks(self, world):
        return world if self.kind == "experts" else world // self.degree
