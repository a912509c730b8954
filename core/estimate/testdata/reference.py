"""Counts the parameters of the reference implementation of a configuration.

The classes of the wheel transformers are executed over a stand-in for torch that keeps
shapes and nothing else: no weight is made, and torch need not be installed.

Usage: ``reference.py CONFIG.json...`` prints the name and the number of parameters of each.
"""

from __future__ import annotations

import builtins
import json
import sys
from pathlib import Path

import numpy as np
import transformers
from transformers import AutoConfig

MODELS = Path(transformers.__file__).parent / "models"


class Fake:
    """Whatever is not a shape: functions, decorators, constants."""

    def __init__(self, name="fake"):
        self.__dict__["_name"] = name

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and not kwargs and callable(args[0]) and not isinstance(args[0], Fake):
            return args[0]
        return self

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Fake(name)

    def __setattr__(self, name, value):
        pass

    def __getitem__(self, key):
        return self

    def __setitem__(self, key, value):
        pass

    def __iter__(self):
        return iter((Fake(), Fake()))

    def __mro_entries__(self, bases):
        return ()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False

    def __bool__(self):
        return False

    def _self(self, *args):
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = (
        _self
    )
    __pow__ = __rpow__ = __neg__ = __or__ = __ror__ = __floordiv__ = __rfloordiv__ = _self

    def __lt__(self, other):
        return False

    __gt__ = __le__ = __ge__ = __lt__


class T:
    """A tensor: its shape."""

    def __init__(self, array):
        self.array = np.asarray(array)

    @property
    def shape(self):
        return self.array.shape

    def __getitem__(self, key):
        return T(self.array[key])

    def __setitem__(self, key, value):
        pass

    def size(self, i=None):
        return self.shape if i is None else self.shape[i]

    def expand(self, *shape):
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = shape[0]
        old = (1,) * (len(shape) - self.array.ndim) + self.array.shape
        return T(
            np.broadcast_to(
                self.array, [o if s == -1 else s for o, s in zip(old, shape, strict=True)]
            )
        )

    def repeat(self, *times):
        return T(np.tile(self.array, times))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *a, **k: self

    def _self(self, *args):
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = (
        _self
    )
    __pow__ = __rpow__ = __neg__ = _self


def filled(*shape, **kwargs):
    if "size" in kwargs:
        shape = (kwargs["size"],)
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    return T(np.broadcast_to(np.float32(0), [int(s) for s in shape]))


def arange(*args, **kwargs):
    kwargs = {k: v for k, v in kwargs.items() if k in ("start", "end", "step")}
    if kwargs:
        args = args if args else (kwargs.get("start", 0), kwargs["end"])
    return T(np.arange(*args))


class Parameter:
    def __init__(self, data=None, requires_grad=True):
        self.shape = data.shape if data is not None else ()
        self.data = data

    def __getattr__(self, name):
        return Fake(name)


class Module:
    def __init__(self, *args, **kwargs):
        if args:
            self.__dict__.setdefault("config", args[0])

    def register_buffer(self, name, tensor=None, persistent=True):
        self.__dict__[name] = Fake() if isinstance(tensor, Parameter) else tensor

    def register_parameter(self, name, value):
        self.__dict__[name] = value

    def add_module(self, name, module):
        self.__dict__[name] = module

    def post_init(self):
        pass

    def __call__(self, *args, **kwargs):
        return Fake()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Fake(name)


def linear(bias_name="bias"):
    class Linear(Module):
        def __init__(self, in_features, out_features, bias=True, **kwargs):
            self.in_features, self.out_features = in_features, out_features
            self.weight = Parameter(filled(out_features, in_features))
            self.bias = Parameter(filled(out_features)) if bias else None

    return Linear


Linear = linear()


class Conv1D(Module):  # transformers' own, of GPT-2
    def __init__(self, nf, nx):
        self.weight, self.bias = Parameter(filled(nx, nf)), Parameter(filled(nf))


class Conv1d(Module):
    def __init__(self, in_channels, out_channels, kernel_size, groups=1, bias=True, **kwargs):
        k = kernel_size[0] if isinstance(kernel_size, tuple) else kernel_size
        self.weight = Parameter(filled(out_channels, in_channels // groups, k))
        self.bias = Parameter(filled(out_channels)) if bias else None


class Embedding(Module):
    def __init__(self, rows, width, *args, **kwargs):
        self.weight = Parameter(filled(rows, width))


class LayerNorm(Module):
    def __init__(
        self,
        normalized_shape,
        eps=1e-5,
        elementwise_affine=True,
        bias=True,
        device=None,
        dtype=None,
    ):
        shape = (
            normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        )
        self.weight = Parameter(filled(*shape)) if elementwise_affine else None
        self.bias = Parameter(filled(*shape)) if elementwise_affine and bias else None


class ModuleList(Module):
    def __init__(self, modules=()):
        self.items = list(modules)

    def append(self, module):
        self.items.append(module)

    def __iter__(self):
        return iter(self.items)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Sequential(ModuleList):
    def __init__(self, *modules):
        self.items = list(modules)


class ModuleDict(Module):
    def __init__(self, modules=()):
        self.items = list(dict(modules).values())


class Namespace(Fake):
    def __init__(self, name, **known):
        super().__init__(name)
        self.__dict__.update(known)


nn = Namespace(
    "nn",
    Module=Module,
    Parameter=Parameter,
    Linear=Linear,
    Conv1d=Conv1d,
    Embedding=Embedding,
    LayerNorm=LayerNorm,
    RMSNorm=lambda n, **k: LayerNorm(n, bias=False),
    ModuleList=ModuleList,
    ModuleDict=ModuleDict,
    Sequential=Sequential,
)


def same(tensor, *args, **kwargs):
    return tensor


torch = Namespace(
    "torch",
    nn=nn,
    zeros=filled,
    ones=filled,
    empty=filled,
    rand=filled,
    randn=filled,
    arange=arange,
    log=same,
    tensor=lambda *a, **k: Fake(),
)
KNOWN = {
    "PreTrainedModel": Module,
    "GradientCheckpointingLayer": Module,
    "nn": nn,
    "torch": torch,
    "Conv1D": Conv1D,
    "Parameter": Parameter,
    "use_kernelized_func": lambda *a: lambda c: c,
}


class Importer:
    """Stands for the imports of a modelling file: standard library and configurations are real."""

    def __init__(self, package):
        self.package = package

    def __call__(self, name, globals=None, locals=None, fromlist=(), level=0):
        if (
            level == 0
            and name.split(".")[0] not in ("torch", "transformers")
            and name.split(".")[0] in sys.stdlib_module_names
        ):
            return real_import(name, globals, locals, fromlist, level)
        if level == 1 and name.startswith("configuration"):
            return real_import(f"transformers.models.{self.package}.{name}", {}, {}, fromlist, 0)
        if level == 2 and ".modeling_" in "." + name and name.split(".")[0] != "auto":
            package, file = name.split(".")
            return Namespace(name, **load(package, file))
        if name == "torch" and not fromlist:
            return torch
        if name.startswith("torch.nn") and fromlist:
            return nn
        return Namespace(name, **KNOWN)


real_import = builtins.__import__
loaded = {}


def load(package, file):
    if (package, file) in loaded:
        return loaded[package, file]
    path = MODELS / package / (file + ".py")
    scope = {"__name__": file, "__builtins__": dict(vars(builtins), __import__=Importer(package))}
    loaded[package, file] = scope
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), scope)
    return scope


def parameters(module, seen, name="", into=None):
    """Each parameter once, by identity."""
    if id(module) in seen:
        return
    seen.add(id(module))
    if isinstance(module, Parameter):
        into.append((name, module.shape))
        return
    items = (
        enumerate(module.items)
        if isinstance(module, (ModuleList, ModuleDict))
        else list(module.__dict__.items())
    )
    for key, value in items:
        if isinstance(value, (Module, Parameter)):
            parameters(value, seen, f"{name}.{key}", into)


def count(path, show=False):
    fields = json.loads(Path(path).read_text())
    config = AutoConfig.for_model(**fields)
    package = {"xlm-roberta": "xlm_roberta", "gemma3_text": "gemma3"}.get(
        fields["model_type"], fields["model_type"]
    )
    scope = load(package, "modeling_" + package)
    config._attn_implementation = "eager"
    arch = fields.get("architectures", [None])[0] or next(
        n for n in scope if n.endswith("ForCausalLM")
    )
    if arch not in scope:
        arch = next(n for n in scope if n.lower() == arch.lower())
    if arch.endswith("ForMaskedLM"):
        arch = arch.removesuffix("ForMaskedLM") + "Model"
    model = scope[arch](config)
    found = []
    parameters(model, set(), into=found)
    total = 0
    for name, shape in found:
        if name in (".lm_head.weight", ".embed_out.weight") and config.tie_word_embeddings:
            continue
        total += int(np.prod(shape, dtype=object))
        if show:
            print(name, shape)
    return total


if __name__ == "__main__":
    for path in sys.argv[1:]:
        if path == "-v":
            continue
        try:
            print(Path(path).stem, count(path, "-v" in sys.argv))
        except Exception as error:
            import traceback

            traceback.print_exc(limit=-3)
            print(Path(path).stem, "ERROR", repr(error)[:300])
