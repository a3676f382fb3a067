"""Methods written once for synchronous and asynchronous callers.

Such a method is a generator. It yields calls of its native workspace, each as a name and arguments; it is sent the
result, or the `Failure` is thrown into it. `dual_method` makes a synchronous method of it; `run_async` runs the same
steps in an event loop, where cancelling the task cancels the native call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from workden._native import Failure

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")
S = TypeVar("S")
M = TypeVar("M", bound=Callable[..., Any])

Steps = Generator["tuple[str, tuple[Any, ...]]", Any, T]
"""Yields native calls one after the other, and returns the result."""


def dual_method(method: Callable[Concatenate[S, P], Steps[T]]) -> Callable[Concatenate[S, P], T]:
    """Makes a synchronous method of a generator. The generator function stays available as the attribute `steps`."""

    @functools.wraps(method)
    def waiting(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        native = cast("Any", self)._native
        steps = method(self, *args, **kwargs)
        try:
            name, arguments = next(steps)
            while True:
                try:
                    answer = getattr(native, name)(*arguments)
                except (Failure, UnicodeEncodeError, OverflowError) as error:
                    name, arguments = steps.throw(_failure(error))
                else:
                    name, arguments = steps.send(answer)
        except StopIteration as done:
            return done.value

    return with_steps(waiting, method)


def with_steps(method: M, steps: Callable[..., Any]) -> M:
    """Attaches steps to a method that has the same effect, so that async callers run the steps."""
    cast("Any", method).steps = steps
    # A wrapper made with `functools.wraps` copies the attributes, but it is not the method itself.
    cast("Any", method).is_steps_of = method
    return method


async def run_async(backend: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Runs the method `name` of a backend, awaiting each of its steps."""
    native = backend._native
    steps = getattr(cast("Any", type(backend)), name).steps(backend, *args, **kwargs)
    try:
        call, arguments = next(steps)
        while True:
            try:
                answer = await getattr(native, call + "_async")(*arguments)
            except (Failure, UnicodeEncodeError, OverflowError) as error:
                call, arguments = steps.throw(_failure(error))
            else:
                call, arguments = steps.send(answer)
    except StopIteration as done:
        return done.value


def _failure(error: Exception) -> Failure:
    """Converts an exception into a `Failure`. Invalid arguments are failures too: a model can write a lone
    surrogate."""
    if isinstance(error, Failure):
        return error
    is_text = isinstance(error, UnicodeEncodeError)
    why = f"invalid text in an argument: {error.reason}" if is_text else f"invalid number in an argument: {error}"
    failure = Failure(why)
    failure.kind, failure.sentence, failure.hint, failure.refusal = "invalid_argument", why, None, None
    return failure


def is_native(backend: object, name: str) -> bool:
    """Whether the steps of a method can be awaited. Not if a subclass or this one object overrides the method."""
    # `type(backend)` of a weak reference is the type of the reference.
    method = getattr(backend.__class__, name, None)
    is_own = getattr(method, "is_steps_of", None) is method
    return method is not None and is_own and name not in getattr(backend, "__dict__", ())
