# SPDX-License-Identifier: Apache-2.0
"""`export --format adapter` of PEFT's LoRA, trained in stock DeepSpeed, compared with the output of PEFT's
`save_pretrained` of the live model, and with the results of a model loaded from the export."""

import contextlib
import shutil
from dataclasses import dataclass

import torch

from compare import checks
from runs import ranks

STEPS = 3
ALPHA = 12
# Name → arguments of LoraConfig.
ADAPTERS = {
    "plain": {"r": 4, "target_modules": ["q_proj", "v_proj"]},
    "ranks": {"r": 4, "target_modules": ["q_proj", "down_proj"], "rank_pattern": {"layers.1.self_attn.q_proj": 2}},
    "dora": {"r": 3, "target_modules": ["k_proj", "up_proj"], "use_dora": True},
    "saved": {"r": 4, "target_modules": ["o_proj"], "modules_to_save": ["lm_head", "norm"]},
    "embedding": {"r": 4, "target_modules": ["embed_tokens", "q_proj"]},
    "biases": {"r": 4, "target_modules": ["q_proj", "k_proj"], "bias": "lora_only", "lora_bias": True},
    "all-biases": {"r": 4, "target_modules": ["q_proj"], "bias": "all"},
}


def _base():
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(23)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                                         num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=16,
                                         tie_word_embeddings=False, attention_bias=True))
    for name, parameter in model.named_parameters():  # which a new model has at zero
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter, std=0.02)
    return model


def _config(adapter):
    from peft import LoraConfig
    return LoraConfig(lora_alpha=ALPHA, lora_dropout=0.0, **ADAPTERS[adapter])


def _tokens():
    return (3 * torch.arange(12) % 64).reshape(2, 6)


def _train(rank, world, case, folder, saved):
    """Trains, saves both ways, and returns the live model's values by name, from rank 0."""
    import deepspeed
    from peft import get_peft_model
    torch.manual_seed(31)
    model = get_peft_model(_base(), _config(case.adapter))
    for name, parameter in model.named_parameters():  # lora_B begins at zero, and would stay near it
        if "lora_B" in name or "lora_embedding_A" in name:
            torch.nn.init.normal_(parameter, std=0.02)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-2, weight_decay=0.1)
    zero = {"stage": case.stage, "reduce_bucket_size": 100000}
    if case.stage == 3:
        zero.update(stage3_param_persistence_threshold=50, stage3_prefetch_bucket_size=100000)
    config = {"train_micro_batch_size_per_gpu": 2, "zero_optimization": zero, "steps_per_print": 1000000,
              "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False}
    if case.precision == "bf16":
        config["bf16"] = {"enabled": True}
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    for step in range(STEPS):
        generator = torch.Generator().manual_seed(100 * step + rank)
        tokens = torch.randint(64, (2, 8), generator=generator)
        loss = engine(input_ids=tokens, labels=tokens).loss
        engine.backward(loss)
        engine.step()
    engine.save_checkpoint(folder, exclude_frozen_parameters=case.without_frozen)
    gathered = contextlib.nullcontext()
    if case.stage == 3:
        gathered = deepspeed.zero.GatheredParameters(list(engine.module.parameters()))
    with gathered:
        if rank == 0:
            engine.module.save_pretrained(saved)
            return {name: value.float().numpy().copy() for name, value in engine.module.state_dict().items()}
    return None


def _logits(model):
    with torch.no_grad():
        return model.eval()(input_ids=_tokens()).logits


@dataclass(frozen=True)
class Adapter:
    """Train, save, export: PEFT's own bytes, which give the live model's logits."""
    adapter: str
    stage: int
    precision: str
    world: int
    configured: bool = True  # adapter_config.json is next to the checkpoint
    without_frozen: bool = False
    frameworks = True

    @property
    def name(self):
        suffix = "" if self.configured else " without its configuration"
        frozen = " without frozen" if self.without_frozen else ""
        return f"adapter {self.adapter} zero{self.stage}-{self.precision} {self.world}{suffix}{frozen}"

    def run(self, context):
        import peft  # noqa: F401 before the ranks are forked
        import transformers  # noqa: F401
        from peft import PeftModel, get_peft_model
        run, saved = context.target(f"{self.name} run"), context.target(f"{self.name} saved")
        live = ranks.run_ranks(self.world, _train, self, str(run), str(saved), log_path=context.sources.log)[0]
        options = []
        if self.configured:
            shutil.copy(saved / "adapter_config.json", run)
        else:
            refused = context.tool.call("export", run, context.target(f"{self.name} refused"), "--format", "adapter",
                                        expect=6)
            if "lora_alpha" not in refused["message"]:
                raise checks.Failure("the refusal does not name lora_alpha")
            options = ["--adapter-option", f"lora_alpha={ALPHA}"]
        target = context.target(self.name)
        answer = context.tool.call("export", run, target, "--format", "adapter", *options)
        if not answer["result"]["verified"]:
            raise checks.Failure("the export was not verified")
        count = self._check_files(saved, target)
        dtype = torch.bfloat16 if self.precision == "bf16" else torch.float32
        # Not in the engine, where linear layers round differently (ZeRO-3). Unaligned memory rounds differently, too.
        model = get_peft_model(_base(), _config(self.adapter)).to(dtype)
        model.load_state_dict({name: torch.from_numpy(value) for name, value in live.items()})
        loaded = PeftModel.from_pretrained(_base().to(dtype), target, autocast_adapter_dtype=False)
        expected, found = _logits(model), _logits(loaded)
        if not torch.equal(expected, found):
            raise checks.Failure(f"other logits than the live model's, by {(expected - found).abs().max()}")
        return f"{count} tensors in the same bytes as save_pretrained, logits bit-equal"

    def _check_files(self, saved, target):
        from safetensors.torch import load_file
        name = "adapter_model.safetensors"
        meant, found = load_file(saved / name), load_file(target / name)
        if meant.keys() != found.keys():
            raise checks.Failure(f"other names than PEFT's: {sorted(meant.keys() ^ found.keys())[:6]}")
        if (saved / name).read_bytes() != (target / name).read_bytes():
            wrong = [key for key in meant if not torch.equal(meant[key], found[key])]
            raise checks.Failure(f"other bytes than PEFT writes, in {wrong[:4]}")
        config = "adapter_config.json"
        if self.configured and (saved / config).read_bytes() != (target / config).read_bytes():
            raise checks.Failure("the configuration is not the one next to the checkpoint")
        if {path.name for path in target.iterdir()} != {name, config, "shardscope.json"}:
            raise checks.Failure("other files than an adapter has")
        return len(meant)


def short_run():
    return [Adapter("plain", 2, "bf16", 2), Adapter("saved", 3, "bf16", 2)]


def full_run():
    shapes = [Adapter(adapter, 2, "bf16", 2) for adapter in ADAPTERS if adapter != "plain"]
    stage3 = [Adapter(adapter, 3, "bf16", 2) for adapter in ("plain", "ranks", "embedding", "biases", "all-biases")]
    return short_run() + shapes + stage3 + [
        Adapter("plain", 2, "fp32", 1), Adapter("plain", 3, "bf16", 3, without_frozen=True),
        Adapter("saved", 2, "bf16", 2, without_frozen=True),
        Adapter("ranks", 2, "bf16", 2, configured=False), Adapter("dora", 2, "bf16", 2, configured=False),
        Adapter("saved", 3, "bf16", 2, configured=False), Adapter("biases", 2, "bf16", 2, configured=False),
        Adapter("all-biases", 2, "bf16", 2, configured=False)]
