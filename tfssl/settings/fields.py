"""The settings of an experiment, typed and validated: their names, defaults and meaning."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tfssl.settings.kinds import UNBOUNDED, Classifier, Likelihood, Model

Positive = Annotated[int, Field(gt=0)]
HiddenUnits = Annotated[tuple[Positive, ...], Field(min_length=1)]


class Section(BaseModel):
    """Settings are read-only, and a key that does not exist is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


class DataSettings(Section):
    """What to learn from, and how it is split."""

    name: Annotated[str, Field(min_length=1)] = "digits"
    """A named data set or a path, see `tfssl.data.loading`: .npz, pictures, a table, TFRecords."""
    label: str | None = None
    """The column of a table, or the feature of a record, that is the label."""
    drop: tuple[str, ...] = ()
    """Columns of a table to leave out."""
    image_size: tuple[Positive, Positive] | None = None
    """Height and width to which pictures are brought; about their own if not given."""
    colour: bool | None = None
    """Whether pictures keep their colours; not given, they must be all grey or all in colour."""
    memory_limit_mb: Positive = 1000
    """Inputs of a folder or of TFRecords that are larger stay on disk while a model is trained."""
    num_labelled: Positive | Literal["all"] = 50
    """How many training points keep their label, the same number of every class; "all" for every
    one that has a label, as common or rare as the classes are."""
    num_validation: Annotated[int, Field(ge=0)] = 0
    """Training points held out to watch training; their labels count as used by model selection."""
    num_test: Annotated[int, Field(ge=0)] = 500
    """Test points to hold out of a data set that has none of its own."""
    split_seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the split."""
    validation_seed: Annotated[int, Field(ge=0)] | None = None
    """Seed of the choice of validation and test points, if it is not to change with split_seed:
    such splits differ in their labels only, and can share an M1."""
    downsample: Positive = 1
    """Images are averaged over square blocks of pixels of this side."""
    max_shift: Annotated[int, Field(ge=0)] = 0
    """Training moves every image by up to this many pixels up, down and sideways, anew at every
    step: for images whose class does not depend on where exactly it is."""
    whitening: Positive | Annotated[float, Field(gt=0, lt=1)] | None = None
    """The principal components of x instead of x: how many to keep, such as 600, or which share of
    the variance, such as 0.999. For likelihood = "gaussian" each is scaled to unit variance, for
    "isotropic" all alike. Losses in training are those of the components."""


class FitSettings(Section):
    """How one network is trained."""

    epochs: Positive = 200
    """Passes over the unlabelled data, or over the labelled if there is no other."""
    batch_size: Positive = 50
    """Unlabelled examples per step."""
    learning_rate: Annotated[float, Field(gt=0, strict=False)] = 3e-3
    """Adam's rate; it is held, then decays linearly to zero."""
    decay_start: Annotated[float, Field(ge=0, lt=1, strict=False)] = 0.5
    """The share of training after which the rate decays."""
    averaging: Annotated[float, Field(ge=0, lt=1, strict=False)] = 0.02
    """The kept weights are a moving average over this share of training; 0 keeps the last ones."""
    clip_norm: Annotated[float, Field(gt=0, strict=False)] | None = None
    """A gradient of a larger norm is scaled down to this, so that no single batch can throw
    training off; none is if not given."""
    evaluate_every: Positive = 10
    """Epochs between two evaluations on the validation set."""


class AutoSettings(Section):
    """The choice among classifiers (model = "auto")."""

    budget: Annotated[float, Field(gt=0, strict=False)] = 90.0
    """About how many seconds to compare for on two cores; counted from the sizes of the data and
    not measured, so that the same data and seed give the same answer."""
    with_generative: bool = False
    """Whether an M2 is trained beside the answer, as [m2] says: for log-likelihoods, pictures and
    what else a generative model is needed for."""


class M1Settings(FitSettings):
    """M1, the variational auto-encoder, and what its features feed."""

    latent_dim: Positive = 50
    hidden_units: HiddenUnits = (200,)
    kl_warmup: Annotated[float, Field(ge=0, le=1, strict=False)] = 0.0
    """The share of training in which the weight of the KL term rises from 0 to 1: more latent
    dimensions stay in use."""
    classifier: Classifier = "tsvm"
    """The classifier on M1's features (model = "m1"); knn is the nearest by angle."""
    run: str | None = None
    """Folder of a finished run whose M1 is used instead of training one."""


class M2Settings(FitSettings):
    """M2, on x itself or on M1's features."""

    latent_dim: Positive = 50
    hidden_units: HiddenUnits = (100,)
    labelled_batch_size: Positive = 20
    """Labelled examples per step."""
    supervised_steps: Annotated[int, Field(ge=0)] = 200
    """Steps on the labelled points alone, before the unlabelled ones join."""
    warm_start: Literal["bound", "classifier"] = "bound"
    """What learns in these steps: all of M2, or q(y|x) alone. A decoder that has seen a few rows of
    a table alone finds most others impossible."""
    posterior_scale: Literal["x", "xy"] = "xy"
    """What sigma of q(z|x,y) depends on."""
    class_prior: (
        tuple[Annotated[float, Field(gt=0, strict=False)], ...]
        | Literal["labelled", "learned"]
        | None
    ) = None
    """p(y); uniform if not given. "learned": it starts there and follows the shares that the model
    gives the classes among the unlabelled points, half of the way. "labelled": the shares
    (n_k + 1) / (n + K) among the labels. With a number for data.num_labelled the labels are as many
    of every class, so these shares are equal, whatever the data: "learned" does not need them, and
    the probabilities themselves are better given where they are known."""
    classification_weight: Annotated[float, Field(ge=0, strict=False)] = 0.1
    """alpha / N."""
    labelled_share: Annotated[float, Field(gt=0, le=1, strict=False)] | None = None
    """The weight of the labelled bound beside that of the unlabelled one; N_l / N, the paper's, if
    not given. With 0.5 both weigh the same, so that a few labels say what a class is; with 1
    unlabelled points are not learned from."""
    top_classes: Positive | None = None
    """Keep q(y|x) of an unlabelled example to this many classes, the likeliest, and so enumerate
    only these: faster, and still a bound. All classes if not given."""
    full_enumeration: Annotated[float, Field(ge=0, le=1, strict=False)] = 0.5
    """The share of training before `top_classes` applies."""
    noise_scale: Annotated[float, Field(ge=0, strict=False)] = 1.0
    """Draws of z1 in training have M1's posterior scale times this (model = "m1m2")."""
    active_threshold: Annotated[float, Field(ge=0, strict=False)] = 0.1
    """M1's latent dimensions with a smaller std of E[z1|x] are kept from M2 (model = "m1m2")."""


class DeviceSettings(Section):
    """Where training runs."""

    strategy: Literal["auto", "default", "mirrored", "tpu"] = "auto"
    """auto: mirrored over several GPUs, TPU if there is one, else a single device."""
    precision: Literal["float32", "mixed_bfloat16", "mixed_float16"] = "float32"
    """Precision of the networks; densities stay in float32."""
    jit_compile: bool | Literal["auto"] = "auto"
    """XLA; auto: on GPU and TPU only, because it is slower on a CPU."""


class Settings(Section):
    """One experiment. The defaults suit the embedded digits."""

    model: Model = "m1"
    likelihood: Likelihood = "binomial"
    """p(x|...): bernoulli for images, binomial for grey levels that are counts, gaussian else;
    isotropic is a gaussian with one scale for all of x, for principal components; columns, for a
    table, is bernoulli for columns of 0 and 1, and for each other a gaussian with a scale of its
    own that is the same for every class."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of the initial weights, of the order of the data and of the noise."""
    checkpoint_seconds: Annotated[float, Field(ge=0, strict=False)] = 30.0
    """Least time between two checkpoints, which are written at the end of an epoch."""
    data: DataSettings = DataSettings()
    auto: AutoSettings = AutoSettings()
    m1: M1Settings = M1Settings()
    m2: M2Settings = M2Settings()
    device: DeviceSettings = DeviceSettings()

    @model_validator(mode="after")
    def _whitened_inputs_are_gaussian(self):
        if self.data.whitening is not None and self.likelihood not in UNBOUNDED:
            raise ValueError(
                'data.whitening needs likelihood = "gaussian" or "isotropic", but it is '
                f'"{self.likelihood}"'
            )
        return self

    @model_validator(mode="after")
    def _the_choice_has_no_use_for_some(self):
        if self.model == "auto":
            unused = {"data.max_shift": self.data.max_shift > 0, "m1.run": self.m1.run is not None}
            for name in (name for name, given in unused.items() if given):
                raise ValueError(f'{name} needs a model by name, but model = "auto"')
        return self

    @model_validator(mode="after")
    def _class_prior_sums_to_one(self):
        prior = self.m2.class_prior
        if isinstance(prior, tuple) and abs(sum(prior) - 1.0) > 1e-5:
            raise ValueError(f"m2.class_prior must sum to 1, but sums to {sum(prior)}")
        return self
