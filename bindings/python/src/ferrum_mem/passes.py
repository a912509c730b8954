"""Passes of the program: functions that change the definition of a model before it is built.

docs/passes.md explains them. They are in the namespace ferrum_mem.models.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from . import _abi, _callbacks, _library, _native
from ._arguments import callable_of, listed, object_of
from ._definitions import Definition, json_of, text_of
from ._owned import Owned, Resource
from ._values import u32, wrong_class

if TYPE_CHECKING:
    from .results import Optimized

# Returns the changed definition, None, or a pair of one of them and a list of warnings.
PassFunction = Callable[[dict[str, Any]], object]


class OptimizationPass:
    """A pass of the program. The decorator optimization_pass() makes it of a function.

    BuildOptions(passes=) and optimize() take it: it is registered while the call runs.
    """

    def __init__(
        self,
        function: PassFunction,
        name: str,
        dependencies: Iterable[str] = (),
        is_applicable: Callable[[dict[str, Any]], object] | None = None,
    ) -> None:
        self._function = callable_of("function", function)
        self._name = object_of("name", name, str)
        self._dependencies = _names("dependencies", dependencies)
        if is_applicable is not None:
            callable_of("is_applicable", is_applicable)
        self._is_applicable = is_applicable
        self._lock = threading.Lock()
        self._users = 0
        self._registered: RegisteredPass | None = None

    def __call__(self, definition: dict[str, Any]) -> object:
        """Calls the function."""
        return self._function(definition)

    def __repr__(self) -> str:
        return f"OptimizationPass({self._name!r})"

    @property
    def name(self) -> str:
        """Its name, which the option "passes" of a build may name."""
        return self._name

    @property
    def dependencies(self) -> tuple[str, ...]:
        """The names of the passes that must have run before it."""
        return self._dependencies

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[None]:
        """Registers the pass, unless it is registered already."""
        with self._lock:
            known = _explicit.get(self._name)
            is_registered = known is not None and known._pass is self and not known.closed
            if not is_registered and self._users == 0:
                self._registered = _register(self)
                self._registered._owned.is_silent = True
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0 and self._registered is not None:
                    # If another part of the program uses it by its name, the collector ends it.
                    self._registered._owned.end_quietly()
                    self._registered = None

    def _check(self, raw: _abi.ferrum_pass_call, answer: Any) -> None:
        """The function is_applicable of C."""
        applies = self._is_applicable is None or self._is_applicable(_decoded(raw))
        answer[0] = int(bool(applies))

    def _apply(self, raw: _abi.ferrum_pass_call) -> None:
        """The function apply of C."""
        made, warnings = self._function(_decoded(raw)), []
        if isinstance(made, tuple) and len(made) == 2:
            made, warnings = made[0], listed("warnings", made[1], "str")
        for each in warnings:
            text = object_of("a warning", each, str).encode()
            _native.check(raw.warn(raw.call, text))
        if made is None:
            return
        text = text_of(made)  # type: ignore[arg-type]
        _native.check(raw.replace(raw.call, text, len(text)))


def _names(argument: str, given: Iterable[str]) -> tuple[str, ...]:
    all_of = listed(argument, given, "str")
    return tuple(object_of(f"an element of {argument}", each, str) for each in all_of)


def _decoded(raw: _abi.ferrum_pass_call) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(raw.definition_json or b"")
    return found


@overload
def optimization_pass(
    function: PassFunction,
    *,
    name: str | None = None,
    dependencies: Iterable[str] = (),
    is_applicable: Callable[[dict[str, Any]], object] | None = None,
) -> OptimizationPass: ...
@overload
def optimization_pass(
    function: None = None,
    *,
    name: str | None = None,
    dependencies: Iterable[str] = (),
    is_applicable: Callable[[dict[str, Any]], object] | None = None,
) -> Callable[[PassFunction], OptimizationPass]: ...
def optimization_pass(
    function: PassFunction | None = None,
    *,
    name: str | None = None,
    dependencies: Iterable[str] = (),
    is_applicable: Callable[[dict[str, Any]], object] | None = None,
) -> OptimizationPass | Callable[[PassFunction], OptimizationPass]:
    """Makes a pass of a function, as a decorator.

        @fm.models.optimization_pass(dependencies=["fold_constants"])
        def rename(definition):
            definition["metadata"]["name"] = "renamed"
            return definition

        fm.models.build("minilm", options=fm.BuildOptions(passes=["fold_constants", rename]))

    The function gets the decoded definition. It returns the changed one, or None: the
    definition stays, whatever the function did to its argument. It may also return a pair of
    that and a list of warnings. Several threads may call it at a time. Its exception ends the
    call that runs the pass, and is the cause of the error.

    Args:
        function: the function, if the decorator has no arguments.
        name: 1 to 63 letters, digits, "_", "-" and "."; None: the name of the function.
        dependencies: the names of the passes that must have run before it.
        is_applicable: called with the decoded definition; the pass is skipped if it returns a
            false value. None: the pass runs always.
    """

    if name is not None:
        object_of("name", name, str)
    needs = _names("dependencies", dependencies)
    if is_applicable is not None:
        callable_of("is_applicable", is_applicable)

    def made(of: PassFunction) -> OptimizationPass:
        callable_of("function", of)
        named = name if name is not None else getattr(of, "__name__", "pass")
        return OptimizationPass(of, named, needs, is_applicable)

    return made if function is None else made(function)


class RegisteredPass(Resource):
    """A registered pass of the program. register_pass() makes it. close() removes it, and raises
    BusyError while a call uses the pass.
    """

    def __init__(
        self,
        of: OptimizationPass,
        handle: _abi.ferrum_registration,
        forget: Callable[[], None],
    ) -> None:
        self._pass = of
        end = _native.functions().ferrum_registration_remove
        label = f"RegisteredPass {of.name}"
        self._own(Owned(label, lambda _: end(handle), _library.opens, forget), handle)

    @property
    def name(self) -> str:
        """The name for the option "passes" of a build."""
        return self._pass.name


# The registrations of register_pass().
_explicit: weakref.WeakValueDictionary[str, RegisteredPass] = weakref.WeakValueDictionary()


def register_pass(of: OptimizationPass) -> RegisteredPass:
    """Registers a pass, so that all parts of the program can name it until the registration is
    closed. A pass object itself can be used without that.

    Raises:
        AlreadyExistsError: another pass has the name.
        InvalidArgumentError: the name or a dependency is not possible.
    """
    made = _register(object_of("of", of, OptimizationPass))
    _explicit[of.name] = made
    return made


def _register(of: OptimizationPass) -> RegisteredPass:
    _library.ensure_started()
    raw = _abi.ferrum_pass.init()
    raw.name = _native.encode("name", of.name)
    needs = [_native.encode("dependencies", each) for each in of.dependencies]
    raw.dependencies = (ctypes.c_char_p * len(needs))(*needs)
    raw.dependency_count = u32("the number of dependencies", len(needs))
    raw.is_applicable, raw.apply, raw.user_data, forget = _callbacks.pass_of(of._check, of._apply)
    handle = _abi.ferrum_registration()
    status = _native.functions().ferrum_pass_register(ctypes.byref(raw), ctypes.byref(handle))
    if status < 0:
        error = _native.error_of(status)
        forget()
        raise error
    return RegisteredPass(of, handle, forget)


@contextlib.contextmanager
def names_of(passes: Sequence[str | OptimizationPass] | None) -> Iterator[list[str] | None]:
    """The names of passes. Those that are objects are registered until the end."""
    if passes is None:
        yield None
        return
    names: list[str] = []
    with contextlib.ExitStack() as registered:
        for each in listed("passes", passes, "str or OptimizationPass"):
            if isinstance(each, OptimizationPass):
                if each.name not in names:
                    registered.enter_context(each._in_use())
                names.append(each.name)
            elif isinstance(each, str):
                names.append(each)
            else:
                raise wrong_class("an element of passes", "a str or an OptimizationPass", each)
        yield names


def optimize(
    definition: Definition, passes: Sequence[str | OptimizationPass] | None = None
) -> Optimized:
    """Runs passes over a definition. Nothing is built.

    Args:
        definition: its JSON, or the decoded object.
        passes: names of passes, and passes; None: those of optimization_level 2.

    Raises:
        InvalidFormatError: it is no definition, or a pass returned no definition.
        InvalidConfigError: the definition has issues that stop a build, or a pass made some.
        ModelError: a pass changed the inputs or outputs.
        NotFoundError: there is no pass with a name, or a dependency is not in the list.
        InvalidArgumentError: the dependencies are in a cycle.
        AlreadyExistsError: a name occurs twice.
        The errors of the passes.
    """
    _library.ensure_started()
    text, function = text_of(definition), _native.functions().ferrum_definition_optimize
    received: list[bytes] = []
    with names_of(passes) as names:
        list_text = None if names is None else json_of("passes", names)
        size = 0 if list_text is None else len(list_text)
        with _callbacks.text_receiver(received.append) as (receive, key):
            _callbacks.check_compute(
                lambda: function(text, len(text), list_text, size, receive, key)
            )
    found: Optimized = json.loads(received[0])
    return found


def standard_passes(level: int = 2) -> list[str]:
    """The names of the passes of a level of optimization, in the order in which they run best.

    Args:
        level: 0 to 3, as in BuildOptions.
    """
    from .models import builder_info

    most = u32("level", level)
    return [each["name"] for each in builder_info()["passes"] if 0 < each["level"] <= most]
