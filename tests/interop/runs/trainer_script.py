# SPDX-License-Identifier: Apache-2.0
"""A training script with Transformers' Trainer that knows nothing of Shardscope: trainer_script.py STAGE OUTPUT STEPS [lora].
Goes on where OUTPUT has a checkpoint, until that step. lora: all but an adapter is frozen."""

import hashlib
import json
import os
import random
import sys

import numpy
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

GLOBAL_BATCH = 6


class TimeLimit(TrainerCallback):
    """Ends the job after some steps, which are fewer than those of the whole training."""

    def __init__(self, steps):
        self.steps = steps

    def on_step_end(self, args, state, control, **kwargs):
        control.should_training_stop = state.global_step >= self.steps


class RandomStates(TrainerCallback):
    """Notes the random states of this process at the first step and at the last save. Changes them in each step, by other
    numbers on each process."""

    def __init__(self):
        self.first = self.saved = self.steps_before = None

    def on_step_begin(self, args, state, control, **kwargs):
        if self.first is None:
            self.first, self.steps_before = self.now(), state.global_step
        torch.rand(args.process_index + 1)
        random.random()
        numpy.random.rand()

    def on_save(self, args, state, control, **kwargs):
        self.saved = self.now()

    @staticmethod
    def now():
        states = torch.random.get_rng_state().numpy().tobytes(), random.getstate(), numpy.random.get_state()
        return hashlib.sha256(repr(states).encode()).hexdigest()


def main(stage, output, steps, lora=None):
    torch.manual_seed(17)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=16, tie_word_embeddings=True))
    if lora:
        from peft import LoraConfig, get_peft_model
        model = get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
    start = torch.randint(64, (4 * GLOBAL_BATCH, 1), generator=torch.Generator().manual_seed(5))
    samples = [{"input_ids": row, "labels": row} for row in (start + 3 * torch.arange(9)) % 64]
    zero = {"stage": int(stage)}
    if zero["stage"] == 3:
        zero.update(stage3_param_persistence_threshold=100, sub_group_size=3000,
                    stage3_gather_16bit_weights_on_model_save=True)
    config = {"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
              "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False, "zero_optimization": zero}
    arguments = TrainingArguments(
        output, deepspeed=config, per_device_train_batch_size=GLOBAL_BATCH // int(os.environ["WORLD_SIZE"]), max_steps=9,
        save_steps=3, logging_steps=1, learning_rate=1e-2, warmup_steps=2, lr_scheduler_type="linear", weight_decay=0.1,
        seed=7, log_level="info", log_level_replica="info", report_to=[], disable_tqdm=True, use_cpu=True,
        ddp_backend="gloo")
    noted = RandomStates()
    trainer = Trainer(model, arguments, train_dataset=samples, callbacks=[TimeLimit(int(steps)), noted])
    is_resumed = os.path.isdir(output) and any(name.startswith("checkpoint-") for name in os.listdir(output))
    trainer.train(resume_from_checkpoint=is_resumed)
    losses = {entry["step"]: entry["loss"] for entry in trainer.state.log_history
              if "loss" in entry and entry["step"] > noted.steps_before}
    print("\nresult", json.dumps({"losses": losses, "first": noted.first, "saved": noted.saved}), flush=True)
    os._exit(0)  # without gloo's destructors, which can wait for other ranks


if __name__ == "__main__":
    main(*sys.argv[1:])
