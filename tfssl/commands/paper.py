"""Commands of many runs: study and the paper's tables and figures."""

from pathlib import Path
from typing import Annotated

import typer

from tfssl.commands.common import SetOption, console, numbers, quiet_tensorflow, say, words
from tfssl.commands.printing import print_likelihood
from tfssl.errors import expect

FolderOption = Annotated[
    Path, typer.Option("--dir", help="Where results and runs go; finished jobs are kept.")
]
LabelsOption = Annotated[
    str | None,
    typer.Option(metavar="N,M,...", help="Numbers of labels, such as 100,600; all if left out."),
]
MethodsOption = Annotated[
    str, typer.Option(metavar="A,B,...", help="Methods, such as m1_m2,m2,knn; all if left out.")
]
SplitsOption = Annotated[
    int | None, typer.Option(min=1, help="How many random splits; 3 or 5 if left out.")
]
BudgetOption = Annotated[str, typer.Option(help="full, or quick for a tenth of the epochs.")]
ValidationOption = Annotated[
    bool,
    typer.Option(
        help="Hold out validation points to follow training and to fit the temperature; no network "
        "is fitted to them."
    ),
]
JobsOption = Annotated[
    int, typer.Option(min=1, help="Jobs to run at a time, each with its share of the cores.")
]


def study(
    configs: Annotated[
        list[Path] | None,
        typer.Argument(help="Settings files on the same data; M1, M2 and M1+M2 on digits if none."),
    ] = None,
    overrides: SetOption = None,
    splits: Annotated[int, typer.Option(min=1, help="How many random splits.")] = 3,
    folder: FolderOption = Path("runs/study"),
    rivals: Annotated[
        str, typer.Option("--baselines", metavar="A,B,...", help="Baselines to compare with.")
    ] = "knn,svm,label_spreading",
):
    """Compare models and baselines on the same splits: a table of mean errors."""
    from tfssl.settings import load_settings  # heavy

    overrides = overrides or []
    settings = [load_settings(path, overrides) for path in configs or ()]
    with quiet_tensorflow():
        from tfssl.paper import study as study_module  # heavy
    settings = settings or study_module.default_experiments(overrides)
    results = study_module.run_study(settings, range(splits), folder, say, words(rivals))
    console.print(study_module.table(results))
    say(f"results: {folder}/results   runs: {folder}/runs")


def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            help="table1 (MNIST), table2 (SVHN), table3 (NORB), supervised (MNIST with all labels) "
            "or figure1."
        ),
    ],
    labels: LabelsOption = None,
    models: MethodsOption = "",
    splits: SplitsOption = None,
    budget: BudgetOption = "full",
    validation: ValidationOption = True,
    overrides: SetOption = None,
    jobs: JobsOption = 1,
    folder: FolderOption = Path("runs/reproduce"),
    configs: Annotated[Path, typer.Option(help="The folder of the settings files.")] = Path(
        "configs"
    ),
):
    """Make a table or figure of the paper: run what is missing, print it beside the paper's.

    For supervised and figure1 --labels, --models, --splits and --jobs do not matter, nor
    --no-validation for figure1.
    """
    with quiet_tensorflow():
        from tfssl.paper import reproduction as module  # heavy
        from tfssl.paper import tables  # heavy
    everything = (*tables.TABLES, "supervised", "figure1")
    expect(what in everything, f"WHAT must be one of {', '.join(everything)}", what=what)
    expect(
        budget in module.BUDGETS,
        f"--budget must be one of {', '.join(module.BUDGETS)}",
        budget=budget,
    )
    changes = tuple(overrides or ())
    if what == "supervised":
        _supervised(folder, configs, budget, validation, changes)
    elif what == "figure1":
        for path in module.run_figure1(folder, configs, budget, changes, say):
            say(f"wrote {path}")
    else:
        methods = words(models)
        counts = () if labels is None else numbers(labels, "--labels")
        effort = (splits, budget, validation, changes)
        table = tables.TABLES[what]
        _table(module.Reproduction(table, folder, configs, methods, counts, *effort), jobs)


def _supervised(folder, configs, budget, validation, changes):
    from tfssl.paper.reproduction import run_supervised  # heavy

    result = run_supervised(folder, configs, budget, validation, changes, say)
    print_likelihood(result["likelihood"])
    say("the paper's error by Bayes' rule: 0.96%")


def _table(plan, jobs):
    """Run what a `Reproduction` misses, and print its part of the table."""
    from tfssl.paper.tables import terminal_table  # heavy

    results = plan.run(say, jobs)
    console.print(terminal_table(plan.table.part(plan.methods, plan.labels), results))
    say(f"results: {plan.folder}/results   runs: {plan.folder}/runs")
