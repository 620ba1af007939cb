"""The one error that means "your input is wrong, and this is how to mend it"."""


class InputError(ValueError):
    """Bad input from the user: the command line prints it without a traceback and exits with 2."""


def expect(condition, requirement, hint="", **received):
    """Raise `InputError` with what was expected, what was received and how to fix it.

    Args:
      condition: whether the input is good.
      requirement: a clause such as "`latent_dim` must be a positive integer".
      hint: what to do about it.
      **received: the offending values, by name.
    """
    if condition:
        return
    values = ", ".join(f"{name}={value!r}" for name, value in received.items())
    message = f"{requirement}." + (f" Received: {values}." if values else "")
    raise InputError(f"{message} {hint}".strip())
