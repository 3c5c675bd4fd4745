"""`git+https://…@REV#PATH` as `train`: what is packed, what is fetched, and what is refused."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from tests.trainers.conftest import Problems, Write
from tests.trainers.git_server import Repository, new_repository, serving
from trainer_infra.trainers.code import Code
from trainer_infra.trainers.custom import git_tree
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer

FILES = {
    "train.py": "import helper\n\ndef fit(): pass\n",
    "helper.py": "VALUE = 1\n",
    "app/main.py": "print(1)\n",
    "app/data.csv": "1\n",
    "app/.trainerignore": "*.csv\n",
    "app/pkg/work.py": "def fit(): pass\n",
}


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's machine: a cache of its own, settings of its own, no answer known."""
    monkeypatch.setenv("TRAINER_INFRA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(git_tree, "KEPT_SECONDS", 0.0)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = new_repository(tmp_path / "org" / "repo")
    made.commit(FILES)
    return made


@pytest.fixture
def web(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str]]]:
    """A forge, under an https:// name that the user's settings of git send to it."""
    with serving(repository.folder.parent) as (url, asked):
        send_to(monkeypatch, url)
        yield "git+https://git.example/repo/.git", asked


def send_to(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    settings = {"COUNT": "1", "KEY_0": f"url.{url}/.insteadOf", "VALUE_0": "https://git.example/"}
    for name, value in settings.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)


def packed(train: str) -> Code:
    return CustomTrainer(train).pack().code


def sources(train: str) -> dict[str, str]:
    return {
        path.removeprefix("source/"): text
        for path, text in packed(train).files.items()
        if path.startswith("source/")
    }


def trees(tmp_path: Path) -> list[str]:
    folder = tmp_path / "cache" / "git"
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


def test_a_path_means_what_a_local_one_means(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.folder)
    for path in ("app:main.py", "app:pkg.work:fit", "app/main.py", "helper.py", ".:train:fit"):
        local, remote = packed(path), packed(f"{repository.url}@main#{path}")
        assert remote.files == local.files
        assert remote.of_the_user() == local.of_the_user()
        assert remote.digest() == local.digest()
    assert sorted(sources(f"{repository.url}#app:main.py")) == ["main.py", "pkg/work.py"]


def test_a_branch_a_tag_and_a_commit_are_revisions(repository: Repository) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.git("tag", "v1")
    repository.git("tag", "--annotate", "--message", "of its own", "v2")
    repository.git("checkout", "--quiet", "-b", "feature/x")
    second = repository.commit({"helper.py": "VALUE = 2\n"})
    repository.git("checkout", "--quiet", "main")
    found = {
        revision: packed(f"{repository.url}{revision}#helper.py").origin
        for revision in ("", "@main", "@v1", "@v2", "@feature/x", "@refs/tags/v2", f"@{second}")
    }
    assert found == {
        revision: f"{repository.url}@{second if revision in {'@feature/x', f'@{second}'} else first}#helper.py"
        for revision in found
    }


def test_a_branch_that_moved_is_changed_code_only_where_a_packed_file_changed(
    repository: Repository,
) -> None:
    train = f"{repository.url}@main#app:main.py"
    before = packed(train)
    repository.commit({"README.md": "more\n", "app/data.csv": "2\n"})
    same = packed(train)
    assert same.origin != before.origin
    assert same.of_the_user() == before.of_the_user()
    assert same.digest() == before.digest()
    repository.commit({"app/main.py": "print(2)\n"})
    assert packed(train).of_the_user() != before.of_the_user()


def test_a_forge_is_asked_for_each_tree_once(
    web: tuple[str, list[str]], repository: Repository, tmp_path: Path
) -> None:
    url, asked = web
    assert sources(f"{url}@main#app:main.py") == {
        "main.py": FILES["app/main.py"],
        "pkg/work.py": FILES["app/pkg/work.py"],
    }
    assert any("git-upload-pack" in each for each in asked)
    fetching = len(asked)
    packed(f"{url}@main#helper.py")
    assert len(asked) - fetching < fetching
    assert len(trees(tmp_path)) == 1
    asked.clear()
    commit = repository.git("rev-parse", "HEAD")
    packed(f"{url}@{commit}#helper.py")
    assert asked == []
    old = repository.git("rev-parse", "HEAD")
    repository.commit({"helper.py": "VALUE = 3\n"})
    shutil.rmtree(tmp_path / "cache")
    assert sources(f"{url}@{old}#helper.py") == {"helper.py": FILES["helper.py"]}


def test_files_are_as_git_has_them(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".gitconfig").write_text("[core]\n autocrlf = true\n")
    # A home in a repository of its own, whose ignore file names everything.
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*\n")
    repository.commit(
        {".gitattributes": "*.py export-ignore\n*.txt text eol=crlf\n", "app/ü b.txt": "x\ny\n"}
    )
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "another"))
    assert sources(f"{repository.url}#app:main.py")["ü b.txt"] == "x\ny\n"


def test_two_previews_at_once_fetch_whole_trees(repository: Repository, tmp_path: Path) -> None:
    train = f"{repository.url}@main#app:main.py"
    program = (
        "import sys; from trainer_infra import CustomTrainer; "
        "print(CustomTrainer(sys.argv[1]).pack().code.digest())"
    )
    command = [sys.executable, "-c", program, train]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = {process.communicate()[0] for process in processes}
    found: list[Code] = []
    threads = [Thread(target=lambda: found.append(packed(train))) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert said == {f"{found[0].digest()}\n"}
    assert found[0] == found[1]
    assert len(trees(tmp_path)) == 1


def test_a_fetch_that_was_killed_leaves_nothing_that_counts(
    repository: Repository, tmp_path: Path
) -> None:
    folder = tmp_path / "cache" / "git" / ".partial-killed" / "tree"
    folder.mkdir(parents=True)
    assert "main.py" in sources(f"{repository.url}#app:main.py")
    assert len(trees(tmp_path)) == 2
    os.utime(folder.parent, (0, 0))
    repository.commit({"app/main.py": "print(3)\n"})
    assert "main.py" in sources(f"{repository.url}#app:main.py")
    assert not folder.exists()


def test_what_a_reference_cannot_be(problems: Problems) -> None:
    form = git_tree_form()
    found = {
        train: problems(CustomTrainer(train))
        for train in (
            "git+http://git.example/repo#train.py",
            "git+https://git.example/repo",
            "git+https://git.example/repo@main#",
            "git+https://git.example/repo@a..b#train.py",
            "git+https://git.example/repo@-x#train.py",
            "git+https://git.example/repo#../train.py",
            "git+https://git.example/repo#/etc:passwd",
        )
    }
    assert found == {
        "git+http://git.example/repo#train.py": [
            f"train: is not a git reference, got 'git+http://git.example/repo#train.py'; write {form}"
        ],
        "git+https://git.example/repo": [
            (
                "train: names nothing in the repository, got 'git+https://git.example/repo'; "
                'say what to run in it: "git+https://git.example/repo#train.py"'
            )
        ],
        "git+https://git.example/repo@main#": [
            (
                "train: names nothing in the repository, got 'git+https://git.example/repo@main#'; "
                'say what to run in it: "git+https://git.example/repo@main#train.py"'
            )
        ],
        "git+https://git.example/repo@a..b#train.py": [
            (
                "train: has an invalid revision, got 'a..b'; "
                "write a branch, a tag, or the 40 digits of a commit"
            )
        ],
        "git+https://git.example/repo@-x#train.py": [
            (
                "train: has an invalid revision, got '-x'; "
                "write a branch, a tag, or the 40 digits of a commit"
            )
        ],
        "git+https://git.example/repo#../train.py": [
            (
                "train: leads out of the repository, got '../train.py'; "
                "paths are relative to the root of the repository"
            )
        ],
        "git+https://git.example/repo#/etc:passwd": [
            (
                "train: leads out of the repository, got '/etc:passwd'; "
                "paths are relative to the root of the repository"
            )
        ],
    }
    assert problems(CustomTrainer("https://git.example/repo")) == [
        (
            "train: is a URL, got 'https://git.example/repo'; "
            "write git+https://HOST/ORG/REPO.git@REVISION#PATH for code of a git repository"
        )
    ]


def git_tree_form() -> str:
    return (
        "git+https://HOST/ORG/REPO.git@REVISION#PATH, in which PATH is one of train.py, "
        "folder:main.py, train.py:function and folder:package.module:function"
    )


@pytest.mark.parametrize(
    "train",
    [
        "git+https://token@git.example/repo#train.py",
        "git+https://me:pass-word@git.example/repo@main#train.py",
        "git+ssh://me:pass-word@git.example/repo@main#train.py",
        "git+https://git.example/repo?token=pass-word#train.py",
        "https://me:pass-word@git.example/repo#train.py",
    ],
)
def test_a_password_is_refused_and_not_repeated(problems: Problems, train: str) -> None:
    (said,) = problems(CustomTrainer(train))
    assert "pass-word" not in said
    assert "token@" not in said
    if train.startswith("git+"):
        assert "everybody who may read the state would see" in said
        assert "leave it out: git asks its credential helper, or reads ~/.netrc" in said


def test_what_is_not_in_the_commit_is_named_as_the_user_wrote_it(
    repository: Repository, problems: Problems
) -> None:
    url = f"{repository.url}@main"
    found = {
        path: problems(CustomTrainer(f"{url}#{path}"))
        for path in ("tran.py", "app", "app:mian.py", "app:pkg.work:fitt", "train.py:fit")
    }
    assert found == {
        "tran.py": [
            (
                f"train: there is no file or folder {url}#tran.py, got 'tran.py'; "
                f"paths are relative to {url}"
            )
        ],
        "app": [
            (
                "train: is a folder without an entry, got 'app'; name what to run in it: "
                f'"{url}#app:main.py" or "{url}#app:module:function"'
            )
        ],
        "app:mian.py": [
            f"{url}#app: train: the folder has no such file, got 'mian.py'; the nearest is main.py"
        ],
        "app:pkg.work:fitt": [
            (
                f"{url}#app/pkg/work.py:1: train: the file has no such function, got 'fitt'; "
                "the nearest is fit"
            )
        ],
        "train.py:fit": [
            (
                f"{url}#train.py:1: train: train.py imports helper, which would not travel with it; "
                f'give the folder: CustomTrainer("{url}#.:train.py:fit")'
            )
        ],
    }


def test_a_revision_that_is_not_there_is_said(repository: Repository, problems: Problems) -> None:
    url = repository.url
    repository.git("tag", "both")
    repository.commit({})
    repository.git("branch", "both")
    assert problems(CustomTrainer(f"{url}@mian#train.py")) == [
        (
            f"{url}@mian: train: the repository has no branch and no tag mian; "
            "name one; a commit is written with all of its 40 digits"
        )
    ]
    assert problems(CustomTrainer(f"{url}@both#train.py")) == [
        (
            f"{url}@both: train: both is a branch and a tag of two commits; "
            "write refs/heads/both or refs/tags/both"
        )
    ]
    (said,) = problems(CustomTrainer(f"{url}@{'0' * 40}#train.py"))
    assert "train: git cannot fetch it: fatal: " in said
    assert "see whether the commit is there" in said


def test_a_repository_that_is_not_there_is_said_in_gits_own_words(
    tmp_path: Path, problems: Problems
) -> None:
    url = f"git+{(tmp_path / 'none').as_uri()}"
    (said,) = problems(CustomTrainer(f"{url}#train.py"))
    assert said.startswith(f"{url}: train: git cannot fetch it: ")
    assert "does not appear to be a git repository" in said
    assert (
        "; see whether `git ls-remote` of the URL works in a terminal, without a question" in said
    )


def test_a_password_that_git_would_ask_for_is_an_error_and_no_question(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, problems: Problems, tmp_path: Path
) -> None:
    with serving(repository.folder.parent, password="pass-word") as (url, _):
        send_to(monkeypatch, url)
        (said,) = problems(CustomTrainer("git+https://git.example/repo/.git#helper.py"))
        assert "terminal prompts disabled" in said
        # The user's own credentials are those of git.
        (tmp_path / ".netrc").write_text("machine 127.0.0.1 login reader password pass-word\n")
        assert sources("git+https://git.example/repo/.git#helper.py")


def test_ssh_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problems: Problems
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(
        '#!/bin/sh\necho "$@" >&2\necho "reader@git.example: Permission denied (publickey)." >&2\nexit 255\n'
    )
    ssh.chmod(0o755)
    (tmp_path / ".gitconfig").write_text(f"[core]\n sshCommand = {ssh} -p 2222\n")
    (said,) = problems(CustomTrainer("git+ssh://reader@git.example/org/repo.git@main#train.py"))
    assert "Permission denied (publickey). fatal: Could not read from remote repository;" in said
    ssh.write_text('#!/bin/sh\necho "fatal: $@" >&2\nexit 255\n')
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    (said,) = problems(CustomTrainer("git+ssh://reader@git.example/org/repo.git@main#train.py"))
    assert "-o BatchMode=yes" in said
    assert "-p 2222" not in said


def test_a_server_that_does_not_answer_is_given_up(
    monkeypatch: pytest.MonkeyPatch, problems: Problems
) -> None:
    monkeypatch.setattr(git_tree, "LOOKUP_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        send_to(monkeypatch, f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert problems(CustomTrainer("git+https://git.example/repo#train.py")) == [
            (
                "git+https://git.example/repo: train: git did not have it within 1 s; "
                "see whether the server can be reached"
            )
        ]


def test_a_machine_without_git_is_told(monkeypatch: pytest.MonkeyPatch, problems: Problems) -> None:
    monkeypatch.setenv("PATH", "")
    assert problems(CustomTrainer("git+https://git.example/repo#train.py")) == [
        (
            "git+https://git.example/repo: train: git is not on PATH, and a git reference needs it; "
            "install git, or give a path of a clone"
        )
    ]


def test_submodules_and_pointers_of_lfs_are_refused_unless_they_are_left_out(
    repository: Repository, tmp_path: Path, problems: Problems
) -> None:
    other = new_repository(tmp_path / "other")
    other.commit({"a.py": ""})
    repository.git("submodule", "--quiet", "add", str(other.folder), "app/third")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    repository.commit({"app/weights.txt": pointer})
    url = f"{repository.url}@main"
    assert problems(CustomTrainer(f"{url}#app:main.py")) == [
        (
            f"{url}#app/main.py: train: is a submodule, which is not fetched, got 'third'; "
            "name it in .trainerignore, or copy its files"
        ),
        (
            f"{url}#app/main.py: train: is a pointer of Git LFS, whose file is not fetched, "
            "got 'weights.txt'; name it in .trainerignore, and download it in the job"
        ),
    ]
    assert sources(f"{url}#helper.py")
    repository.commit({"app/.trainerignore": "third/\nweights.txt\n*.csv\n"})
    assert sorted(sources(f"{url}#app:main.py")) == ["main.py", "pkg/work.py"]


def test_links_stay_links_and_may_not_lead_out(repository: Repository, problems: Problems) -> None:
    (repository.folder / "app" / "same.py").symlink_to("main.py")
    repository.commit({})
    assert sources(f"{repository.url}#app:main.py")["same.py"] == FILES["app/main.py"]
    (repository.folder / "app" / "out.txt").symlink_to("/etc/hostname")
    repository.commit({})
    url = f"{repository.url}@main"
    (said,) = problems(CustomTrainer(f"{url}#app:main.py"))
    assert said.startswith(f"{url}#app/out.txt: train: is a link out of the folder")


def test_a_local_folder_may_still_begin_with_git(write: Write) -> None:
    write("git-tools/main.py", "print(1)\n")
    assert os.path.isdir("git-tools")  # noqa: PTH112  the working directory
    assert sources("git-tools:main.py") == {"main.py": "print(1)\n"}


def test_a_cache_that_cannot_be_written_is_said(
    repository: Repository, problems: Problems, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRAINER_INFRA_CACHE", str(tmp_path / "file"))
    (said,) = problems(CustomTrainer(f"{repository.url}#helper.py"))
    assert "train: the cache cannot be written: " in said
    assert "set TRAINER_INFRA_CACHE to another folder" in said
