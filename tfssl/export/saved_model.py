"""A trained run as a SavedModel that TF Serving can load: signatures, warm-up requests, a card."""

import keras
import tensorflow as tf

from tfssl.blends.blend import is_network
from tfssl.errors import InputError
from tfssl.export import contract
from tfssl.export.card import write_card
from tfssl.export.check import check_saved_model
from tfssl.export.functions import functions
from tfssl.export.reference import make_reference, real_inputs, save_reference
from tfssl.export.versions import check_folder, check_name, new_version
from tfssl.export.warmup import write_warmup
from tfssl.runs.folder import RunFolder
from tfssl.runs.trained import TrainedRun
from tfssl.storage.files import write_json


def export(run_dir, folder, name=None, beside=None):
    """Write the next version of a model, checked by TensorFlow's C++ loader, or nothing at all.

    Args:
      run_dir: a finished run.
      folder: where the models are, such as saved_models.
      name: the model's; the run folder's if None.
      beside: (stage, run, reference) -> None, writes more into the `Stage`, such as files for
        devices: they are part of the version, all there or no version.

    Returns:
      version: the new `Version`.
      comparisons: how far each signature is from the Keras model, see `tfssl.export.check`.
    """
    name = run_dir.resolve().name if name is None else name
    check_name(name)
    check_folder(folder)
    RunFolder.open(run_dir).check_finished()
    run = TrainedRun(run_dir)
    metrics = run.folder.read_json("metrics.json")
    found = functions(run)
    reference = make_reference(run, found, real_inputs(run))
    promised = contract.make_contract(run, found, reference)
    with new_version(folder / name) as stage:
        try:
            write_saved_model(stage.saved_model, networks_of(run), found)
            write_warmup(stage.saved_model, name, reference)
            comparisons = check_saved_model(stage.saved_model, reference)
        except tf.errors.OpError as error:  # a full disk, as TensorFlow says it
            reason = error.message.rsplit("; ", 1)[-1]  # before it: the file and the node
            raise InputError(f"cannot write {stage.version.path}: {reason}.") from None
        save_reference(stage.card / "reference.npz", reference)
        write_json(stage.card / contract.FILE, promised)
        write_card(stage, name, run, metrics, comparisons, promised)
        if beside is not None:
            beside(stage, run, reference)
    return stage.version, comparisons


def networks_of(run):
    """The Keras models that a run's functions use."""
    found = [] if run.model is None else [run.model]
    if run.blend is None:
        return found
    members = [member.classifier for member in run.blend.members]
    latents = [] if run.blend.views.m1 is None else [run.blend.views.m1]
    return [*found, *latents, *(network for network in members if is_network(network))]


def write_saved_model(path, networks, found):
    """The functions found of a run, on these networks, as signatures; "classify" is the default.

    `keras.export.ExportArchive` registers the variables in a way that servers find;
    `tf.saved_model.save` of a module that holds a Keras model does not.
    """
    archive = keras.export.ExportArchive()
    for network in networks:
        archive.track(network)
    for function in found.values():  # the first becomes serving_default
        graph = tf.function(function.call, autograph=False)
        graph.get_concrete_function(**function.inputs)
        archive.add_endpoint(function.name, graph)
    archive.write_out(str(path), verbose=False)
