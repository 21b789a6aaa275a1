# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A table of scikit-learn's estimators: each is fitted, imported and compared, or refused with the reason."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import Error, UnsupportedModelError
from ringforge.matvec.answers import Estimators, EstimatorTaken
from ringforge.matvec.estimators import EncryptedTransformer, Estimator
from ringforge.matvec.model import Linear
from ringforge.matvec.rule import input_range
from ringforge.matvec.sklearn_import import from_sklearn
from ringforge.matvec.sklearn_reasons import reason

Array = npt.NDArray[np.float64]

#: How estimators are made whose options matter, or that need some; all others are made without options.
_MADE = """
BaggingClassifier(LogisticRegression(), n_estimators=3)
BaggingRegressor(LinearRegression(), n_estimators=3)
BaggingRegressor(n_estimators=3)
BernoulliNB()
BernoulliNB(binarize=None)
CalibratedClassifierCV(LogisticRegression())
CalibratedClassifierCV(LogisticRegression(), ensemble=False)
ClassifierChain(LogisticRegression())
ColumnTransformer([('a', StandardScaler(), [0, 1]), ('b', 'passthrough', [3])])
ColumnTransformer([('a', OneHotEncoder(handle_unknown='ignore'), [0])])
DummyClassifier()
FeatureAgglomeration()
FeatureAgglomeration(pooling_func=np.median)
FeatureUnion([('a', PCA(2)), ('b', StandardScaler())])
FixedThresholdClassifier(LogisticRegression(), threshold=0.3)
FrozenEstimator(LogisticRegression().fit(*DATA['binary']))
FunctionTransformer()
FunctionTransformer(np.log1p)
GridSearchCV(LogisticRegression(), {'C': [0.1, 1.0]}, cv=2)
GridSearchCV(RandomForestClassifier(5), {'max_depth': [1, 2]}, cv=2)
HalvingGridSearchCV(LogisticRegression(), {'C': [0.1, 1.0]}, cv=2)
HalvingRandomSearchCV(LogisticRegression(), {'C': [0.1, 1.0]}, cv=2)
KernelPCA(2)
KernelPCA(2, kernel='poly', degree=2)
KernelPCA(2, kernel='rbf')
KernelRidge()
KernelRidge(kernel='poly', degree=2)
KernelRidge(kernel='rbf')
MLPClassifier((4,), activation='identity')
MLPClassifier((4,))
MLPRegressor(hidden_layer_sizes=(4,), activation='identity')
MLPRegressor(hidden_layer_sizes=(4,))
MinMaxScaler()
MinMaxScaler(clip=True)
MultiOutputClassifier(LogisticRegression())
MultiOutputRegressor(Ridge())
MultiOutputRegressor(GradientBoostingRegressor(n_estimators=2))
NearestCentroid()
NearestCentroid(metric='manhattan')
NuSVC(kernel='linear', nu=0.2)
NuSVC(nu=0.2)
NuSVR(kernel='linear')
NuSVR()
Nystroem(kernel='linear', n_components=3)
Nystroem(n_components=3)
OneClassSVM(kernel='linear')
OneClassSVM()
OneVsOneClassifier(LinearSVC())
OneVsOneClassifier(DecisionTreeClassifier())
OneVsRestClassifier(LogisticRegression())
OneVsRestClassifier(DecisionTreeClassifier())
OutputCodeClassifier(LinearSVC(), random_state=0)
Pipeline([('scale', StandardScaler()), ('last', LogisticRegression())])
PolynomialFeatures()
PolynomialFeatures(3)
QuadraticDiscriminantAnalysis()
RANSACRegressor(random_state=0)
RFE(LogisticRegression(), n_features_to_select=2)
RFECV(LogisticRegression(), cv=2)
RandomizedSearchCV(LogisticRegression(), {'C': [0.1, 1.0]}, n_iter=2, cv=2)
RegressorChain(Ridge())
SVC(kernel='linear')
SVC(kernel='poly', degree=2)
SVC()
SVR(kernel='linear')
SVR(kernel='poly', degree=2)
SVR()
SelectFromModel(LogisticRegression())
SelectFdr(alpha=0.9)
SelectFpr(alpha=0.9)
SelectFwe(alpha=0.9)
SelectKBest(k=2)
SelfTrainingClassifier(LogisticRegression())
SequentialFeatureSelector(LogisticRegression(), cv=2)
SGDClassifier()
SGDClassifier(loss='log_loss')
SGDClassifier(loss='modified_huber')
SimpleImputer()
SimpleImputer(missing_values=0)
SparseCoder(np.eye(4))
StackingClassifier([('a', LogisticRegression()), ('b', LinearSVC())], stack_method='decision_function', cv=2)
StackingClassifier([('a', LogisticRegression()), ('b', LinearSVC())], cv=2)
StackingRegressor([('a', Ridge()), ('b', LinearSVR())], final_estimator=Ridge(), cv=2)
StackingRegressor([('a', Ridge())], final_estimator=RandomForestRegressor(3), cv=2)
TfidfTransformer(norm=None)
TfidfTransformer()
TransformedTargetRegressor(Ridge(), transformer=StandardScaler())
TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp)
TransformedTargetRegressor(Ridge(), transformer=QuantileTransformer(n_quantiles=9))
TruncatedSVD(2)
TunedThresholdClassifierCV(LogisticRegression(), cv=2)
TweedieRegressor()
TweedieRegressor(power=1.5)
VotingClassifier([('a', LogisticRegression()), ('b', LinearSVC())])
VotingRegressor([('a', Ridge()), ('b', LinearRegression())])
VotingRegressor([('a', Ridge()), ('b', RandomForestRegressor(3))])
AdaBoostClassifier(n_estimators=3)
AdaBoostRegressor(n_estimators=3)
ExtraTreesClassifier(3)
ExtraTreesRegressor(3)
GaussianRandomProjection(3)
GradientBoostingClassifier(n_estimators=3)
GradientBoostingRegressor(n_estimators=3)
HistGradientBoostingClassifier(max_iter=3)
HistGradientBoostingRegressor(max_iter=3)
IsolationForest(n_estimators=3)
RandomForestClassifier(3)
RandomForestRegressor(3)
RandomTreesEmbedding(3)
SparseRandomProjection(3)
DictionaryLearning(3, max_iter=5)
MiniBatchDictionaryLearning(3, max_iter=5)
KBinsDiscretizer(2)
KMeans(3, random_state=0)
MiniBatchKMeans(3, random_state=0)
BisectingKMeans(3, random_state=0)
GaussianMixture(2, random_state=0)
GaussianMixture(2, covariance_type='diag', random_state=0)
BayesianGaussianMixture(n_components=2, random_state=0)
LatentDirichletAllocation(2, max_iter=2)
NMF(2, max_iter=20)
MiniBatchNMF(2, max_iter=5)
QuantileTransformer(n_quantiles=9)
SpectralClustering(2)
SpectralBiclustering(2)
SpectralCoclustering(2)
TSNE(perplexity=5, max_iter=250)
PatchExtractor(patch_size=(2, 2))
HashingVectorizer(n_features=8)
FeatureHasher(4)
"""

#: What estimators are fitted to, where it is neither values of a regression nor classes.
_FITTED_TO = {
    "binary": "FixedThresholdClassifier FrozenEstimator TunedThresholdClassifierCV SelfTrainingClassifier",
    "positive": "GammaRegressor PoissonRegressor TransformedTargetRegressor TweedieRegressor",
    "targets": "CCA MultiOutputRegressor MultiTaskElasticNet MultiTaskElasticNetCV MultiTaskLasso MultiTaskLassoCV "
    "PLSCanonical PLSSVD RegressorChain",
    "labels": "ClassifierChain MultiOutputClassifier",
    "counts": "AdditiveChi2Sampler CategoricalNB ComplementNB LatentDirichletAllocation MiniBatchNMF MultinomialNB NMF "
    "SkewedChi2Sampler SpectralBiclustering SpectralCoclustering TfidfTransformer",
    "texts": "CountVectorizer HashingVectorizer TfidfVectorizer",
    "records": "DictVectorizer FeatureHasher",
    "images": "PatchExtractor",
    "kernel": "KernelCenterer",
    "line": "IsotonicRegression",
    "bits": "BernoulliNB",
    "answers": "LabelBinarizer LabelEncoder",
    "sets": "MultiLabelBinarizer",
    "missing": "MissingIndicator",
}
_DATA_OF = {name: data for data, names in _FITTED_TO.items() for name in names.split()}


def data() -> dict[str, tuple[Any, ...]]:
    """Small data sets of every kind that estimators are fitted to, by name: features first, then targets."""
    generator = np.random.default_rng(7)
    y = np.arange(48) % 3
    x = generator.standard_normal((48, 4)) + 1.5 * np.stack([y == 0, y == 1, y == 2, y], axis=1)
    t = x @ np.array([1.0, -2.0, 0.5, 0.25]) + 0.1 * generator.standard_normal(48)
    counts = generator.integers(0, 4, (48, 4)).astype(np.float64)
    return {
        "classes": (x, y),
        "binary": (x, (y > 0).astype(int)),
        "values": (x, t),
        "positive": (x, np.exp(t / 4)),
        "targets": (x, np.stack([t, x[:, 0] - t], axis=1)),
        "labels": (x, np.stack([y == 0, t > 0], axis=1).astype(int)),
        "counts": (counts, y),
        "bits": ((counts > 1).astype(np.float64), y),
        "texts": (["one text", "and another text"],),
        "records": ([{"a": 1.0}, {"b": 2.0}],),
        "images": (generator.random((2, 4, 4)),),
        "kernel": (x @ x.T,),
        "line": (x[:, 0], t),
        "answers": (y,),
        "sets": ([{1, 2}, {3}],),
        "missing": (np.where(x > 2, np.nan, x),),
    }


def estimators() -> Mapping[str, type]:
    """All classes that scikit-learn lists, with the searches by halving and the iterative imputer, by name.

    Raises:
        UnsupportedModelError: scikit-learn is not installed.
    """
    try:
        import sklearn.experimental.enable_halving_search_cv
        import sklearn.experimental.enable_iterative_imputer  # noqa: F401  # both make classes importable
        from sklearn.utils import all_estimators
    except ImportError:
        raise UnsupportedModelError(
            "the table fits estimators of scikit-learn, which is not installed: pip install 'ringforge-he[sklearn]'"
        ) from None
    from sklearn import impute, model_selection

    found = dict(all_estimators())
    experimental = ("HalvingGridSearchCV", "HalvingRandomSearchCV")
    found |= {name: getattr(model_selection, name) for name in experimental}
    return {**found, "IterativeImputer": impute.IterativeImputer}


def rows(
    names: set[str] | None = None, run: Callable[[Estimator, Array], Array] | None = None, error: float = 1e-6
) -> Iterator[EstimatorTaken]:
    """Fits estimators and imports them, in the order of their names.

    Args:
        names: classes to look at; by default all.
        run: gives an estimator's scores for rows of features, (k, outputs); by default in the clear.
        error: of scores that is allowed, as of `equal`.

    Raises:
        UnsupportedModelError: scikit-learn is not installed.
    """
    classes, sets = estimators(), data()
    made: dict[str, list[str]] = {}
    for line in _MADE.split("\n"):
        made.setdefault(line.split("(")[0], []).append(line)
    for name in sorted(classes):
        if names is None or name in names:
            for text in made.get(name, [f"{name}()"]):
                yield _row(name, text, classes, sets, run, error)


def _row(
    name: str,
    text: str,
    classes: Mapping[str, type],
    sets: dict[str, tuple[Any, ...]],
    run: Callable[[Estimator, Array], Array] | None,
    error: float,
) -> EstimatorTaken:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        # The texts are those above, none comes from outside.
        there = eval(text, {**classes, "np": np, "DATA": sets})
        if "random_state" in there.get_params():
            there.set_params(random_state=0)
        given = sets[_DATA_OF.get(name, _usual(there))]
        if hasattr(there, "fit"):
            there.fit(*given)
        text = text.replace("*DATA['binary']", "X, y")
        x = np.asarray(given[0])
        try:
            ours = from_sklearn(there, input_range=input_range(x) if x.ndim == 2 and np.isfinite(x).all() else None)
        except Error as e:
            return EstimatorTaken(name=name, made=text, taken=False, becomes="", reason=str(e))
        scores = ours.scores_in_clear(x) if run is None else run(ours, x)
        if not equal(there, ours, x, scores, error):
            raise AssertionError(f"{text} is taken, and its results are others than scikit-learn's")
    return EstimatorTaken(name=name, made=text, taken=True, becomes=_becomes(ours), reason="")


def _usual(there: Any) -> str:
    from sklearn.base import is_regressor

    return "values" if is_regressor(there) else "classes"


def equal(there: Any, ours: Estimator, x: Array, scores: Array, error: float = 1e-6) -> bool:
    """Whether results are scikit-learn's, within an error relative to the largest of them.

    Args:
        there: the estimator of scikit-learn.
        ours: what was made of it.
        x: rows of features.
        scores: scores of the rows, (k, outputs).
        error: what is allowed; classes of rows that are closer than it are not compared.
    """
    rule = ours.rule
    slack = error * max(1.0, float(np.abs(scores).max()))
    if isinstance(ours, EncryptedTransformer):
        found = there.transform(x)
        return _near(found.toarray() if hasattr(found, "toarray") else found, scores, slack)
    if rule.classes is None:
        values = rule.scores(rule.probabilities(scores))
        return _near(there.predict(x), values, slack * (max(1.0, float(np.abs(values).max()))))
    sure = ~rule.uncertain(scores, slack)
    same = bool((there.predict(x)[sure] == rule.labels(scores)[sure]).all()) and sure.mean() > 0.5
    if rule.decision != "order" and hasattr(there, "decision_function"):
        same = same and _near(there.decision_function(x), rule.scores(scores), slack)
    if rule.link != "identity" and hasattr(there, "predict_proba"):
        same = same and _near(there.predict_proba(x), rule.probabilities(scores), slack)
    return same


def _near(theirs: Any, ours: Array, slack: float) -> bool:
    exact = np.asarray(theirs)
    return exact.shape == ours.shape and bool((np.abs(exact - ours) <= slack).all())


def _becomes(made: Estimator) -> str:
    kind = {"classes": "classifier", "values": "regressor", "features": "transformer"}[made.rule.kind]
    products = sum(isinstance(layer, Linear) for layer in made.model.layers)
    activations = len(made.model.layers) - products
    text = f"{kind}, {products} product{'' if products == 1 else 's'}"
    return text if not activations else f"{text} and {activations} polynomial{'' if activations == 1 else 's'} between"


def table(names: set[str] | None = None, progress: Callable[[float], None] | None = None) -> Estimators:
    """The table of all estimators, or of some; `progress` is called with the fraction done."""
    wanted = sorted(estimators() if names is None else names)
    found: list[EstimatorTaken] = []
    for i, name in enumerate(wanted):
        found.extend(rows({name}))
        if progress is not None:
            progress((i + 1) / len(wanted))
    import sklearn

    return Estimators(system="matvec", release=sklearn.__version__, rows=found)


def markdown(found: Estimators) -> str:
    """The table for the documentation: what is taken, then what is refused, grouped by the reason."""
    taken = [row for row in found.rows if row.taken]
    lines = [
        f"scikit-learn {found.release} lists {len({row.name for row in found.rows})} classes; "
        f"{len({row.name for row in taken})} of them are taken:",
        "",
        "| estimator | becomes |",
        "|---|---|",
        *(f"| `{row.made}` | {row.becomes} |" for row in taken),
        "",
        "Refused are:",
        "",
        "| estimators | reason |",
        "|---|---|",
    ]
    grouped: dict[str, list[str]] = {}
    for row in found.rows:
        if not row.taken:
            grouped.setdefault(reason(row.name) or row.reason, []).append(f"`{row.made}`")
    lines += [f"| {', '.join(names)} | {_cell(why)} |" for why, names in grouped.items()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
