"""A fitted classifier on disk, by skops: data, never code."""

from tfssl.storage.archives import check_archive, damaged
from tfssl.storage.files import atomic_path


def save_classifier(path, classifier):
    import skops.io

    with atomic_path(path) as temporary:
        skops.io.dump(classifier, temporary)


def load_classifier(path):
    import skops.io

    check_archive(path)
    with damaged(path):
        return skops.io.load(path, trusted=["tfssl.classifiers.tsvm.TransductiveSVM"])
