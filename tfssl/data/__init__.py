"""Where data comes from and how it reaches a model: source -> split -> preprocessing -> tf.data."""
