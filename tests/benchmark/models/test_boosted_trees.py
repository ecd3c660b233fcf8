"""Trees predict what scikit-learn's do, and come back from their arrays."""

import numpy as np
import pytest

from benchmark.models.boosted_trees import as_trees, trees_from

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("kind", ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"])
def test_predictions_are_those_of_scikit_learn(kind: str) -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    features = RNG.normal(size=(400, 5))
    features[RNG.random(features.shape) < 0.1] = np.nan
    target = np.nan_to_num(features[:, 0]) + np.nan_to_num(features[:, 1]) ** 2
    is_classifier = kind.endswith("Classifier")
    fitted = getattr(ensemble, kind)(max_iter=20).fit(features, target > 1 if is_classifier else target)
    trees = as_trees(fitted)
    expected = fitted.decision_function(features) if is_classifier else fitted.predict(features)
    assert trees.predict(features) == pytest.approx(expected)
    again = trees_from(trees.arrays("x/"), "x/")
    assert np.array_equal(again.predict(features), trees.predict(features))
