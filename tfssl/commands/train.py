"""The command that trains: settings and data in, a run folder out."""

from pathlib import Path
from typing import Annotated

import typer

from tfssl.commands.common import SetOption, quiet_tensorflow, say, say_calibration
from tfssl.commands.data import LabelOption, chosen_settings, print_chosen
from tfssl.commands.printing import print_choice, print_metrics
from tfssl.errors import expect

ConfigArgument = Annotated[
    Path | None,
    typer.Argument(help="Settings file (.toml or .json); the defaults (digits) if left out."),
]


def train(
    config: ConfigArgument = None,
    overrides: SetOption = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Your own data, as `tfssl inspect` takes it; settings that are not given are "
            "chosen to suit it.",
        ),
    ] = None,
    label: LabelOption = None,
    run_dir: Annotated[
        Path | None, typer.Option(help="Where to write; runs/<data>_<model> if left out.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
):
    """Train one experiment, evaluate it and write a run folder.

    With --data and no model in the settings, classifiers of many kinds, with and without the
    unlabelled points, are compared by labels that they have not seen, and the answer is a mean of
    the best (model = "auto"); --set auto.budget=SECONDS says how long. Ctrl+C takes the best so
    far. A model by name, such as --set model=m2, is trained as it is.
    """
    from tfssl.runs.folder import RunFolder  # heavy
    from tfssl.settings import load_settings  # heavy

    if data is None:
        expect(label is None, "--label needs --data", hint="Or use --set data.label=NAME.")
        settings, source = load_settings(config, overrides or ()), None
    else:
        settings, source, chosen = chosen_settings(data, label, config, overrides)
        say("settings chosen for the data (all of them: settings.json):")
        print_chosen(chosen)
    name = Path(settings.data.name).stem if source is None else source.name
    run_dir = run_dir or Path("runs") / f"{name}_{settings.model}"
    if resume:
        RunFolder.open(run_dir).check_settings(settings)
    else:
        RunFolder(run_dir).check_new()
    with quiet_tensorflow():
        from tfssl.choice.run import train  # heavy
        from tfssl.commands.choosing import shown_choice  # heavy
        from tfssl.pictures.of_model import training_pictures  # heavy
    with shown_choice() as watch:
        run = train(settings, run_dir, resume, source, training_pictures, watch)
    if run.choice is not None:
        print_choice(run.choice)
    print_metrics(run.folder.read_json("metrics.json"))
    say_calibration(run.folder)
    say(f"run folder: {run.folder.path}")
    if (run.folder / "tensorboard").is_dir():
        say(f"watch it:   tensorboard --logdir {run.folder.path}/tensorboard")
