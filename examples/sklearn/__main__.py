"""Trains a classifier on handwritten digits; the model is kept, and its accuracy is an output."""

import pulumi

from trainer_infra import CustomTrainer, TrainJob


def train(gamma: float) -> None:
    """Train on four of five digits, and report how many of the others it tells right."""
    from pathlib import Path

    import joblib
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.svm import SVC

    from trainer_infra.report import report
    from trainer_infra.storage import output

    images, labels = load_digits(return_X_y=True)
    seen, held_out, seen_labels, held_out_labels = train_test_split(
        images, labels, test_size=0.2, random_state=0
    )
    model = SVC(gamma=gamma).fit(seen, seen_labels)
    joblib.dump(model, Path(output("model"), "digits.joblib"))
    report(progress=100, accuracy=model.score(held_out, held_out_labels))


job = TrainJob(
    "digits",
    runtime="plain-distributed",
    trainer=CustomTrainer(train, func_args={"gamma": 0.001}, packages=["scikit-learn==1.9.1"]),
    outputs=["model"],
    wait_for="complete",
)
pulumi.export("accuracy", job.metrics["accuracy"])
pulumi.export("model", job.outputs["model"])
