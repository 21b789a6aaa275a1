# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Reasons why estimators of scikit-learn are not taken, by what they compute."""

from __future__ import annotations

#: Reasons, each with the classes that it holds for.
_REASONS: dict[str, str] = {
    "decision trees compare features with thresholds, and encrypted values cannot be compared; train a linear model or "
    "an MLP on the same data": (
        "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor RandomForestClassifier "
        "RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor GradientBoostingClassifier "
        "GradientBoostingRegressor HistGradientBoostingClassifier HistGradientBoostingRegressor IsolationForest "
        "RandomTreesEmbedding"
    ),
    "boosting weighs the votes of its estimators (classes, or a median), and encrypted values cannot be compared; "
    "train one linear model": "AdaBoostClassifier AdaBoostRegressor",
    "its estimators vote, or their probabilities are averaged, and neither comparisons nor exponentials of encrypted "
    "values are polynomials; use one of its linear estimators alone, or a StackingClassifier with "
    "stack_method='decision_function'": "VotingClassifier BaggingClassifier",
    "it predicts several labels for a row, and one label is needed: import one estimator of `estimators_` for each "
    "label": "MultiOutputClassifier ClassifierChain",
    "it looks for the nearest training rows, which takes comparisons of encrypted distances; NearestCentroid is "
    "taken": (
        "KNeighborsClassifier KNeighborsRegressor RadiusNeighborsClassifier RadiusNeighborsRegressor "
        "KNeighborsTransformer RadiusNeighborsTransformer NearestNeighbors LocalOutlierFactor Isomap "
        "LocallyLinearEmbedding LabelPropagation LabelSpreading"
    ),
    "its kernel takes exponentials or roots of encrypted values, and its variance a matrix of all training rows; "
    "KernelRidge and SVR with kernel='linear' or 'poly' are taken": (
        "GaussianProcessClassifier GaussianProcessRegressor KernelDensity"
    ),
    "its features are cosines, logarithms or roots of encrypted values, which are no polynomials; "
    "PolynomialFeatures(2) is taken": "RBFSampler AdditiveChi2Sampler SkewedChi2Sampler",
    "its features are products of Fourier transforms of hashed features; PolynomialFeatures(2) is taken": (
        "PolynomialCountSketch"
    ),
    "it divides each row by the row's own norm, and encrypted values cannot be divided by each other; normalise before "
    "encryption, and import the rest of the pipeline": "Normalizer",
    "it compares features with thresholds, and encrypted values cannot be compared; do it before encryption, and "
    "import "
    "the rest of the pipeline": "Binarizer KBinsDiscretizer SplineTransformer QuantileTransformer MissingIndicator",
    "it takes powers or logarithms of encrypted values; do it before encryption, and import the rest of the pipeline": (
        "PowerTransformer"
    ),
    "it looks categories up, and encrypted values cannot be compared; encode before encryption, and import the rest of "
    "the pipeline": "OneHotEncoder OrdinalEncoder TargetEncoder CategoricalNB",
    "it transforms labels, not features; give it no place in a pipeline of features": (
        "LabelBinarizer LabelEncoder MultiLabelBinarizer"
    ),
    "it takes texts, dictionaries or images, not rows of numbers; extract features before encryption, and import the "
    "rest of the pipeline": (
        "CountVectorizer TfidfVectorizer HashingVectorizer FeatureHasher DictVectorizer PatchExtractor"
    ),
    "it solves an optimisation for each row, with comparisons of encrypted values; PCA, FactorAnalysis and SparsePCA "
    "are taken": (
        "NMF MiniBatchNMF LatentDirichletAllocation DictionaryLearning MiniBatchDictionaryLearning SparseCoder"
    ),
    "its features are logistic functions of encrypted values, and no interval is known on which to approximate them": (
        "BernoulliRBM"
    ),
    "it interpolates between thresholds, and encrypted values cannot be compared": "IsotonicRegression",
    "it goes down a tree of clusters, and encrypted values cannot be compared; KMeans is taken": "BisectingKMeans "
    "Birch",
    "it gives labels or places of the rows that it was fitted to, and has nothing to compute for new rows": (
        "AgglomerativeClustering DBSCAN HDBSCAN OPTICS SpectralClustering SpectralBiclustering SpectralCoclustering "
        "SpectralEmbedding TSNE MDS ClassicalMDS"
    ),
    "it estimates a covariance and predicts nothing; EllipticEnvelope is taken": (
        "EmpiricalCovariance GraphicalLasso GraphicalLassoCV LedoitWolf MinCovDet OAS ShrunkCovariance"
    ),
    "it predicts without looking at the features, so there is nothing to compute on encrypted values": (
        "DummyClassifier DummyRegressor"
    ),
    "imputing from other features takes many regressions of missing values, and missing values cannot be encrypted; "
    "impute before encryption, and import the rest of the pipeline": "IterativeImputer",
}

_BY_NAME = {name: why for why, names in _REASONS.items() for name in names.split()}


def reason(name: str) -> str:
    """The reason why a class of scikit-learn is not taken, whatever its options; empty where none is known."""
    return _BY_NAME.get(name, "")
