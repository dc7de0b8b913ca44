# SPDX-License-Identifier: Apache-2.0
"""Small models as people train them, and data that they can learn: the losses fall, and gradients become small."""

import torch
from torch import nn
from torch.nn import functional

VOCABULARY, LENGTH, CLASSES, FEATURES, PIXELS = 64, 20, 8, 24, 16


def _sizes(width, layers, heads=4):
    return {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads,
            "vocab_size": VOCABULARY, "max_position_embeddings": 64}


def _gpt2(width=48, layers=4, **more):
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=64, n_embd=width, n_layer=layers, n_head=4,
                                      resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, **more))


def _llama(width=48, layers=4, tied=False):
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(**_sizes(width, layers), intermediate_size=2 * width, num_key_value_heads=2,
                                        tie_word_embeddings=tied))


def _mixtral(width=32, layers=3, experts=4):
    from transformers import MixtralConfig, MixtralForCausalLM
    return MixtralForCausalLM(MixtralConfig(**_sizes(width, layers), intermediate_size=48, num_key_value_heads=2,
                                            num_local_experts=experts))


def _t5(width=32, layers=3):
    from transformers import T5Config, T5ForConditionalGeneration
    return T5ForConditionalGeneration(T5Config(vocab_size=VOCABULARY, d_model=width, d_kv=8, d_ff=2 * width, num_heads=4,
                                               num_layers=layers, dropout_rate=0.0, decoder_start_token_id=0))


def _bert(width=48, layers=4):
    """Its pooler gets no gradients: a masked language model trains on the tokens alone."""
    from transformers import BertConfig, BertModel

    class Masked(nn.Module):

        def __init__(self):
            super().__init__()
            self.bert = BertModel(BertConfig(**_sizes(width, layers), intermediate_size=2 * width,
                                             hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
            self.head = nn.Linear(width, VOCABULARY)

        def forward(self, input_ids, labels):
            return functional.cross_entropy(self.head(self.bert(input_ids)[0]).float().flatten(0, 1), labels.flatten())

    return Masked()


def _vit(width=48, layers=6):
    from transformers import ViTConfig, ViTForImageClassification
    return ViTForImageClassification(ViTConfig(hidden_size=width, num_hidden_layers=layers, num_attention_heads=4,
                                               intermediate_size=2 * width, image_size=PIXELS, patch_size=4,
                                               num_channels=3, num_labels=CLASSES))


def _lora(base="gpt2", rank=4, **sizes):
    """The base is frozen, so that only the added matrices have an optimizer's state."""
    from peft import LoraConfig, get_peft_model
    model = MODELS[base](**sizes)
    targets = {"gpt2": ["c_attn", "c_fc"], "llama": ["q_proj", "v_proj"]}[base]
    return get_peft_model(model, LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=targets, lora_dropout=0.0,
                                            fan_in_fan_out=base == "gpt2"))


def _mlp(widths=(FEATURES, 64, 64, CLASSES), norm=False):
    """A plain Sequential, so that a layer's name is a number alone."""
    layers = []
    for index, (into, out) in enumerate(zip(widths, widths[1:])):
        layers.append(nn.Linear(into, out))
        if index + 2 < len(widths):
            layers += [nn.LayerNorm(out), nn.GELU()] if norm else [nn.ReLU()]
    return nn.Sequential(*layers)


class _ConvNet(nn.Module):
    """With batch norms, whose running means are buffers, and one layer that no batch uses."""

    def __init__(self, width=16, blocks=3):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1))
                                    for _ in range(blocks))
        self.spare = nn.Linear(width, width)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, pixel_values):
        x = self.stem(pixel_values)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x.mean((2, 3)))


class _Recurrent(nn.Module):
    """Layers without numbers in their names."""

    def __init__(self, width=48):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.cells = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.out = nn.Linear(width, VOCABULARY)
        self.temperature = nn.Parameter(torch.ones(1))

    def forward(self, input_ids, labels):
        logits = self.out(self.cells(self.embedding(input_ids))[0]) * self.temperature
        return functional.cross_entropy(logits[:, :-1].float().flatten(0, 1), labels[:, 1:].flatten())


class _Gates(nn.Module):
    """Residual blocks that begin as nothing: their gates and last matrices are zero, as in diffusion transformers."""

    def __init__(self, width=48, blocks=6):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.blocks = nn.ModuleList()
        for _ in range(blocks):
            last = nn.Linear(2 * width, width)
            nn.init.zeros_(last.weight)
            self.blocks.append(nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), last))
        self.gates = nn.ParameterList(nn.Parameter(torch.zeros(width)) for _ in range(blocks))
        self.out = nn.Linear(width, VOCABULARY)

    def forward(self, input_ids, labels):
        x = self.embedding(input_ids)
        for block, gate in zip(self.blocks, self.gates):
            x = x + (1 + gate) * block(x)
        return functional.cross_entropy(self.out(x)[:, :-1].float().flatten(0, 1), labels[:, 1:].flatten())


MODELS = {"gpt2": _gpt2, "llama": _llama, "mixtral": _mixtral, "t5": _t5, "bert": _bert, "vit": _vit, "lora": _lora,
          "mlp": _mlp, "conv": _ConvNet, "lstm": _Recurrent, "gates": _Gates}


def build(kind, sizes, frozen=(), seed=17):
    """`frozen`: parts of the names of the parameters that are not trained."""
    torch.manual_seed(seed)
    model = MODELS[kind](**dict(sizes))
    for name, parameter in model.named_parameters():
        if any(part in name for part in frozen):
            parameter.requires_grad_(False)
    model.train()
    return model


class Data:
    """The same batch for a step in any number of ranks."""

    def __init__(self, kind, variant="", seed=5):
        made = torch.Generator().manual_seed(seed)
        self.kind, self.noise = kind, 0.1 if variant == "easy" else 0.7
        self.changes_at = int(variant.split()[-1]) if variant.startswith("changes") else None
        self.chain = (2.5 * torch.randn(VOCABULARY, VOCABULARY, generator=made)).softmax(-1)
        self.centres = torch.randn(CLASSES, FEATURES, generator=made)
        self.pictures = torch.randn(CLASSES, 3, PIXELS, PIXELS, generator=made)

    def batch(self, step, size):
        made = torch.Generator().manual_seed(1000 + step)
        labels = torch.randint(CLASSES, (size,), generator=made)
        if self.kind == "mlp":
            return self.centres[labels] + self.noise * torch.randn(size, FEATURES, generator=made), labels
        if self.kind in ("vit", "conv"):
            return self.pictures[labels] + 1.5 * torch.randn(size, 3, PIXELS, PIXELS, generator=made), labels
        tokens = [torch.randint(VOCABULARY, (size,), generator=made)]
        for _ in range(LENGTH - 1):
            tokens.append(torch.multinomial(self.chain[tokens[-1]], 1, generator=made)[:, 0])
        tokens = torch.stack(tokens, 1)
        if self.changes_at is not None and step >= self.changes_at:
            tokens = (7 * tokens + 3) % VOCABULARY
        if self.kind == "bert":
            hidden = tokens.clone()
            hidden[:, ::5] = 0
            return hidden, tokens
        return tokens, tokens


def loss_of(kind, engine, inputs, labels, dtype):
    if kind in ("mlp", "conv"):
        return functional.cross_entropy(engine(inputs.to(dtype)).float(), labels)
    if kind == "vit":
        return functional.cross_entropy(engine(pixel_values=inputs.to(dtype)).logits.float(), labels)
    if kind in ("bert", "lstm", "gates"):
        return engine(input_ids=inputs, labels=labels)
    return engine(input_ids=inputs, labels=labels).loss
