# SPDX-License-Identifier: Apache-2.0
"""Frameworks around DeepSpeed on the ranks: Transformers' Trainer and Accelerate, both unmodified."""

import logging
import os
import random
from dataclasses import dataclass

import torch

from compare import live_state

GLOBAL_BATCH = 6
SAVED_AT, STEPS = 4, 7
SUB_GROUP = 3000  # elements; several per param group
MISSING = "find an RNG file"  # how the Trainer says that a process has no random states


@dataclass
class Run:
    """What every rank reports of one run."""
    state: dict  # of the engines at the save, or right after the load
    losses: list  # mean over the ranks, of the steps after that
    random: list  # of each rank, before the first of these steps
    facts: dict  # of the framework, the same on all ranks
    said: list  # by each rank: that its random states are missing; None where it cannot be determined


@dataclass(frozen=True)
class Wrapped:
    """A run under a framework."""
    stage: int
    precision: str
    world: int
    universal: bool = False  # loads universal checkpoints

    def config(self):
        zero = {"stage": self.stage, "reduce_bucket_size": 100000}
        if self.stage < 3:
            zero["allgather_bucket_size"] = 100000
        else:
            zero.update(stage3_param_persistence_threshold=100, stage3_prefetch_bucket_size=100000,
                        sub_group_size=SUB_GROUP, stage3_gather_16bit_weights_on_model_save=True)
        config = {"train_micro_batch_size_per_gpu": GLOBAL_BATCH // self.world, "gradient_accumulation_steps": 1,
                  "gradient_clipping": 1.0, "zero_allow_untested_optimizer": True,
                  "zero_force_ds_cpu_optimizer": False, "zero_optimization": zero, "steps_per_print": 1000000}
        if self.precision == "bf16":
            config["bf16"] = {"enabled": True}
        if self.universal:
            config["checkpoint"] = {"load_universal": True}
        return config


def _model(seed):
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                                        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=16,
                                        tie_word_embeddings=True))


def _samples():
    generator = torch.Generator().manual_seed(5)
    start = torch.randint(64, (GLOBAL_BATCH * STEPS, 1), generator=generator)
    tokens = (start + 3 * torch.arange(9)) % 64
    return [{"input_ids": row, "labels": row} for row in tokens]


class _Log(logging.Handler):
    """Keeps what a framework logs about files it does not find."""

    def __init__(self, *loggers):
        super().__init__(logging.INFO)
        self.lines = []
        for name in loggers:
            logging.getLogger(name).addHandler(self)
            logging.getLogger(name).setLevel(logging.INFO)

    def emit(self, record):
        self.lines.append(record.getMessage())


def _draw(rank):
    """Makes the processes' random states different, after one seed made them equal."""
    torch.rand(rank + 1)
    for _ in range(rank + 1):
        random.random()


def _random_states():
    """The random states of this process: torch's and Python's."""
    return torch.random.get_rng_state().numpy().tobytes(), random.getstate()


def run_trainer(rank, world, wrapped, folder, resume):
    """Trains with the Trainer; with `resume`, from that folder. Saves once, unless it resumes."""
    from transformers import Trainer, TrainerCallback, TrainingArguments
    log = _Log("transformers.trainer")
    result = {"losses": [], "random": None}

    class Recorder(TrainerCallback):

        def on_save(self, args, state, control, **kwargs):
            if state.global_step == SAVED_AT:
                self.note(state)

        def on_train_begin(self, args, state, control, **kwargs):
            if resume:
                self.note(state)

        def note(self, state):
            engine = trainer.model_wrapped
            result["state"] = live_state.local_state(engine, rank)
            result["facts"] = {"step": state.global_step, "epoch": state.epoch, "max_steps": state.max_steps,
                             "scheduler": live_state.plain(trainer.lr_scheduler.state_dict()),
                             "log": [entry["step"] for entry in state.log_history]}

    class Recording(Trainer):

        def training_step(self, *args, **kwargs):
            after = self.state.global_step >= SAVED_AT
            if not after:
                _draw(rank)
            elif result["random"] is None:
                result["random"] = _random_states()
            loss = super().training_step(*args, **kwargs)
            if after:
                result["losses"].append(loss.item())
            return loss

    arguments = TrainingArguments(
        output_dir=folder, per_device_train_batch_size=GLOBAL_BATCH // world, max_steps=STEPS, save_steps=SAVED_AT,
        save_total_limit=None, logging_steps=1, learning_rate=1e-2, warmup_steps=2, lr_scheduler_type="cosine",
        weight_decay=0.1, optim="adamw_torch", report_to=[], use_cpu=True, bf16=wrapped.precision == "bf16", seed=7,
        deepspeed=wrapped.config(), disable_tqdm=True, save_strategy="no" if resume else "steps")
    trainer = Recording(model=_model(99 if resume else 17), args=arguments, train_dataset=_samples(),
                        callbacks=[Recorder()])
    trainer.train(resume_from_checkpoint=resume)
    result["said"] = [line for line in log.lines if MISSING in line]
    return result


def gather(result):
    """One Run from what the ranks returned."""
    losses = [sum(step) / len(step) for step in zip(*(part["losses"] for part in result), strict=True)]
    facts = result[0]["facts"]
    for part in result[1:]:
        if part["facts"] != facts:
            raise live_state.Disagreement("ranks report different facts of the framework")
    return Run(live_state.merge([part["state"] for part in result]), losses, [part["random"] for part in result], facts,
               [part["said"] for part in result])


def run_accelerate(rank, world, wrapped, folder, resume):
    """Trains with an Accelerator; with `resume`, from that folder. Saves to `folder`, unless it resumes."""
    from accelerate import Accelerator, DeepSpeedPlugin
    from accelerate.utils import InitProcessGroupKwargs
    # Without the name of a backend every process on a CPU assumes that it is the only one.
    accelerator = Accelerator(deepspeed_plugin=DeepSpeedPlugin(hf_ds_config=wrapped.config()),
                              kwargs_handlers=[InitProcessGroupKwargs(backend="gloo")])
    model = _model(99 if resume else 17)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.9 ** min(step, 8))
    engine, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
    counter = _Counter()
    accelerator.register_for_checkpointing(counter)
    result = {"losses": [], "random": None}

    def note():
        result["state"] = live_state.local_state(engine, rank)
        result["facts"] = {"count": counter.count, "scheduler": live_state.plain(scheduler.scheduler.state_dict())}

    def step(index):
        share = GLOBAL_BATCH // world
        first = index * GLOBAL_BATCH + rank * share
        tokens = torch.stack([sample["input_ids"] for sample in _samples()[first:first + share]])
        loss = engine(input_ids=tokens, labels=tokens).loss
        accelerator.backward(loss)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        counter.count += 1
        return loss.item()

    if resume:
        accelerator.load_state(resume)
        note()
    else:
        for index in range(SAVED_AT):
            _draw(rank)
            step(index)
        note()
        accelerator.save_state(folder)
    result["random"] = _random_states()
    result["losses"] = [step(index) for index in range(SAVED_AT, STEPS)]
    result["said"] = None  # its log is of the first process only
    return result


class _Counter:
    """An object that a user registers to be saved."""

    def __init__(self):
        self.count = 0

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def import_frameworks():
    """Runs before any rank is forked; disables access to the network."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import accelerate  # noqa: F401
    import transformers
    transformers.Trainer  # noqa: B018  (imported when it is asked for)
