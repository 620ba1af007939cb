"""The paper's equations as pure functions (Kingma, Rezende, Mohamed & Welling, 2014).

The paper's J, L and U are negative bounds, to be minimised: here they are `*_loss`, in nats, one
value per example. Nothing in this file knows a model, a network or a file. `z` is one
reparameterised sample of q(z|...), so the likelihood terms are one-sample Monte Carlo estimates;
the KL terms are analytic.

Leading axes broadcast: a loss computed for every class has the shape [batch, num_classes].
"""

import tensorflow as tf


def reparameterise(q_z, noise):
    """z = mu + sigma * epsilon, the location-scale transformation (eq. 10).

    Args:
      q_z: diagonal Gaussian, event [latent_dim].
      noise: epsilon ~ N(0, I), broadcastable to [..., latent_dim].

    Returns:
      z: [..., latent_dim], differentiable in mu and sigma.
    """
    return q_z.distribution.loc + q_z.distribution.scale * noise


def gaussian_kl(q_z):
    """KL[q(z) || N(0, I)] = 1/2 sum_j (mu_j^2 + sigma_j^2 - 1 - 2 log sigma_j).

    Args:
      q_z: diagonal Gaussian, event [latent_dim].

    Returns:
      kl: [...], nats.
    """
    loc, scale = q_z.distribution.loc, q_z.distribution.scale
    terms = tf.square(loc) + tf.square(scale) - 1.0 - 2.0 * tf.math.log(scale)
    return 0.5 * tf.reduce_sum(terms, axis=-1)


def vae_loss(log_p_x, kl_z, kl_weight=1.0):
    """J(x) = -E_q(z|x)[log p(x|z)] + KL[q(z|x) || p(z)] (eq. 5).

    Args:
      log_p_x: [batch], log p(x|z) at a sample z ~ q(z|x).
      kl_z: [batch], KL[q(z|x) || p(z)].
      kl_weight: [], the weight of the KL term; less than 1 while it warms up.

    Returns:
      loss: [batch], an upper bound on -log p(x) in expectation over z (if the weight is 1).
    """
    return kl_weight * kl_z - log_p_x


def labelled_loss(log_p_x, log_p_y, kl_z):
    """L(x, y) = -E_q(z|x,y)[log p(x|y,z)] - log p(y) + KL[q(z|x,y) || p(z)] (eq. 6).

    Args:
      log_p_x: [...], log p(x|y,z) at a sample z ~ q(z|x,y).
      log_p_y: [...], log p(y).
      kl_z: [...], KL[q(z|x,y) || p(z)].

    Returns:
      loss: [...], an upper bound on -log p(x, y) in expectation over z.
    """
    return kl_z - log_p_x - log_p_y


def unlabelled_loss(loss_per_class, label_logits):
    """U(x) = sum_y q(y|x) L(x, y) - H(q(y|x)) (eq. 7).

    Any q(y|x) makes it a bound, so one that is zero but for a few classes does too, and then L is
    needed for these alone (section 5's answer to a cost linear in the number of classes).

    Args:
      loss_per_class: [batch, C], L(x, y) in nats for every y, or the y that q(y|x) is kept to.
      label_logits: [batch, C], unnormalised log q(y|x) of the same classes.

    Returns:
      loss: [batch], an upper bound on -log p(x) in expectation over z.
    """
    log_q_y = tf.nn.log_softmax(label_logits)
    return tf.reduce_sum(tf.exp(log_q_y) * (loss_per_class + log_q_y), axis=-1)


def label_entropy(label_logits):
    """H(q(y|x)) = -sum_y q(y|x) log q(y|x).

    Args:
      label_logits: [batch, num_classes], unnormalised log q(y|x).

    Returns:
      entropy: [batch], nats, between 0 and log(num_classes).
    """
    log_q_y = tf.nn.log_softmax(label_logits)
    return -tf.reduce_sum(tf.exp(log_q_y) * log_q_y, axis=-1)


def classification_loss(label_logits, y):
    """-log q(y|x), the term added in eq. 9 so that q(y|x) learns from labels too.

    Args:
      label_logits: [batch, num_classes], unnormalised log q(y|x).
      y: [batch, num_classes], one-hot.

    Returns:
      loss: [batch], nats.
    """
    return tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=label_logits)


def labelled_share(num_labelled, num_unlabelled):
    """rho = N_l / N, the share of the labelled points in J / N (eq. 8).

    Any other rho weighs the labels anew, as EM-lambda does (Nigam, McCallum, Thrun & Mitchell,
    2000): (1 - rho) / rho = lambda N_u / N_l. lambda = 1 is the paper's, lambda = N_l / N_u gives
    1/2, both sets as much as each other, and lambda = 0 gives 1, labels alone.

    Args:
      num_labelled, num_unlabelled: N_l and N_u, the sizes of the training sets; N = N_l + N_u.
    """
    return num_labelled / (num_labelled + num_unlabelled)


def generative_loss(mean_labelled_loss, mean_unlabelled_loss, share):
    """J / N = rho mean_l L(x, y) + (1 - rho) mean_u U(x) (eq. 8, per example).

    The means come from minibatches of any two sizes, so each is weighted by what the set it stands
    for is worth, not by the size of its minibatch.

    Args:
      mean_labelled_loss: [], mean of L over a labelled minibatch.
      mean_unlabelled_loss: [], mean of U over an unlabelled minibatch.
      share: rho, `labelled_share` or another between 0 and 1.

    Returns:
      loss: [], nats per training example.
    """
    return share * mean_labelled_loss + (1.0 - share) * mean_unlabelled_loss


def loss(mean_generative_loss, mean_classification_loss, classification_weight, weight_prior):
    """J^alpha / N = J / N + (alpha / N) E_l[-log q(y|x)] - log p(w) / N (eq. 9).

    Args:
      mean_generative_loss: [], J / N.
      mean_classification_loss: [], mean of -log q(y|x) over a labelled minibatch.
      classification_weight: alpha / N, 0.1 in the paper, because J^alpha is divided by N.
      weight_prior: [], -log p(w) / N.

    Returns:
      loss: [], what training minimises, nats per training example.
    """
    return mean_generative_loss + classification_weight * mean_classification_loss + weight_prior


def log_importance_weight(log_p, log_q):
    """log w = log p(x, y, z) - log q(z|x,y).

    The mean of w over z ~ q(z|x,y) is p(x, y), the mean of log w its bound -L(x, y).

    Args:
      log_p: [...], log p(x, y, z) at a sample z.
      log_q: [...], log q(z|x,y) at the same z.

    Returns:
      log_weight: [...], nats.
    """
    return log_p - log_q


def weight_prior_loss(weights, num_examples):
    """-log N(w; 0, I) / N = |w|^2 / (2 N), without its constant.

    Args:
      weights: list of tensors, theta and phi.
      num_examples: N, because the loss it joins is per example.

    Returns:
      loss: [], nats per training example.
    """
    return tf.add_n([tf.nn.l2_loss(tf.cast(w, tf.float32)) for w in weights]) / num_examples
