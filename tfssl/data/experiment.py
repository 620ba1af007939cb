"""Settings with the data they name: loaded, split and checked."""

from dataclasses import dataclass, replace

from tfssl.data.loading import source_of
from tfssl.data.preprocessing import Preprocessing
from tfssl.data.source import Source
from tfssl.data.splits import Split, split
from tfssl.errors import expect
from tfssl.settings import Settings
from tfssl.settings.priors import labelled_prior


@dataclass(frozen=True)
class Experiment:
    """Settings with the data they name, checked: everything training needs but a place to write."""

    settings: Settings
    source: Source
    split: Split
    preprocessing: Preprocessing

    @classmethod
    def prepare(cls, settings, source=None, preprocessing=None, schema=None):
        """Load, split and check the data; nothing is written.

        Args:
          settings: `Settings`.
          source: a `Source` to use instead of the one the settings name.
          preprocessing: a `Preprocessing` to use instead of fitting one to the training inputs.
          schema: the `Source.schema` to read a table by instead of fitting one to training rows.
        """
        data = settings.data
        parts = split(
            source or source_of(data),
            data.num_labelled,
            data.num_validation,
            data.num_test,
            data.split_seed,
            data.validation_seed,
            schema,
        )
        source = parts.source
        _check(settings, source, parts)
        x_train = parts.x_train
        preprocessing = preprocessing or Preprocessing.fit(
            x_train, source.levels, settings.likelihood, data.whitening, data.downsample
        )
        preprocessing.check(x_train, f"{source.name}, training points")
        preprocessing.check(parts.x_validation, f"{source.name}, validation points")
        preprocessing.check(parts.x_test, f"{source.name}, test points")
        return cls(settings, source, parts, preprocessing)

    @property
    def test_overlap(self):
        """N_test / N_rest if test points are drawn from the same pool as the others, else 0."""
        parts = self.split
        if len(self.source.x_test):
            return 0.0
        return len(parts.x_test) / (len(parts.x_train) + len(parts.x_validation))

    def with_settings(self, settings):
        """The same points seen as they are, under settings that train another model of them."""
        return replace(self, settings=settings)

    def names(self, part):
        """What to call the points of a part of the split: their files, else "row 0" and so on.

        Args:
          part: "labelled", "unlabelled", "validation" or "test"; rows are those of the data set, of
            test points those of its own test points if it has some.
        """
        own_test = part == "test" and len(self.source.x_test) > 0
        files = self.source.files_test if own_test else self.source.files
        rows = self.split.rows[part]
        return [f"row {row}" if files is None else files[row] for row in rows]

    @property
    def class_prior(self):
        """p(y): K probabilities, None for a uniform one, or "learned"."""
        prior = self.settings.m2.class_prior
        if prior != "labelled":
            return prior
        return labelled_prior(self.split.label, self.source.num_classes).tolist()


def _check(settings, source, parts):
    """Fail unless the settings suit the data."""
    data, m2 = settings.data, settings.m2
    sides = (source.image_shape or ())[:2]
    expect(
        data.max_shift == 0 or data.max_shift < min(sides, default=0),
        "data.max_shift moves images: it must be smaller than their sides, 0 for other data",
        max_shift=data.max_shift,
        shape=source.x.shape[1:],
    )
    expect(
        len(parts.x_unlabelled) > 0 or data.num_labelled == "all",
        "there must be unlabelled points to learn from",
        hint='Lower data.num_labelled, or set it to "all" to train on labels alone.',
        unlabelled=0,
    )
    prior = m2.class_prior
    expect(
        not isinstance(prior, tuple) or len(prior) == source.num_classes,
        "m2.class_prior must have one probability per class",
        probabilities=len(prior or ()),
        classes=source.num_classes,
    )
    expect(
        (m2.top_classes or 1) <= source.num_classes,
        "m2.top_classes must not exceed the number of classes",
        top_classes=m2.top_classes,
        classes=source.num_classes,
    )
