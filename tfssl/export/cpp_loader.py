"""A SavedModel run as a server runs it: by TensorFlow's C++ loader, through its C interface.

Python's loader rebuilds the objects that were saved, and so reads files that no server can. Here
`TF_LoadSessionFromSavedModel` restores the graph and its variables, and `TF_SessionRun` runs it; of
Python there are only the arrays that go in and come out.
"""

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from tfssl.errors import InputError

OK = 0
STRING_BYTES = 24  # sizeof(TF_TString)


class _Buffer(ctypes.Structure):
    _fields_ = (("data", c_void_p), ("length", c_size_t), ("deallocator", c_void_p))


class _Output(ctypes.Structure):
    """A tensor of the graph: an operation and the number of its output."""

    _fields_ = (("operation", c_void_p), ("index", c_int))


# Name: (result, *arguments).
PROTOTYPES = {
    "TF_NewStatus": (c_void_p,),
    "TF_DeleteStatus": (None, c_void_p),
    "TF_GetCode": (c_int, c_void_p),
    "TF_Message": (c_char_p, c_void_p),
    "TF_NewBuffer": (POINTER(_Buffer),),
    "TF_DeleteBuffer": (None, POINTER(_Buffer)),
    "TF_NewGraph": (c_void_p,),
    "TF_DeleteGraph": (None, c_void_p),
    "TF_NewSessionOptions": (c_void_p,),
    "TF_DeleteSessionOptions": (None, c_void_p),
    "TF_LoadSessionFromSavedModel": (
        c_void_p,
        c_void_p,
        c_void_p,
        c_char_p,
        POINTER(c_char_p),
        c_int,
        c_void_p,
        POINTER(_Buffer),
        c_void_p,
    ),
    "TF_CloseSession": (None, c_void_p, c_void_p),
    "TF_DeleteSession": (None, c_void_p, c_void_p),
    "TF_GraphOperationByName": (c_void_p, c_void_p, c_char_p),
    "TF_SessionRun": (
        None,
        c_void_p,
        c_void_p,
        POINTER(_Output),
        POINTER(c_void_p),
        c_int,
        POINTER(_Output),
        POINTER(c_void_p),
        c_int,
        c_void_p,
        c_int,
        c_void_p,
        c_void_p,
    ),
    "TF_AllocateTensor": (c_void_p, c_int, POINTER(c_int64), c_int, c_size_t),
    "TF_DeleteTensor": (None, c_void_p),
    "TF_TensorData": (c_void_p, c_void_p),
    "TF_TensorByteSize": (c_size_t, c_void_p),
    "TF_TensorType": (c_int, c_void_p),
    "TF_NumDims": (c_int, c_void_p),
    "TF_Dim": (c_int64, c_void_p, c_int),
    "TF_StringGetDataPointer": (c_void_p, c_void_p),
    "TF_StringGetSize": (c_size_t, c_void_p),
}


def _library():
    library = ctypes.CDLL(str(Path(tf.sysconfig.get_lib()) / "libtensorflow_cc.so.2"))
    for name, (result, *arguments) in PROTOTYPES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class SavedModelSession:
    """The signatures of a SavedModel, run by TensorFlow's C++ runtime. Use it in a `with` block.

    Attributes:
      signatures: {name: SignatureDef}.
    """

    def __init__(self, path):
        self._lib = _library()
        self._status = self._lib.TF_NewStatus()
        self._graph = self._lib.TF_NewGraph()
        self._session = None
        options, definition = self._lib.TF_NewSessionOptions(), self._lib.TF_NewBuffer()
        tags = (c_char_p * 1)(b"serve")
        try:
            self._session = self._lib.TF_LoadSessionFromSavedModel(
                options,
                None,
                str(path).encode(),
                tags,
                1,
                self._graph,
                definition,
                self._status,
            )
            self._expect_success(f"TensorFlow's C++ loader cannot read {path}")
            content = definition.contents
            graph = meta_graph_pb2.MetaGraphDef.FromString(
                ctypes.string_at(content.data, content.length)
            )
        except BaseException:
            self.close()
            raise
        finally:
            self._lib.TF_DeleteSessionOptions(options)
            self._lib.TF_DeleteBuffer(definition)
        # "__saved_model_init_op" is how a session initialises, not a signature of the model.
        self.signatures = {
            name: signature
            for name, signature in graph.signature_def.items()
            if not name.startswith("__")
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Give everything back to the library; a second call does nothing."""
        if self._graph is None:
            return
        if self._session:
            self._lib.TF_CloseSession(self._session, self._status)
            self._lib.TF_DeleteSession(self._session, self._status)
        self._lib.TF_DeleteGraph(self._graph)
        self._lib.TF_DeleteStatus(self._status)
        self._graph = None

    def run(self, name, inputs):
        """Call a signature.

        Args:
          name: of the signature.
          inputs: {name: array}, numbers of the dtypes that the signature names.

        Returns:
          outputs: {name: array}; strings are bytes objects.
        """
        signature = self.signatures[name]
        given = [self._tensor(inputs[key], signature.inputs[key].dtype) for key in inputs]
        sources = self._outputs([signature.inputs[key].name for key in inputs])
        names = sorted(signature.outputs)
        targets = self._outputs([signature.outputs[key].name for key in names])
        results = (c_void_p * len(names))()
        try:
            self._lib.TF_SessionRun(
                self._session,
                None,
                sources,
                (c_void_p * len(given))(*given),
                len(given),
                targets,
                results,
                len(names),
                None,
                0,
                None,
                self._status,
            )
            self._expect_success(f"the signature {name} fails")
            return {key: self._array(r) for key, r in zip(names, results, strict=True)}
        finally:
            for tensor in [*given, *(r for r in results if r)]:
                self._lib.TF_DeleteTensor(tensor)

    def _expect_success(self, what):
        if self._lib.TF_GetCode(self._status) != OK:
            message = self._lib.TF_Message(self._status).decode(errors="replace")
            raise InputError(f"{what}: {message}.")

    def _outputs(self, names):
        """Tensors of the graph by names such as "serve_x:0"."""
        outputs = (_Output * len(names))()
        for output, name in zip(outputs, names, strict=True):
            operation, _, index = name.partition(":")
            found = self._lib.TF_GraphOperationByName(self._graph, operation.encode())
            if not found:
                raise InputError(f"the graph has no operation {operation}.")
            output.operation, output.index = found, int(index)
        return outputs

    def _tensor(self, array, dtype):
        array = np.ascontiguousarray(array, tf.as_dtype(dtype).as_numpy_dtype)
        shape = (c_int64 * array.ndim)(*array.shape)
        tensor = self._lib.TF_AllocateTensor(dtype, shape, array.ndim, array.nbytes)
        ctypes.memmove(self._lib.TF_TensorData(tensor), array.ctypes.data, array.nbytes)
        return tensor

    def _array(self, tensor):
        rank = self._lib.TF_NumDims(tensor)
        shape = tuple(self._lib.TF_Dim(tensor, axis) for axis in range(rank))
        data = self._lib.TF_TensorData(tensor)
        dtype = tf.as_dtype(self._lib.TF_TensorType(tensor))
        if dtype != tf.string:
            content = ctypes.string_at(data, self._lib.TF_TensorByteSize(tensor))
            return np.frombuffer(content, dtype.as_numpy_dtype).reshape(shape)
        strings = [self._string(data + i * STRING_BYTES) for i in range(int(np.prod(shape)))]
        return np.array(strings, object).reshape(shape)

    def _string(self, address):
        size = self._lib.TF_StringGetSize(address)
        return ctypes.string_at(self._lib.TF_StringGetDataPointer(address), size)
