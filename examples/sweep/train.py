"""One run of the sweep: a support vector machine on handwritten digits."""

from pathlib import Path

import joblib
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from trainer_infra.report import report
from trainer_infra.storage import output


def train(gamma: float, penalty: float) -> None:
    """Train on four of five digits, and report how many of the others it tells right."""
    images, labels = load_digits(return_X_y=True)
    seen, held_out, seen_labels, held_out_labels = train_test_split(
        images, labels, test_size=0.2, random_state=0
    )
    model = SVC(gamma=gamma, C=penalty).fit(seen, seen_labels)
    joblib.dump(model, Path(output("model"), "digits.joblib"))
    report(progress=100, accuracy=model.score(held_out, held_out_labels))
