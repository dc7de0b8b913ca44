# SPDX-License-Identifier: Apache-2.0
"""What is trained by runs whose ranks hold different parameters."""

from dataclasses import dataclass

# Samples of every optimizer step, for any number of ranks.
BATCH = 24


@dataclass(frozen=True)
class ParallelSetup:
    kind: str  # pipeline, experts, autoep, slices (AutoTP) or megatron
    stage: int
    precision: str
    degree: int = 2  # pipeline stages, expert-parallel ranks or tensor slices
    data_first: bool = False  # experts: use_data_before_expert_parallelism
    experts: tuple = (4, 2)  # experts: of each layer
    round_robin: bool = False
    bf16_optimizer: bool = False  # DeepSpeed's BF16_Optimizer in place of the ZeRO-1 one
    padding: int = 0  # megatron: rows of the embedding after the vocabulary
    blocks: int = 3  # pipeline: layers of matrices
    partition: str = "uniform"  # pipeline: how its layers are distributed to stages
    tied: bool = True  # pipeline: first and last layer share their module
    stages: int = 0  # megatron: of the PipelineModule with its layers; 0: no PipelineModule
    recorded: bool = True  # megatron: universal_checkpoint_info goes into the checkpoint
    universal: bool = False  # the engine loads universal checkpoints, and no native ones
    slices: int = 1  # autoep: tensor slices (AutoTP), over which expert-parallel ranks fold

    @property
    def name(self):
        stage = "bf16opt" if self.bf16_optimizer else f"zero{self.stage}"
        parts = [f"{self.kind}{self.degree}", stage, self.precision]
        parts += ["data-first"] if self.data_first else []
        parts += ["of" + "+".join(map(str, self.experts))] if self.experts != (4, 2) else []
        parts += ["roundrobin"] if self.round_robin else []
        parts += [f"blocks{self.blocks}"] if self.blocks != 3 else []
        parts += [f"by-{self.partition}"] if self.partition != "uniform" else []
        parts += ["untied"] if not self.tied else []
        parts += [f"stages{self.stages}"] if self.stages else []
        parts += [f"padding{self.padding}"] if self.padding else []
        parts += ["unrecorded"] if not self.recorded else []
        parts += ["universal"] if self.universal else []
        parts += [f"slices{self.slices}"] if self.slices > 1 else []
        return "-".join(parts)

    @property
    def is_pipeline(self):
        return self.kind == "pipeline" or self.stages > 0

    def data_ranks(self, world):
        if self.kind in ("experts", "autoep"):
            return world // self.slices
        return world // (self.degree * max(1, self.stages))
