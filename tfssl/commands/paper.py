"""Commands of the paper: likelihood, study, reproduce, figures."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tfssl.commands.common import (
    RunArgument,
    SetOption,
    console,
    progress_bar,
    quiet_tensorflow,
    say,
)
from tfssl.errors import expect
from tfssl.settings import load_settings


def likelihood(
    run: RunArgument,
    samples: Annotated[int, typer.Option(min=1, help="Samples of z per point.")] = 500,
    points: Annotated[int, typer.Option(min=2, help="Points to score, drawn at random.")] = 1000,
    part: Annotated[Literal["test", "validation"], typer.Option(help="Which points.")] = "test",
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of the samples.")] = 0,
):
    """Estimate log p(x) by importance sampling, and classify by Bayes' rule.

    The result is also written to likelihood.json in the run folder.
    """
    from tfssl.runs.trained import TrainedRun
    from tfssl.storage.files import write_json

    with quiet_tensorflow():
        from tfssl.runs.evaluation import estimate_likelihood
        from tfssl.runs.opened import experiment_of
    trained = TrainedRun(run)
    experiment = experiment_of(trained)
    metrics = estimate_likelihood(
        experiment, trained.model, part, points, samples, seed, progress_bar("sampling")
    )
    write_json(trained.folder / "likelihood.json", metrics)
    print_likelihood(metrics)


def study(
    configs: Annotated[
        list[Path] | None,
        typer.Argument(help="Settings files on the same data; M1, M2 and M1+M2 on digits if none."),
    ] = None,
    overrides: SetOption = None,
    splits: Annotated[int, typer.Option(min=1, help="How many random splits.")] = 3,
    folder: Annotated[
        Path, typer.Option("--dir", help="Where results and runs go; finished cells are kept.")
    ] = Path("runs/study"),
    rivals: Annotated[
        str, typer.Option("--baselines", metavar="A,B,...", help="Baselines to compare with.")
    ] = "knn,svm,label_spreading",
):
    """Compare models and baselines on the same splits: a table of mean errors."""
    overrides = overrides or []
    settings = [load_settings(path, overrides) for path in configs or ()]
    with quiet_tensorflow():
        from tfssl.paper import study as study_module
    settings = settings or study_module.default_experiments(overrides)
    results = study_module.run_study(settings, range(splits), folder, say, words(rivals))
    console.print(study_module.table(results))
    console.print(f"results: {folder}/results   runs: {folder}/runs", soft_wrap=True)


def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            help="table1 (MNIST), table2 (SVHN), table3 (NORB), supervised (MNIST with all labels) "
            "or figure1."
        ),
    ],
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="N,M,...", help="Numbers of labels, such as 100,600; all if left out."
        ),
    ] = None,
    models: Annotated[
        str, typer.Option(metavar="A,B,...", help="Methods, such as m1_m2,m2,knn; all if left out.")
    ] = "",
    splits: Annotated[
        int | None, typer.Option(min=1, help="How many random splits; 3 or 5 if left out.")
    ] = None,
    budget: Annotated[str, typer.Option(help="full, or quick for a tenth of the epochs.")] = "full",
    validation: Annotated[
        bool,
        typer.Option(help="Hold out validation points to follow training; they are never fitted."),
    ] = True,
    overrides: SetOption = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Cells to run at a time, each with its share of the cores.")
    ] = 1,
    folder: Annotated[
        Path, typer.Option("--dir", help="Where results and runs go; finished cells are kept.")
    ] = Path("runs/reproduce"),
    configs: Annotated[Path, typer.Option(help="The folder of the settings files.")] = Path(
        "configs"
    ),
):
    """Make a table or figure of the paper: run what is missing, print it beside the paper's.

    For supervised and figure1 --labels, --models, --splits and --jobs do not matter, nor
    --no-validation for figure1.
    """
    with quiet_tensorflow():
        from tfssl.paper import reproduction as module
        from tfssl.paper import tables
    everything = (*tables.TABLES, "supervised", "figure1")
    expect(what in everything, f"WHAT must be one of {', '.join(everything)}", what=what)
    expect(
        budget in module.BUDGETS,
        f"--budget must be one of {', '.join(module.BUDGETS)}",
        budget=budget,
    )
    changes = tuple(overrides or ())
    if what == "supervised":
        result = module.run_supervised(folder, configs, budget, validation, changes, say)
        print_likelihood(result["likelihood"])
        console.print("the paper's error by Bayes' rule: 0.96%")
        return
    if what == "figure1":
        for path in module.run_figure1(folder, configs, budget, changes, say):
            say(f"wrote {path}")
        return
    plan = module.Reproduction(
        tables.TABLES[what],
        folder,
        configs,
        words(models),
        () if labels is None else numbers(labels, "--labels"),
        splits,
        budget,
        validation,
        changes,
    )
    results = plan.run(say, jobs)
    console.print(tables.terminal_table(plan.table.part(plan.methods, plan.labels), results))
    console.print(f"results: {folder}/results   runs: {folder}/runs", soft_wrap=True)


def figures(
    run: RunArgument,
    to: Annotated[
        Path | None, typer.Option(help="Where to write; RUN/figures if left out.")
    ] = None,
    indices: Annotated[
        str | None,
        typer.Option(
            metavar="I,J,...",
            help="Test points to show; figure 1's, or one of each class, if left out.",
        ),
    ] = None,
):
    """Draw a trained run: analogies and style grids (the paper's figure 1), samples, curves."""
    from tfssl.runs.folder import RunFolder

    chosen = None if indices is None else list(numbers(indices, "--indices"))
    RunFolder.open(run).check_finished()
    with quiet_tensorflow():
        from tfssl.pictures import of_run
    written, skipped = of_run.write_figures(run, to, chosen)
    for path in written:
        say(f"wrote {path}")
    for name, reason in skipped.items():
        say(f"skipped {name}: {reason}")


def words(text):
    """ "m2, m1_m2" -> ("m2", "m1_m2")."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def numbers(text, option):
    """ "7910,8150" -> (7910, 8150)."""
    parts = words(text)
    expect(
        bool(parts) and all(part.isdecimal() for part in parts),
        f"{option} must be numbers with commas between, such as 100,600",
        received=text,
    )
    return tuple(int(part) for part in parts)


def print_likelihood(metrics):
    console.print(
        f"{metrics['part']} log p(x): {metrics['log_likelihood']:.2f} nats "
        f"(standard error {metrics['log_likelihood_error']:.2f} over {metrics['points']} points), "
        f"{metrics['samples']} samples; its bound {metrics['bound']:.2f}",
        soft_wrap=True,
    )
    for name, title in (("recognition", "q(y|x)"), ("bayes", "Bayes' rule")):
        if name not in metrics:
            continue
        m = metrics[name]
        console.print(
            f"{metrics['part']} error by {title}: {100 * m['error']:.2f}% "
            f"(95% interval {100 * m['error_low']:.2f} to {100 * m['error_high']:.2f})",
            soft_wrap=True,
        )
