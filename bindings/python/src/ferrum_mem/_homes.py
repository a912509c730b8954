"""What tensors over the same memory have in common, and the records of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import _abi, _native
from ._owned import Node, Owned, Remaining
from .devices import Device
from .elastic_pools import Model
from .virtual_pools import VirtualPool

if TYPE_CHECKING:
    from ._places import Place
    from .compute import Compute


class LiveTensor(Remaining):
    """The record of a tensor. A tensor may be collected without close(), because expressions
    make tensors that have no name.
    """

    is_silent = True
    may_force = False

    def __init__(self, label: str, handle: _abi.ferrum_tensor, home: Home) -> None:
        self._home = home
        self.tag = home.tag
        end = _native.functions().ferrum_tensor_destroy
        home.tensors.add(self)
        super().__init__(label, lambda: end(handle), home.node, lambda: home.remove(self))

    def end_quietly(self, may_wait: bool = False) -> None:
        """Like Owned.end_quietly(). Memory that a sleep or a wake is working on is freed when
        that has ended.
        """
        late = getattr(self._home.space, "_late", None)
        mark = None if late is None else late.mark
        super().end_quietly(may_wait)
        if late is not None and not self.ended:
            late.add(self, mark)


class Home:
    """What tensors over the same memory have in common.

    Attributes:
        node: what the memory depends on.
        device: its device.
        memory: where to() and copy() make further tensors; None: unknown.
        space: the virtual pool or model with the memory, which may sleep.
        tag: of the memory.
        tensors: the tensors that exist.
        at_end: called when the last tensor has ended.
    """

    def __init__(
        self,
        node: Node,
        device: Device,
        *,
        memory: Place | None = None,
        space: VirtualPool | Model | None = None,
        tag: str | None = None,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        self.node = node
        self.device = device
        self.memory = memory
        self.space = space
        self.tag = tag
        self.tensors: set[Owned] = set()
        self.at_end = at_end
        # The backend of the operators, which the tensors keep.
        self.compute: Compute | None = None

    def remove(self, owned: Owned) -> None:
        """Called when a tensor has ended. Takes no lock, because finalizers end tensors."""
        self.tensors.discard(owned)
        if self.tensors:
            return
        self.compute = None
        at_end, self.at_end = self.at_end, None
        if at_end is not None:
            at_end()


def home_in(memory: Place, tag: str | None) -> Home:
    """That of new memory in a pool, a virtual pool or a model."""
    space = memory if isinstance(memory, (VirtualPool, Model)) else None
    return Home(memory._owned, memory.device, memory=memory, space=space, tag=tag)
