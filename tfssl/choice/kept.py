"""Evidence in files, so that a comparison which was killed goes on where it was."""

import re

import numpy as np

from tfssl.choice.choose import Watch
from tfssl.errors import InputError
from tfssl.storage.archives import damaged, read_arrays
from tfssl.storage.files import atomic_path


class KeptEvidence:
    """A folder with the out-of-fold probabilities of each candidate that was judged."""

    def __init__(self, folder):
        self.folder = folder

    def beside(self, watch):
        """The `Watch`, with this one keeping what is found and knowing what was."""

        def found(evidence):
            self.keep(evidence)
            watch.found(evidence)

        return Watch(watch.begin, found, self.stored)

    def keep(self, evidence):
        self.folder.mkdir(exist_ok=True)
        with atomic_path(self._path(evidence.name)) as temporary:
            np.savez_compressed(temporary, outputs=evidence.outputs, seconds=evidence.seconds)

    def stored(self, name):
        """(outputs [N_l, K], seconds) of a candidate; None if there are none that can be read."""
        path = self._path(name)
        if not path.exists():
            return None
        try:
            arrays = read_arrays(path)
            with damaged(path):
                return arrays["outputs"], float(arrays["seconds"])
        except InputError:
            return None

    def _path(self, name):
        """M1+TSVM -> m1_tsvm.npz."""
        return self.folder / f"{re.sub('[^a-z0-9]+', '_', name.lower())}.npz"
