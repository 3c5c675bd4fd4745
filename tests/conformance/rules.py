"""Every rule of the reference's behaviour 4 to 6 that can be seen from outside: what a manager must do.

A test carries the ids of the rules that it tries (`@rule("4.6-suspended")`); test_rules.py counts: a rule
without a case fails. Where ours decides otherwise on purpose, the mark names the deviation
(`differs=(Deviation.RESUME,)`), and the test has both outcomes.

What is not here, and why:
- Behaviour 4.5: a template with fewer jobs than pod sets, and 5.1: errors while a template is read, and a
  JobSet that cannot be read. Both come from the same list, and no answer of an API server leads there.
- Behaviour 4.5 and 4.9: what JobSet's webhooks default and refuse. They are JobSet's;
  tests/apiserver/test_refused_objects.py asks them.
- Behaviour 4.6: LimitRanges and RuntimeClasses wake suspended TrainJobs. Nothing that is rendered depends
  on either, so the objects stay as they are.
- Behaviour 6: what a panic answers, and the server's timeouts.
"""

from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.conformance.implementations import Apart
from trainer_infra.render.deviation import Deviation


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; its id begins with its section, and stays when the sentence is rewritten."""

    id: str
    sentence: str

    @property
    def section(self) -> str:
        """Of the reference's behaviour."""
        return self.id.partition("-")[0]


def rule(*ids: str, differs: tuple[Deviation | Apart, ...] = ()) -> pytest.MarkDecorator:
    """Mark a test, or a case of one, with the rules that it tries and where ours differs."""
    return pytest.mark.rule(ids, differs)


def differences_of(node: Any) -> frozenset[Deviation | Apart]:
    """Deviations that a test's rules name."""
    return frozenset(each for mark in node.iter_markers("rule") for each in mark.args[1])


RULES: Final = (
    # What may change in a TrainJob.
    Rule("1.6-suspend", "spec.suspend may change at any time."),
    Rule("1.6-metadata", "Labels and annotations may change at any time."),
    Rule(
        "1.6-patches",
        "runtimePatches may change, and gain entries, while the TrainJob is suspended.",
    ),
    Rule(
        "1.6-patch-fields", "A field of a patch that the schema calls immutable stays, also then."
    ),
    Rule(
        "1.6-patch-scheduling", "Node selector, tolerations and gates of a patch may change then."
    ),
    Rule("1.6-runtime-ref", "spec.runtimeRef never changes."),
    Rule("1.6-initializer", "spec.initializer never changes once it is set."),
    Rule("1.6-trainer", "spec.trainer never changes once it is set."),
    Rule("1.6-deadline", "spec.activeDeadlineSeconds never changes once it is set."),
    Rule("1.6-managed-by", "spec.managedBy never changes."),
    Rule(
        "1.6-added-later", "An optional field may be added to a TrainJob without it, and removed."
    ),
    # Labels and names.
    Rule("4.1-ancestor", "The label of the step says which job the TrainJob's trainer configures."),
    Rule("4.1-other-ancestor", "A label with another value is not a step."),
    Rule("4.1-framework", "The framework's label of a runtime is not needed."),
    Rule("4.1-finalizer", "The finalizer of older releases is taken off both kinds of runtime."),
    Rule("4.1-train-job-metadata", "Labels and annotations of a TrainJob stay on it."),
    # Snapshots.
    Rule(
        "4.2-made",
        "A TrainJob's first pass copies its whole runtime into a ConfigMap that it owns.",
    ),
    Rule("4.2-cluster-runtime", "That is so for a ClusterTrainingRuntime too."),
    Rule("4.2-defaults", "The copy has the defaults of the API server."),
    Rule("4.2-used", "Later changes of the runtime do not reach the TrainJob."),
    Rule("4.2-runtime-gone", "A TrainJob goes on after its runtime is deleted."),
    Rule(
        "4.2-made-again",
        "An unfinished TrainJob whose copy is missing gets one of the live runtime.",
    ),
    Rule("4.2-foreign", "A ConfigMap of that name with another owner is refused."),
    Rule("4.2-no-key", "A copy without its key is refused."),
    Rule("4.2-no-yaml", "A copy that cannot be parsed is refused."),
    Rule("4.2-other-runtime", "A copy of another runtime than runtimeRef's is refused."),
    Rule("4.2-not-live", "A copy that is refused is not replaced by the live runtime."),
    Rule("4.2-no-runtime", "Without copy and TrainingRuntime the pass fails and says so."),
    Rule(
        "4.2-no-cluster-runtime",
        "Without copy and ClusterTrainingRuntime the pass fails and says so.",
    ),
    # Patches.
    Rule("4.3-list-order", "Of two patches on one field the later one holds."),
    Rule("4.3-job-order", "Replicated jobs keep the runtime's order."),
    Rule("4.3-containers", "Containers and init containers are merged by name."),
    Rule("4.3-env", "Variables are merged by name."),
    Rule("4.3-mounts", "Mounts are merged by path."),
    Rule("4.3-volumes", "Volumes are merged by name."),
    Rule("4.3-volume-source", "A volume that gets another source keeps the old one too."),
    Rule("4.3-named-lists", "Pull secrets and scheduling gates are merged by name."),
    Rule("4.3-replaced-lists", "Tolerations are replaced as a whole."),
    Rule("4.3-maps", "Node selectors, labels and annotations are merged key by key."),
    Rule("4.3-security", "Security contexts are merged field by field."),
    Rule("4.3-affinity", "Affinity is merged field by field, its lists of terms are replaced."),
    Rule("4.3-absent", "What a patch does not name stays."),
    Rule(
        "4.3-item-order", "New items of a merged list come before those that only the runtime has."
    ),
    Rule("4.3-ancestor", "A patch of the Job's labels can change the step."),
    # Pods of a job.
    Rule("4.4-count", "Parallelism and completions of the trainer's job are its nodes."),
    Rule("4.4-unset-count", "A job without parallelism gets one, for completions too."),
    Rule("4.4-parallelism", "Parallelism of another job is its completions too."),
    Rule("4.4-endpoints", "A host file has the address of each pod, jobs in the runtime's order."),
    Rule("4.4-subdomain", "Addresses end in network.subdomain where the runtime has one."),
    # The JobSet.
    Rule("4.5-running", "A JobSet that runs is left as it is."),
    Rule("4.5-owner", "The JobSet has the TrainJob's name, and the TrainJob as its controller."),
    Rule(
        "4.5-metadata", "Its labels and annotations are the runtime template's, then the patches'."
    ),
    Rule(
        "4.5-initializer-replicas",
        "An initializer's job has one replica, whatever the runtime says.",
    ),
    Rule(
        "4.5-dataset",
        "spec.initializer.dataset sets address, variables and Secret of its container.",
    ),
    Rule("4.5-model", "spec.initializer.model does the same for its own."),
    Rule("4.5-initializer-env", "A user's own STORAGE_URI holds against storageUri."),
    Rule("4.5-empty-uri", "An empty storageUri is set too."),
    Rule("4.5-secret-appended", "The Secret comes after the runtime's own sources of variables."),
    Rule(
        "4.5-no-initializer",
        "Without spec.initializer the runtime's initializers stay as they are.",
    ),
    Rule("4.5-trainer-replicas", "A trainer's job has one replica, whatever the runtime says."),
    Rule("4.5-trainer", "Image, command and args of the TrainJob replace the runtime's."),
    Rule("4.5-trainer-unset", "Those that the TrainJob does not set stay."),
    Rule("4.5-trainer-empty", "An empty command or empty args replace the runtime's too."),
    Rule("4.5-trainer-env", "A user's variable holds against the framework's of that name."),
    Rule(
        "4.5-launcher-env", "Where the launcher is a node, the other nodes get the variables too."
    ),
    Rule("4.5-resources", "resourcesPerNode is merged with the runtime's resources."),
    Rule("4.5-gang-labels", "A gang's label is on the pods of every job."),
    Rule("4.5-init-container", "A framework may append an init container and volumes."),
    Rule("4.5-suspend", "The JobSet is suspended as the TrainJob is."),
    Rule("4.5-passed-on", "All else of the runtime's JobSet is passed on."),
    # Passes over a TrainJob.
    Rule("4.6-gone", "A TrainJob that is gone has nothing made for it."),
    Rule("4.6-managed-by-other", "A TrainJob of another controller gets no objects and no status."),
    Rule("4.6-managed-by-own", "One that names this controller is worked on."),
    Rule("4.6-unsupported", "An unknown kind of runtime makes no objects."),
    Rule("4.6-applied", "Objects are applied on the server, under the name `trainer`."),
    Rule("4.6-forced", "A field of ours that another client took is taken back."),
    Rule("4.6-first-error", "Nothing is made after the first error."),
    Rule("4.6-error-event", "An error is a warning event about the TrainJob."),
    Rule("4.6-long-error", "An error of more than 950 characters is cut in its event."),
    Rule("4.6-retry", "A pass that failed is tried again."),
    Rule("4.6-status-after-error", "The status is decided although objects could not be made."),
    Rule("4.6-no-condition-of-error", "An error is not a condition."),
    Rule("4.6-suspended", "A suspended TrainJob has Suspended."),
    Rule("4.6-resumed", "A resumed TrainJob has Suspended with value False."),
    Rule("4.6-never-suspended", "One that never was suspended has no such condition."),
    Rule("4.6-unchanged-status", "A status that stays the same is not written."),
    Rule("4.6-finished-objects", "A TrainJob that is complete gets no objects any more."),
    Rule("4.6-finished-status", "Its status still follows its JobSet."),
    Rule("4.6-finished-kept", "Its objects stay."),
    Rule("4.6-failed-again", "A failed TrainJob whose JobSet is gone starts again."),
    Rule("4.6-job-set-event", "A change of the JobSet is seen."),
    Rule("4.6-config-map-event", "A host file that is deleted is made again."),
    Rule("4.6-secret-event", "Keys that are deleted are made again."),
    Rule(
        "4.6-pod-group-event", "A PodGroup of a suspended TrainJob that is deleted is made again."
    ),
    # The status.
    Rule("4.7-complete", "JobSet's Completed is Complete, with reason, message and time."),
    Rule("4.7-failed", "JobSet's Failed is Failed, with reason, message and time."),
    Rule("4.7-false", "A condition of JobSet that is False says nothing."),
    Rule("4.7-not-copied", "Other conditions of JobSet are not copied."),
    Rule("4.7-jobs-status", "jobsStatus has the counts of each replicated job."),
    Rule("4.7-jobs-status-replaced", "It is replaced as a whole."),
    Rule(
        "4.7-deadline-kept", "A deadline that was exceeded stays the reason, whatever JobSet says."
    ),
    Rule("4.7-progress-kept", "trainerStatus stays when the status follows the JobSet."),
    # The deadline.
    Rule("4.8-exceeded", "A TrainJob past its deadline has failed."),
    Rule("4.8-from-creation", "The deadline counts from the creation."),
    Rule("4.8-job-set-deleted", "Its JobSet is deleted, the TrainJob is not."),
    Rule("4.8-delete-tried-once", "A JobSet that could not be deleted then stays."),
    Rule("4.8-unset", "A TrainJob without a deadline has none."),
    Rule("4.8-suspended", "A suspended TrainJob has no deadline."),
    Rule("4.8-finished", "Nor has a finished one."),
    Rule("4.8-resumed", "After a resume the deadline counts anew, from then on."),
    # Suspend and resume.
    Rule("4.9-suspend", "Suspending a TrainJob that runs suspends its JobSet."),
    Rule("4.9-suspend-whole", "Then the whole JobSet is applied."),
    Rule("4.9-resume", "Resuming it resumes the JobSet."),
    Rule("4.9-patches", "Patches that were changed meanwhile reach the JobSet."),
    Rule("4.9-with-patches", "A patch in the same request as the resume reaches it too."),
    Rule("4.9-metadata", "Labels and annotations of patches reach it too."),
    Rule(
        "4.9-pod-group", "The PodGroup is applied while the TrainJob is suspended, and only then."
    ),
    Rule("4.9-job-set-refuses", "A patch that JobSet would refuse is accepted."),
    # Webhooks.
    Rule("5-denied", "What a webhook refuses is answered with 403 and its name."),
    Rule("5-schema", "What the schema refuses is answered with 422."),
    Rule("5-delete", "Deletion asks no webhook."),
    Rule(
        "5-authority",
        "The manager's authority is in both webhook configurations and in its Secret.",
    ),
    # TrainJobs.
    Rule("5.1-unsupported", "A kind of runtime that does not exist is refused."),
    Rule("5.1-no-runtime", "The TrainingRuntime must exist."),
    Rule("5.1-no-cluster-runtime", "The ClusterTrainingRuntime must exist."),
    Rule("5.1-no-runtime-on-update", "It must exist at each update too."),
    Rule("5.1-deprecated", "A deprecated ClusterTrainingRuntime is a warning."),
    Rule("5.1-deprecated-namespaced", "A TrainingRuntime with that label is none."),
    Rule("5.1-dataset-job", "A dataset needs the job of that initializer."),
    Rule("5.1-dataset-container", "And its container."),
    Rule("5.1-dataset-mount", "And the volume there."),
    Rule("5.1-model-job", "A model needs the job of that initializer."),
    Rule("5.1-model-container", "And its container."),
    Rule("5.1-model-mount", "And the volume there."),
    Rule("5.1-patches-running", "Patches may not change while the TrainJob is not suspended."),
    Rule("5.1-patches-suspending", "They may in the request that suspends it."),
    Rule("5.1-patches-resuming", "And in the request that resumes it."),
    Rule("5.1-patches-same", "Patches that mean the same have not changed."),
    Rule(
        "5.1-patches-active", "They may not while a replicated job is still active, which is named."
    ),
    Rule("5.1-patch-manager", "The manager of a patch is a path with a domain before it."),
    Rule("5.1-patch-job", "A patch may name a job that the runtime has not."),
    Rule("5.1-patch-init-container", "And an init container that the job has not."),
    Rule("5.1-patch-container", "And a container that the job has not."),
    Rule("5.1-patch-env", "A patch sets no variables of the main containers."),
    Rule("5.1-patch-env-of-init", "It may under initContainers."),
    Rule("5.1-patch-regular-as-init", "A regular container may be named under initContainers."),
    Rule("5.1-torch-injection", "A container that variables are injected into must be there."),
    Rule("5.1-torch-env", "Torch's own variables are refused."),
    Rule("5.1-torchtune-model", "TorchTune knows the model of the runtime's name."),
    Rule("5.1-torchtune-nodes", "Of these only the largest trains on several nodes."),
    Rule("5.1-torchtune-qlora-model", "QLoRA is not for every model."),
    Rule("5.1-torchtune-qlora-device", "QLoRA on these models needs one process and one GPU."),
    Rule("5.1-torchtune-lora-nodes", "LoRA trains on one node."),
    Rule("5.1-torchtune-args", "Arguments that the runtime sets are refused, each by its index."),
    Rule("5.1-mpi-jobs", "Several nodes with a launcher among them need both jobs."),
    Rule("5.1-mpi-env", "OpenMPI's own variables are refused."),
    Rule("5.1-xgboost-env", "XGBoost's own variables are refused, each by its index."),
    Rule("5.1-jax-env", "JAX's own variables are accepted."),
    Rule("5.1-flux-init-container", "Flux needs its init container's name for itself."),
    Rule("5.1-volcano-queue", "A queue's name is not empty."),
    Rule("5.1-volcano-priority", "A priority class must exist."),
    Rule("5.1-volcano-system-priority", "Those of the system always do."),
    Rule("5.1-several", "All mistakes are told at once."),
    Rule("5.1-not-checked-secret", "A Secret need not exist."),
    Rule("5.1-not-checked-name", "A name that is too long for JobSet is accepted."),
    Rule("5.1-not-checked-resources", "Requests above their limits are accepted."),
    Rule("5.1-not-checked-nodes", "A negative number of nodes is accepted."),
    Rule("5.1-not-checked-mpi", "An empty MPI implementation is accepted."),
    Rule("5.1-zero-nodes", "So is zero."),
    Rule("5.1-not-checked-status-env", "The status server's variables may be set."),
    # Runtimes.
    Rule("5.2-replicas", "A job of a step has one replica."),
    Rule("5.2-container", "A job of a step has the container of that step."),
    Rule("5.2-other-jobs", "Jobs without a step are not looked at."),
    Rule("5.2-cluster-update", "An update of a ClusterTrainingRuntime is judged too."),
    Rule("5.2-update", "One of a TrainingRuntime is not."),
    Rule("5.2-deprecated", "Creating a deprecated ClusterTrainingRuntime is a warning."),
    Rule("5.2-deprecated-update", "Updating one is none, and creating a TrainingRuntime is none."),
    Rule("5.2-disabled", "A runtime with the label that says so is not judged."),
    # Defaults.
    Rule("5.3-create", "Each patch of a new TrainJob gets the time."),
    Rule("5.3-create-given", "A time that is given stays."),
    Rule(
        "5.3-update-same", "An entry that stays the same keeps its time, whatever the request says."
    ),
    Rule("5.3-update-changed", "An entry that changes gets the time, whatever the request says."),
    Rule("5.3-update-new", "A new entry gets the time where it has none."),
    Rule("5.3-schema", "All other defaults are the schema's."),
    # The status server.
    Rule("6-gate", "Without the feature gate there is no status server, and pods know of none."),
    Rule("6-accepted", "A report is stored as trainerStatus and answered with itself."),
    Rule("6-applied", "It is applied on the status, under the name `trainer-status`."),
    Rule("6-replaced", "A report replaces the one before it."),
    Rule("6-unknown-fields", "Fields that it does not know are left out."),
    Rule("6-empty", "A report without trainerStatus is answered with itself and stores nothing."),
    Rule("6-other-path", "Another path is 404."),
    Rule("6-other-method", "Another method is 404."),
    Rule("6-no-json", "What is not JSON is 422."),
    Rule("6-wrong-type", "JSON of another form is 422."),
    Rule("6-refused-by-schema", "What the schema refuses is 422, with the server's words."),
    Rule("6-no-train-job", "A TrainJob that is not there is 404."),
    Rule("6-too-large", "More than 64 KiB by its length is 413."),
    Rule("6-too-large-in-chunks", "More than 64 KiB in chunks is 422."),
    Rule("6-no-token", "Without a token it is 403."),
    Rule("6-several-credentials", "More or less than one credential is 403."),
    Rule("6-scheme", "The scheme's name may be in any case."),
    Rule("6-other-scheme", "Another scheme is 403."),
    Rule("6-signature", "A token that the cluster has not signed is 403."),
    Rule("6-expired", "A token that has expired is 403."),
    Rule("6-audience", "A token for another TrainJob is 403."),
    Rule("6-namespace", "A token of another namespace is 403."),
    Rule("6-pod", "The token need not be that of a pod of the TrainJob."),
    Rule(
        "6-pod-variables", "The trainer's containers know the address, the authority and the token."
    ),
    Rule("6-authority", "The authority is in a ConfigMap of the TrainJob."),
)
"""All, in the order of the behaviour's sections."""
