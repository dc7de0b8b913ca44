# SPDX-License-Identifier: Apache-2.0
"""Transformers' Trainer: check each checkpoint, and resume on any number of ranks.

    EXAMPLE_STEPS=8 torchrun --nproc_per_node 4 trainer.py OUTPUT DEEPSPEED_CONFIG
    EXAMPLE_STEPS=12 torchrun --nproc_per_node 2 trainer.py OUTPUT DEEPSPEED_CONFIG
"""

import json
import os
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

import shardscope
from shardscope.transformers import CheckpointCallback


def main(output: str, config: str) -> None:
    with open(config, encoding="utf-8") as file:
        bf16 = bool(json.load(file).get("bf16", {}).get("enabled"))  # which may be "auto"
    samples = [{"input_ids": torch.arange(9) % 64, "labels": torch.arange(9) % 64} for _ in range(96)]
    arguments = TrainingArguments(
        output,
        deepspeed=config,
        per_device_train_batch_size=12 // int(os.environ["WORLD_SIZE"]),
        max_steps=int(os.environ.get("EXAMPLE_STEPS", "8")),
        save_steps=4,
        report_to=[],
        bf16=bf16,
        use_cpu=not torch.cuda.is_available(),
    )
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2)
    )
    trainer = Trainer(model, arguments, train_dataset=samples, callbacks=[CheckpointCallback(fingerprint=True)])
    # On every rank: one makes a copy. There is no folder before the first start.
    found = shardscope.ensure(output, world_size=arguments.world_size, missing_ok=True)
    trainer.train(resume_from_checkpoint=found)


if __name__ == "__main__":
    main(*sys.argv[1:3])
