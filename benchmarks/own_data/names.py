"""Names of the methods, known without loading any; and what a page calls them."""

SUPERVISED = ("logreg", "svm", "forest", "boosting", "1nn", "naive_bayes", "lda")
SIMPLE = (*SUPERVISED, "label_spreading", "self_training")
OURS = ("m1", "m2", "m1m2", "auto")
METHODS = (*SIMPLE, *OURS)
GROUPS = {"simple": SIMPLE, "ours": OURS, "all": METHODS}

TITLES = {
    "logreg": "logistic regression",
    "svm": "RBF SVM",
    "forest": "random forest",
    "boosting": "boosted trees",
    "1nn": "1-NN",
    "naive_bayes": "naive Bayes",
    "lda": "LDA, shrinkage",
    "label_spreading": "LabelSpreading",
    "self_training": "SelfTraining, SVM",
    "m1": "M1+TSVM",
    "m2": "M2",
    "m1m2": "M1+M2",
    "auto": "tfssl, all defaults",
}
