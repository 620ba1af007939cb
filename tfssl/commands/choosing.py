"""What `tfssl train` shows while classifiers are compared."""

import contextlib

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from tfssl.choice.choose import Watch
from tfssl.commands.common import console, say


@contextlib.contextmanager
def shown_choice():
    """A `Watch` with a bar: the candidate, its error, how many are left and for about how long.

    Where the output is no terminal, every candidate is a line.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("comparing", total=None, left="")

    def begin(name, left, seconds):
        done = bar.tasks[0].completed
        text = f"about {seconds:.0f} s left"
        bar.update(task, description=name, total=done + left, left=text)
        if console.is_terminal:
            bar.start()

    def found(evidence):
        # Not shown in between: what is trained then may have a bar of its own.
        bar.stop()
        bar.advance(task)
        error, spread = 100 * evidence.error, 100 * evidence.error_spread
        say(
            f"{evidence.name}: {error:.1f} ± {spread:.1f} % error, "
            f"log-loss {evidence.log_loss:.3f}, {evidence.seconds:.1f} s"
        )

    try:
        yield Watch(begin, found)
    finally:
        bar.stop()
