"""`packages` and `pip_index_urls`: what PEP 508 allows is taken when it is one version forever."""

import pytest

from tests.trainers.conftest import Load, Problems
from trainer_infra import CustomTrainer

ANY = "def train(**given): pass\n"
HASH, COMMIT = "a" * 64, "b" * 40
MOVING = "so the same job could train with other code"
HIDE = (
    "may hold a credential, which everybody who may read the state would see; leave out user, "
    "password and query, and put them into ~/.netrc, or the whole URL into PIP_EXTRA_INDEX_URL, "
    "of the machine that installs"
)


@pytest.mark.parametrize(
    "requirement",
    [
        'attrs==25.4.0; python_version>"3"',
        "jax[cpu, k8s]==0.10.2",
        "NumPy == 2.3.0",
        "six===1.17.0",
        "six>=1,==1.17.0",
        f"pkg @ https://example.com/pkg-1.0.whl#sha256={HASH}",
        f"pkg @ git+https://example.com/pkg.git@{COMMIT}",
        f"pkg @ git+ssh://git@example.com/pkg.git@{COMMIT}#subdirectory=python",
    ],
)
def test_an_exact_requirement_is_taken_as_it_is_written(module: Load, requirement: str) -> None:
    packed = CustomTrainer(module(ANY).train, packages=[f" {requirement} "]).pack()
    assert packed.code.packages == (requirement,)


def test_a_requirement_that_can_change_says_how_to_pin_it(module: Load, problems: Problems) -> None:
    files = "pkg @ https://example.com/pkg-1.0.whl"
    branch = "pkg @ git+https://example.com/pkg.git@main"
    given = [files, branch, "torch", "six==1.*", "-r requirements.txt", "six==1 six==2"]
    pin = 'write name==version, for example "jax[cpu]==0.9.0", or give a lock file that `trainer-infra lock` makes'
    pin_url = (
        "add the hash of the file to its end, #sha256=<64 hex digits>, or to a git URL the commit, "
        "@<40 hex digits>"
    )
    said = problems(CustomTrainer(module(ANY).train, packages=given))
    assert said[:4] == [
        f"packages[0]: has a URL whose content can change, {MOVING}, got '{files}'; {pin_url}",
        f"packages[1]: has a URL whose content can change, {MOVING}, got '{branch}'; {pin_url}",
        f"packages[2]: has no exact version, {MOVING}, got 'torch'; {pin}",
        f"packages[3]: has no exact version, {MOVING}, got 'six==1.*'; {pin}",
    ]
    assert [each.partition(":")[0] for each in said[4:]] == ["packages[4]", "packages[5]"]
    assert all("is not a requirement: " in each and each.endswith(pin) for each in said[4:])


def test_one_package_of_two_versions_is_refused_unless_a_marker_tells_them_apart(
    module: Load, problems: Problems
) -> None:
    apart = ["six==1.16.0; python_version<'3'", "six==1.17.0; python_version>='3'"]
    assert CustomTrainer(module(ANY).train, packages=apart).pack().code.packages == tuple(apart)
    twice = CustomTrainer(module(ANY).train, packages=["Six_x==1", "six-X == 2"])
    assert problems(twice) == [
        "packages[1]: differs from 'Six_x==1' above, got 'six-X == 2'; keep one"
    ]


def test_indexes_go_before_the_packages_in_their_order(module: Load) -> None:
    urls = ["https://b.example.com/simple", "https://c.example.com", "http://a.example.com"]
    packed = CustomTrainer(
        module(ANY).train, packages=["six==1.17.0", "attrs==25.4.0"], pip_index_urls=urls
    ).pack()
    assert packed.code.packages == (
        f"--index-url={urls[0]}",
        f"--extra-index-url={urls[1]}",
        f"--extra-index-url={urls[2]}",
        "attrs==25.4.0",
        "six==1.17.0",
    )


@pytest.mark.parametrize(
    "url",
    ["https://me:planted@example.com", "https://planted@example.com/a", "https://a/?t=planted"],
)
def test_credentials_in_a_url_are_refused_and_not_shown(
    module: Load, problems: Problems, url: str
) -> None:
    trainer = CustomTrainer(
        module(ANY).train,
        packages=[f"pkg @ git+{url}@{COMMIT}", f"pkg@{url}#sha256={HASH}", f"{url} x"],
        pip_index_urls=[url],
    )
    said = problems(trainer)
    assert [said[0], said[1], said[3]] == [
        f"packages[0]: has a URL that {HIDE}",
        f"packages[1]: has a URL that {HIDE}",
        f"pip_index_urls[0]: {HIDE}",
    ]
    assert "planted" not in "".join(said)


def test_an_index_is_a_url_and_is_for_something(module: Load, problems: Problems) -> None:
    trainer = CustomTrainer(module(ANY).train, pip_index_urls=["example.com/simple"])
    assert problems(trainer) == [
        (
            "pip_index_urls[0]: is not the URL of a package index, got 'example.com/simple'; "
            'give the URL of an index, for example "https://<host>/simple"'
        ),
        (
            "pip_index_urls: says where packages come from, and there are none; "
            "leave it out, or give packages"
        ),
    ]
