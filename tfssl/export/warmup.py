"""Warm-up requests: what TF Serving replays when it loads a version, before it takes others.

The first call of a graph is slow, because TensorFlow prepares it then. The records are those of a
batch of one and of a larger one for each signature.
"""

import tensorflow as tf
from tensorflow_serving.apis import model_pb2, predict_pb2, prediction_log_pb2

PATH = "assets.extra/tf_serving_warmup_requests"
BATCHES = (1, 16)


def write_warmup(saved_model, name, reference):
    """Write the requests into a SavedModel's folder.

    Args:
      saved_model: the folder.
      name: the model's.
      reference: see `tfssl.export.reference`; its inputs are sent.
    """
    path = saved_model / PATH
    path.parent.mkdir()
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, (inputs, _) in reference.items():
            for rows in BATCHES:
                request = predict_request(name, signature, inputs, rows)
                log = prediction_log_pb2.PredictionLog(
                    predict_log=prediction_log_pb2.PredictLog(request=request)
                )
                writer.write(log.SerializeToString())


def predict_request(name, signature, inputs, rows):
    """A PredictRequest with the first `rows` of the inputs."""
    spec = model_pb2.ModelSpec(name=name, signature_name=signature)
    tensors = {key: tf.make_tensor_proto(value[:rows]) for key, value in inputs.items()}
    return predict_pb2.PredictRequest(model_spec=spec, inputs=tensors)
