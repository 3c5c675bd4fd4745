"""The gates stop what was tampered with, on real builds: git over HTTP, kustomize, helm, pre-commit."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.gates.conftest import Place
from tests.gates.tampered import APP, CHART, EVIL, GOOD, JOB, TAMPERED
from tests.warm_start import Done
from trainer_infra import home_folders

ROOT: Final = Path(__file__).resolve().parent.parent.parent
GITOPS: Final = ROOT / "gitops"
PRE_COMMIT: Final = "4.7.0"
CONFIG: Final = ".pre-commit-config.yaml"
pytestmark = pytest.mark.verify
each_tampered = pytest.mark.parametrize("how", TAMPERED)


def objects(text: str) -> list[dict[str, Any]]:
    return [*yaml.safe_load_all(text)]


def one(path: Path, kind: str) -> dict[str, Any]:
    (found,) = (each for each in objects(path.read_text()) if each["kind"] == kind)
    return found


def rendered(place: Place, **env: str) -> Done:
    """What Argo CD's repo server runs in an application's folder."""
    (plugin,) = objects((GITOPS / "argocd/plugin/plugin.yaml").read_text())
    generate = plugin["spec"]["generate"]
    words = [*generate["command"], *generate["args"]]
    at = words.index("/etc/trainer-infra/trainer-policy.yaml")
    words[at] = str(place.policy)
    folder = place.repository.folder / APP
    return place.shell(*words, folder=folder, ARGOCD_APP_SOURCE_PATH=APP, **env)


def in_container(place: Place, template: dict[str, Any], folder: Path, **env: str) -> Done:
    """What a Job's container runs, without the cluster that it would look at."""
    (container,) = template["spec"]["containers"]
    given = {each["name"]: each["value"] for each in container["env"] if "value" in each}
    words = [each.replace(" --cluster", "") for each in (*container["command"], *container["args"])]
    work = folder / "container"
    work.mkdir()
    given |= {"POLICY": str(place.policy), "HOME": str(folder), "SOURCE_PATH": APP, **env}
    return place.shell(*words, folder=work, **given)


def synced(place: Place, folder: Path, commit: str) -> Done:
    """The Job before a sync of Argo CD."""
    template = one(GITOPS / "cluster-check/check.yaml", "Job")["spec"]["template"]
    return in_container(place, template, folder, REPOSITORY=place.url, REVISION=commit)


def passed_on(place: Place, folder: Path) -> Done:
    """The CronJob that names the commit which Flux applies."""
    found = one(GITOPS / "flux/training.yaml", "CronJob")
    template = found["spec"]["jobTemplate"]["spec"]["template"]
    return in_container(place, template, folder, REPOSITORY=place.url)


def pinned(folder: Path) -> list[str]:
    """Commits that Flux was told to apply."""
    asked = folder / "asked"
    lines = asked.read_text().splitlines() if asked.exists() else []
    return [
        json.loads(each[each.index("{") :])["spec"]["ref"]["commit"]
        for each in lines
        if each.startswith("patch")
    ]


@each_tampered
def test_argo_cd_renders_nothing_of_it(place: Place, how: str) -> None:
    place.commit(TAMPERED[how])
    done = rendered(place)
    assert (done.code, done.out) == (1, ""), done.err
    assert "The check failed" in done.err


@each_tampered
def test_argo_cd_does_not_begin_its_sync(place: Place, tmp_path: Path, how: str) -> None:
    done = synced(place, tmp_path, place.commit(TAMPERED[how]))
    assert done.code == 1, done.err
    assert "The check failed" in done.out


@each_tampered
def test_flux_is_not_told_to_apply_it(place: Place, tmp_path: Path, how: str) -> None:
    place.commit(TAMPERED[how])
    done = passed_on(place, tmp_path)
    assert (done.code, pinned(tmp_path)) == (1, []), done.err
    assert "The check failed" in done.out


def test_all_let_pass_what_is_good(place: Place, tmp_path: Path) -> None:
    assert objects(rendered(place).out) == [yaml.safe_load(JOB)]
    commit = place.commit({})
    assert synced(place, tmp_path, commit).code == 0
    (tmp_path / "container").rename(tmp_path / "before")
    assert passed_on(place, tmp_path).code == 0
    assert pinned(tmp_path) == [commit]


def test_the_job_judges_the_revision_that_is_synced_and_no_other(
    place: Place, tmp_path: Path
) -> None:
    good = place.repository.git("rev-parse", "HEAD")
    place.commit(TAMPERED["another resource"])
    assert synced(place, tmp_path, good).code == 0


@pytest.mark.parametrize("missing", ["REPOSITORY", "REVISION"])
def test_a_job_that_is_not_told_what_is_synced_fails(
    place: Place, tmp_path: Path, missing: str
) -> None:
    template = one(GITOPS / "cluster-check/check.yaml", "Job")["spec"]["template"]
    given = {"REPOSITORY": place.url, "REVISION": "main", missing: ""}
    done = in_container(place, template, tmp_path, **given)
    assert done.code != 0
    assert "the application must say what it syncs" in done.err


def test_a_commit_that_was_passed_is_not_judged_again(place: Place, tmp_path: Path) -> None:
    commit = place.commit(TAMPERED["another resource"])
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.write_text(f"#!/bin/sh\necho {commit}\n")
    assert passed_on(place, tmp_path) == Done(0, "", "")


# What Argo CD's plugin prints.


def test_a_chart_is_rendered_as_the_application_asks(place: Place) -> None:
    template = JOB.replace("name: digits", "name: {{ .Release.Name }}-{{ .Values.size }}").replace(
        "namespace: vision", "namespace: {{ .Release.Namespace }}"
    )
    place.commit(
        {
            **CHART,
            f"{APP}/templates/job.yaml": template,
            f"{APP}/values.yaml": "size: small\n",
            f"{APP}/values-prod.yaml": "size: large\n",
        }
    )
    env = {"ARGOCD_APP_NAME": "team", "ARGOCD_APP_NAMESPACE": "vision"}

    def named(**more: str) -> tuple[str, str]:
        (job,) = objects(rendered(place, **env, **more).out)
        return job["metadata"]["name"], job["metadata"]["namespace"]

    def asked(*parameters: dict[str, Any]) -> str:
        return json.dumps(parameters)

    files = {"name": "values-files", "array": ["values-prod.yaml"]}
    pairs = {"name": "helm-parameters", "map": {"size": "huge"}}
    assert named() == ("team-small", "vision")
    assert named(ARGOCD_APP_PARAMETERS=asked(files)) == ("team-large", "vision")
    assert named(ARGOCD_APP_PARAMETERS=asked(files, pairs)) == ("team-huge", "vision")


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"ARGOCD_ENV_SIZE": "huge"}, "has settings that the check cannot build with"),
        ({"ARGOCD_APP_PARAMETERS": '[{"name": "x", "string": "y"}]'}, "got 'x'"),
        ({"ARGOCD_APP_PARAMETERS": "{"}, "must be the list of parameters that Argo CD writes"),
        (
            {"ARGOCD_APP_PARAMETERS": '[{"name": "values-files", "array": ["/etc/hosts"]}]'},
            "must be a file of the repository, got '/etc/hosts'",
        ),
        (
            {"ARGOCD_APP_PARAMETERS": '[{"name": "values-files", "array": ["../../policy/p"]}]'},
            "must be a file of the repository",
        ),
    ],
)
def test_what_cannot_be_built_as_asked_is_refused(
    place: Place, env: dict[str, str], said: str
) -> None:
    done = rendered(place, **env)
    assert (done.code != 0, done.out) == (True, "")
    assert said in done.err


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({f"{APP}/Chart.yaml": CHART[f"{APP}/Chart.yaml"]}, "has a chart and a kustomization"),
        ({f"{APP}/kustomization.yaml": "", f"{APP}/a.jsonnet": "{}"}, "is Jsonnet"),
        ({f"{APP}/kustomization.yaml": "", f"{APP}/a.yaml": "a: [\n"}, "is not YAML"),
        ({f"{APP}/kustomization.yaml": "resources: [none.yaml]\n"}, "cannot be built"),
    ],
)
def test_what_cannot_be_read_is_not_rendered(
    place: Place, files: dict[str, str], said: str
) -> None:
    place.commit(files)
    done = rendered(place)
    assert (done.code, done.out) == (3, "")
    assert said in done.err


def test_what_is_below_a_plain_folder_is_neither_judged_nor_printed(place: Place) -> None:
    place.commit({f"{APP}/kustomization.yaml": "", f"{APP}/below/evil.yaml": EVIL})
    done = rendered(place)
    assert objects(done.out) == [yaml.safe_load(JOB)]
    assert "below: is not applied: Argo CD reads no folders below an application's" in done.err


def test_texts_are_printed_as_they_were_judged(place: Place) -> None:
    texts = [
        "on",
        "1e3",
        "0o14",
        "2026-01-01",
        "a\u2028b",
        "\U0001f600",
        'q"\\\n',
    ]
    data = {f"k{index}": text for index, text in enumerate(texts)}
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
    place.commit({f"{APP}/kustomization.yaml": "", f"{APP}/a.json": json.dumps(value)})
    printed = place.repository.folder / "printed.yaml"
    printed.write_text(rendered(place).out)
    kustomization = place.repository.folder / "kustomization.yaml"
    kustomization.write_text("resources: [printed.yaml]\n")
    read = place.shell("kubectl", "kustomize", ".", folder=place.repository.folder)
    (found,) = (each for each in objects(read.out) if each["kind"] == "ConfigMap")
    assert found["data"] == data


@pytest.mark.parametrize(
    ("project", "projects", "is_judged"),
    [
        ("training", "", True),
        ("training", "training vision", True),
        ("vision", "training vision", True),
        ("web", "training vision", False),
        ("train", "training", False),
        ("", "training", True),
    ],
)
def test_the_plugin_is_for_all_applications_of_its_projects(
    place: Place, project: str, projects: str, is_judged: bool
) -> None:
    (plugin,) = objects((GITOPS / "argocd/plugin/plugin.yaml").read_text())
    find = plugin["spec"]["discover"]["find"]
    env = {
        "TRAINING_PROJECTS": projects,
        **({"ARGOCD_APP_PROJECT_NAME": project} if project else {}),
    }
    done = place.shell(*find["command"], *find["args"], folder=place.repository.folder, **env)
    assert (done.code, bool(done.out)) == (0, is_judged)


# pre-commit, from its wheel.


@pytest.fixture(scope="session")
def pre_commit() -> Path:
    """The program, installed once for each machine."""
    folder = home_folders.cache_home() / f"pre-commit-{PRE_COMMIT}"
    program = folder / "bin" / "pre-commit"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = (folder / "bin" / "python", "-m", "pip", "install", "--quiet")
        subprocess.run([*pip, f"pre-commit=={PRE_COMMIT}"], check=True)
    return program


@pytest.fixture
def hooked(place: Place, tmp_path: Path, pre_commit: Path) -> Place:
    """The repository with our hook; the package that it runs is the one that is here."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / ".pre-commit-hooks.yaml").write_text((ROOT / ".pre-commit-hooks.yaml").read_text())
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "a")):
        subprocess.run(["git", *words], cwd=hooks, env=place.env, check=True)
    head = place.shell("git", "rev-parse", "HEAD", folder=hooks).out.strip()
    hook = {"id": "trainer-infra-check", "language": "system"}
    config = {"repos": [{"repo": str(hooks), "rev": head, "hooks": [hook]}]}
    (tmp_path / "bin" / "pre-commit").symlink_to(pre_commit)
    there = Place(
        place.repository,
        place.url,
        place.policy,
        {**place.env, "PRE_COMMIT_HOME": str(tmp_path / "pre-commit")},
    )
    there.commit({CONFIG: yaml.safe_dump(config)})
    assert git(there, "config", "user.name", "a").code == 0
    assert there.shell("pre-commit", "install", folder=there.repository.folder).code == 0
    return there


def git(place: Place, *words: str) -> Done:
    return place.shell("git", *words, folder=place.repository.folder)


def hook(place: Place, *words: str) -> Done:
    return place.shell("pre-commit", "run", *words, folder=place.repository.folder)


@each_tampered
def test_pre_commit_lets_nobody_commit_it(hooked: Place, how: str) -> None:
    hooked.write(TAMPERED[how])
    git(hooked, "add", "--all")
    done = git(hooked, "commit", "--message", "it")
    assert done.code == 1
    assert "The check failed" in done.err + done.out, done.err
    assert git(hooked, "commit", "--no-verify", "--message", "it").code == 0
    pushed = hook(hooked, "--from-ref", "HEAD~1", "--to-ref", "HEAD")
    assert (pushed.code, "The check failed" in pushed.out) == (1, True)


def test_pre_commit_lets_pass_what_is_good_and_judges_all_when_asked(hooked: Place) -> None:
    hooked.write({f"{APP}/digits.yaml": JOB.replace("numNodes: 2", "numNodes: 4")})
    assert git(hooked, "commit", "--all", "--message", "more").code == 0
    assert hook(hooked, "--all-files").code == 0
    hooked.write(TAMPERED["another resource"])
    git(hooked, "add", "--all")
    git(hooked, "commit", "--no-verify", "--message", "it")
    assert hook(hooked, "--all-files").code == 1
    # What is there already is not what a commit changes.
    hooked.write({"README.md": "# More\n"})
    assert git(hooked, "commit", "--all", "--message", "words").code == 0


def test_what_is_staged_is_judged_and_not_what_lies_about(hooked: Place) -> None:
    hooked.write(TAMPERED["another resource"])
    git(hooked, "add", "--all")
    # Mended in the work tree alone, with an untracked file that nobody commits.
    hooked.write({f"{APP}/kustomization.yaml": GOOD[f"{APP}/kustomization.yaml"]})
    hooked.write({"notes/broken.yaml": "a: [\n"})
    done = git(hooked, "commit", "--message", "it")
    assert (done.code, "privileged" in done.err + done.out) == (1, True)
    git(hooked, "reset", "--quiet", "--", f"{APP}/evil.yaml", f"{APP}/kustomization.yaml")
    hooked.write({f"{APP}/digits.yaml": JOB.replace("numNodes: 2", "numNodes: 4")})
    git(hooked, "add", f"{APP}/digits.yaml")
    assert git(hooked, "commit", "--message", "good").code == 0


def test_a_chart_that_a_commit_does_not_touch_needs_no_helm(hooked: Place, tmp_path: Path) -> None:
    chart = {"charts/a/Chart.yaml": CHART[f"{APP}/Chart.yaml"], "charts/a/templates/job.yaml": JOB}
    hooked.write(chart)
    git(hooked, "add", "--all")
    assert git(hooked, "commit", "--no-verify", "--message", "a chart").code == 0
    (tmp_path / "bin" / "helm").unlink()
    hooked.write({f"{APP}/digits.yaml": JOB.replace("numNodes: 2", "numNodes: 4")})
    git(hooked, "add", "--all")
    done = git(hooked, "commit", "--message", "more")
    assert done.code == 0, done.out + done.err
    hooked.write({"charts/a/templates/job.yaml": JOB.replace("numNodes: 2", "numNodes: 4")})
    git(hooked, "add", "--all")
    done = git(hooked, "commit", "--message", "the chart")
    assert (done.code, "`helm` is needed to render it" in done.out + done.err) == (1, True)


def test_the_first_commit_of_all_and_a_deleted_runtime_are_judged(hooked: Place) -> None:
    runtime = (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\n"
        "metadata: {name: own, namespace: vision}\n"
        "spec: {template: {spec: {replicatedJobs: [{name: node, template: {}}]}}}\n"
    )
    own = JOB.replace("{name: torch-distributed}", "{name: own, kind: TrainingRuntime}")
    hooked.write({"runtime.yaml": runtime, f"{APP}/digits.yaml": own})
    hooked.write({"trainer-policy.yaml": "isWhole: true\n"})
    git(hooked, "add", "--all")
    git(hooked, "commit", "--no-verify", "--message", "own")
    git(hooked, "rm", "--quiet", "runtime.yaml")
    done = git(hooked, "commit", "--message", "gone")
    assert (done.code, "runtime-exists" in done.out + done.err) == (1, True)
    git(hooked, "checkout", "--quiet", "--orphan", "new")
    done = git(hooked, "commit", "--message", "first")
    assert (done.code, "runtime-exists" in done.out + done.err) == (1, True)


# What `--changed-from` sees of charts.


def changed(place: Place, *arguments: str) -> dict[str, Any]:
    words = ("trainer-infra", "check", ".", "--changed-from", "main", "--format", "json")
    done = place.shell(*words, *arguments, folder=place.repository.folder)
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_a_chart_is_judged_whose_values_alone_changed(place: Place) -> None:
    template = JOB.replace("numNodes: 2", "numNodes: {{ .Values.nodes }}").replace(
        "limits: {cpu: 4, memory: 16Gi}",
        "limits:\n        {{- toYaml .Values.limits | nindent 8 }}",
    )
    values = "nodes: 2\nlimits: {cpu: 4, memory: 16Gi}\n"
    place.commit(
        {
            **CHART,
            f"{APP}/templates/job.yaml": template,
            f"{APP}/values.yaml": values,
            f"{APP}/values-prod.yaml": "nodes: 2\n",
        }
    )
    place.repository.git("checkout", "--quiet", "-b", "topic")
    prod = ("--values", f"{APP}/values-prod.yaml")
    assert changed(place, *prod)["objects"] == 0
    place.commit({f"{APP}/values-prod.yaml": "nodes: 2\nlimits: {cpu: 4, memory: 16Xi}\n"})
    found = changed(place, *prod)
    assert found["objects"] == 1
    places = {
        (each["place"]["file"], each["place"]["line"])
        for each in found["findings"]
        if each["fails"]
    }
    assert places == {(f"{APP}/values-prod.yaml", 2)}


def test_dependencies_that_helm_fetched_are_those_of_the_work_tree(place: Place) -> None:
    chart = CHART[f"{APP}/Chart.yaml"] + "dependencies: [{name: sub, version: 0.1.0}]\n"
    place.commit(
        {
            **CHART,
            ".gitignore": "charts/\n",
            f"{APP}/Chart.yaml": chart,
            f"{APP}/templates/job.yaml": JOB,
        }
    )
    place.repository.git("checkout", "--quiet", "-b", "topic")
    place.write(
        {
            f"{APP}/charts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
            f"{APP}/charts/sub/templates/job.yaml": JOB.replace("name: digits", "name: other"),
        }
    )
    found = changed(place)
    assert (found["objects"], found["problems"]) == (0, [])
