"""Methods that are written once, and can be waited for or awaited.

Such a method is a generator. What it yields is a call of its native place, as a name and arguments; it is
sent the answer, or thrown the `Failure`. `waits` makes a plain method of it; `awaited` runs the same steps in
an event loop, where cancelling the task cancels the native call.
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
"""Calls of a place, one after the other, and what they come to."""


def waits(method: Callable[Concatenate[S, P], Steps[T]]) -> Callable[Concatenate[S, P], T]:
    """The method that waits for each of its steps. The steps themselves are its attribute `steps`."""

    @functools.wraps(method)
    def waiting(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        place = cast("Any", self)._place
        steps = method(self, *args, **kwargs)
        try:
            name, arguments = next(steps)
            while True:
                try:
                    answer = getattr(place, name)(*arguments)
                except (Failure, UnicodeEncodeError, OverflowError) as error:
                    name, arguments = steps.throw(_failure(error))
                else:
                    name, arguments = steps.send(answer)
        except StopIteration as done:
            return done.value

    return with_steps(waiting, method)


def with_steps(method: M, steps: Callable[..., Any]) -> M:
    """A method that does what these steps do: whoever awaits it runs them."""
    cast("Any", method).steps = steps
    # A wrapper that somebody puts around it has the same attributes, and is another.
    cast("Any", method).is_steps_of = method
    return method


async def awaited(backend: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """What the method `name` of a backend comes to, with each of its steps awaited."""
    place = backend._place
    steps = getattr(cast("Any", type(backend)), name).steps(backend, *args, **kwargs)
    try:
        call, arguments = next(steps)
        while True:
            try:
                answer = await getattr(place, call + "_async")(*arguments)
            except (Failure, UnicodeEncodeError, OverflowError) as error:
                call, arguments = steps.throw(_failure(error))
            else:
                call, arguments = steps.send(answer)
    except StopIteration as done:
        return done.value


def _failure(error: Exception) -> Failure:
    """What went wrong, as a failure: also that an argument is none, such as half a character, which a model can write."""
    if isinstance(error, Failure):
        return error
    why = f"an argument is no text: {error.reason}" if isinstance(error, UnicodeEncodeError) else f"a number is none: {error}"
    failure = Failure(why)
    failure.kind, failure.sentence, failure.hint, failure.refusal = "invalid_argument", why, None, None
    return failure


def is_native(backend: object, name: str) -> bool:
    """Whether a method of a backend has steps that can be awaited: a subclass may have its own instead, and so may
    this one object."""
    # Not its `type`: that of a weak reference is another.
    method = getattr(backend.__class__, name, None)
    is_own = getattr(method, "is_steps_of", None) is method
    return method is not None and is_own and name not in getattr(backend, "__dict__", ())
