# SPDX-License-Identifier: Apache-2.0
"""Lets releases of DeepSpeed that support only CUDA run on a CPU: calls to CUDA are answered by the CPU.

install() comes before the first import of deepspeed, and only in a process that does nothing else.
"""

import contextlib
import sys
import types

import torch
import torch.distributed as dist


def _on_cpu(device):
    if isinstance(device, int):
        return "cpu"
    return "cpu" if device is not None and str(device).startswith("cuda") else device


class _Nothing:
    """A stream or an event: every operation is already complete."""

    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


class _Done:

    def wait(self, *args):
        return True

    def is_completed(self):
        return True


def _take_factories():
    for name in ("zeros", "empty", "ones", "full", "tensor", "arange", "rand", "randn", "as_tensor", "empty_like",
                 "zeros_like", "ones_like"):
        def made(*args, _original=getattr(torch, name), **kwargs):
            if "device" in kwargs:
                kwargs["device"] = _on_cpu(kwargs["device"])
            return _original(*args, **kwargs)
        setattr(torch, name, made)


def _take_tensor():
    tensor, to, kind = torch.Tensor, torch.Tensor.to, torch.Tensor.type
    matmul, norm = torch.Tensor.matmul, torch.Tensor.norm

    def moved(self, *args, **kwargs):
        args = [_on_cpu(value) if isinstance(value, (str, torch.device)) else value for value in args]
        if args and isinstance(args[0], int) and not isinstance(args[0], bool):
            args[0] = "cpu"
        if "device" in kwargs:
            kwargs["device"] = _on_cpu(kwargs["device"])
        return to(self, *args, **kwargs)

    def named(self, *args, **kwargs):
        # Gradients are sorted into buckets by this name, and those of no known name are not reduced.
        if args or kwargs:
            return kind(self, *[str(value).replace("torch.cuda.", "torch.") if isinstance(value, str) else value
                                for value in args], **kwargs)
        return kind(self).replace("torch.", "torch.cuda.")

    def product(self, other):
        if self.dtype is torch.half:
            return matmul(self.float(), other.float()).half()
        return matmul(self, other)

    tensor.to, tensor.type = moved, named
    tensor.cuda = lambda self, *args, **kwargs: self
    tensor.pin_memory = lambda self, *args, **kwargs: self
    tensor.matmul = tensor.__matmul__ = product
    tensor.record_stream = lambda self, stream: None
    tensor.norm = lambda self, *args, **kwargs: norm(self.float() if self.dtype is torch.half else self, *args, **kwargs)
    module_to = torch.nn.Module.to
    torch.nn.Module.to = lambda self, *args, **kwargs: module_to(
        self, *[_on_cpu(value) if isinstance(value, (str, torch.device)) else value for value in args],
        **{key: _on_cpu(value) if key == "device" else value for key, value in kwargs.items()})
    torch.nn.Module.cuda = lambda self, *args: self


def _take_functions():
    """Operations that PyTorch 1.12 does not support in fp16 on a CPU are computed in fp32 and rounded."""
    functional = torch.nn.functional
    for name in ("linear", "layer_norm", "gelu", "softmax"):
        def computed(*args, _original=getattr(functional, name), **kwargs):
            half = any(torch.is_tensor(value) and value.dtype is torch.half for value in args)
            if not half:
                return _original(*args, **kwargs)
            wide = [value.float() if torch.is_tensor(value) and value.is_floating_point() else value
                    for value in args]
            kwargs = {key: value.float() if torch.is_tensor(value) else value for key, value in kwargs.items()}
            return _original(*wide, **kwargs).half()
        setattr(functional, name, computed)


def _take_cuda():
    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 8
    cuda.current_device = lambda: "cpu"
    cuda.stream = cuda.device = lambda *args: contextlib.nullcontext()
    cuda.Stream = cuda.Event = _Nothing
    cuda.current_stream = cuda.default_stream = lambda *args: _Nothing()
    for name in ("set_device", "synchronize", "empty_cache", "reset_max_memory_allocated", "manual_seed",
                 "reset_max_memory_cached", "reset_peak_memory_stats", "set_stream", "nvtx"):
        setattr(cuda, name, lambda *args, **kwargs: None)
    for name in ("memory_allocated", "max_memory_allocated", "memory_cached", "max_memory_cached", "memory_reserved",
                 "max_memory_reserved"):
        setattr(cuda, name, lambda *args, **kwargs: 0)
    cuda.nvtx = types.SimpleNamespace(range_push=lambda *a: None, range_pop=lambda *a: None)
    cuda.get_device_capability = lambda *args: (8, 0)
    cuda.is_bf16_supported = lambda: True
    cuda.memory_stats = lambda *args: {"num_alloc_retries": 0}
    cuda.get_device_properties = lambda *args: types.SimpleNamespace(
        total_memory=1 << 33, name="cpu", major=8, minor=0, multi_processor_count=8)
    def typed(kind):
        def make(*args):
            return torch.tensor(*args, dtype=kind) if args and isinstance(args[0], (list, tuple)) else torch.empty(
                *args, dtype=kind)
        return make
    for name, kind in (("FloatTensor", torch.float), ("HalfTensor", torch.half), ("ByteTensor", torch.uint8),
                       ("IntTensor", torch.int), ("LongTensor", torch.long), ("BFloat16Tensor", torch.bfloat16),
                       ("DoubleTensor", torch.double)):
        setattr(cuda, name, typed(kind))


def _take_collectives():
    """gloo of that PyTorch lacks some."""
    def scatter(output, input_list, op=dist.ReduceOp.SUM, group=None, async_op=False):
        for rank, piece in enumerate(input_list):
            total = piece.clone()
            dist.all_reduce(total, op=op, group=group)
            if rank == dist.get_rank(group=group):
                output.copy_(total)
        return _Done() if async_op else None

    def scatter_base(output, input, op=dist.ReduceOp.SUM, group=None, async_op=False):
        return scatter(output, list(input.chunk(dist.get_world_size(group=group))), op, group, async_op)

    def gather_base(output_tensor, input_tensor, group=None, async_op=False):
        parts = [torch.empty_like(input_tensor) for _ in range(dist.get_world_size(group=group))]
        dist.all_gather(parts, input_tensor.contiguous(), group=group)
        with torch.no_grad():
            output_tensor.copy_(torch.cat(parts).view_as(output_tensor))
        return _Done() if async_op else None

    def sum_at(tensor, dst, op=dist.ReduceOp.SUM, group=None, async_op=False):
        total = tensor.clone()
        dist.all_reduce(total, op=op, group=group)
        if dist.get_rank() == dst:
            tensor.copy_(total)
        return _Done() if async_op else None

    def widened(original):
        def call(tensor, *args, **kwargs):
            if tensor.dtype is not torch.bfloat16:
                return original(tensor, *args, **kwargs)
            wide = tensor.detach().float()
            kwargs.pop("async_op", None)
            original(wide, *args, **kwargs)
            with torch.no_grad():
                tensor.copy_(wide)
            return _Done()
        return call

    def gather(tensor_list, tensor, group=None, async_op=False, _original=dist.all_gather):
        wide = tensor.dtype is torch.bfloat16
        parts = [part.float() if wide else torch.empty_like(part) for part in tensor_list]
        _original(parts, tensor.detach().float() if wide else tensor.detach().contiguous(), group=group)
        with torch.no_grad():
            for part, got in zip(tensor_list, parts):
                part.copy_(got)
        return _Done() if async_op else None

    for name in ("broadcast", "all_reduce"):
        setattr(dist, name, widened(getattr(dist, name)))
    dist.all_gather = gather
    for name, function in (("reduce", sum_at), ("reduce_scatter", scatter), ("_reduce_scatter_base", scatter_base),
                           ("_all_gather_base", gather_base), ("reduce_scatter_tensor", scatter_base),
                           ("all_gather_into_tensor", gather_base)):
        for module in (dist, dist.distributed_c10d):
            if hasattr(module, name):
                setattr(module, name, function)


def install():
    if "deepspeed" in sys.modules:
        raise RuntimeError("DeepSpeed was imported before")
    _take_factories()
    _take_functions()
    _take_cuda()
    _take_tensor()
    _take_collectives()


def take_ops(deepspeed):
    """Flattening, which DeepSpeed compiles, is in torch as well."""
    from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
    flat = types.SimpleNamespace(flatten=_flatten_dense_tensors, unflatten=_unflatten_dense_tensors)
    for module in list(sys.modules.values()):
        builder = getattr(module, "UtilsBuilder", None)
        if builder is not None and getattr(module, "__name__", "").startswith("deepspeed"):
            builder.load = lambda self, verbose=True: flat
