"""Errors of devices: which of torch's say that memory is full, and how to go on without what they keep alive."""

from collections.abc import Callable
from traceback import clear_frames
from typing import Any, TypeVar

from benchmark.models.causal_lm import OutOfMemory

T = TypeVar("T")
_FULL = ("out of memory", "allocate memory", "_STATUS_ALLOC_FAILED")  # of allocators, and of cuBLAS and its kin


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the memory of a device or of the host is full; torch has no single type for it."""
    if not isinstance(error, RuntimeError):
        return isinstance(error, MemoryError)
    # By its name, because this runs where torch may be missing.
    return type(error).__name__ == "OutOfMemoryError" or any(words in str(error) for words in _FULL)


def within_memory(run: Callable[[], T], what: str, device: Any, hint: str = "a smaller model or dtype fits") -> T:
    """Call a function that computes on a device.

    What it had allocated when memory was full is free again when this raises. A traceback refers to the frames of the
    model, these to activations, and both often in a circle that only a full collection ends; so the frames are cleared,
    and the error that is raised refers to no other.

    Args:
        run: Function to call.
        what: What it reads, for the message.
        device: Device as of torch.
        hint: What to do about it.

    Raises:
        OutOfMemory: The memory is full.
    """
    try:
        return run()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        told = first_line(error)
        _forget_frames(error)
    if device.type == "cuda":
        import torch

        torch.cuda.empty_cache()
    raise OutOfMemory(f"{what}: out of memory: {told}", hint)


def _forget_frames(error: BaseException) -> None:
    """Clear the frames of an error and of those that it came from."""
    chain: list[BaseException] = [error]
    for each in chain:
        clear_frames(each.__traceback__)
        each.__traceback__ = None
        chain += [cause for cause in (each.__cause__, each.__context__) if cause is not None and cause not in chain]
        each.__cause__ = each.__context__ = None


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type's name."""
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
