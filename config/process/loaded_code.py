"""What a process has loaded when it begins its work: its modules and the objects they created."""

import gc

_SELDOM = 5000  # new objects, before the youngest are looked through; Python's own 700 are a few rows of a batch


def load_without_collecting() -> None:
    """Turns the garbage collector off until `freeze_loaded_objects`.

    Loaded code stays, and scanning it again and again while it grows takes a fifth of a command's time.
    """
    gc.disable()


def freeze_loaded_objects() -> None:
    """Exempts all existing objects from garbage collection; call it once everything is loaded.

    Some 200,000 objects live as long as the process: each full collection took a tenth of a second, in the middle of a
    request. A collection also writes to every object it scans, so child processes soon copied memory that they could
    have shared with their parent. When the process ends, these objects are not freed one by one.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


def collect_seldom() -> None:
    """For processes that work on batches, whose objects live until they are written.

    With Python's own threshold, the collector takes a tenth of their processor time to find that all are still needed.
    """
    gc.set_threshold(_SELDOM)
