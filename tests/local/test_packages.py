"""The job's Python: a virtual environment per set of locked packages, made once."""

from pathlib import Path

from tests.local import package_index
from tests.local.jobs import Job, eventually, finished, lines, now, python

CODE = ["python", "-c", "import six, sys; print(six.__version__, sys.prefix)"]


def test_packages_are_installed_once_and_for_two_jobs_at_a_time(tmp_path: Path) -> None:
    runs = [
        Job(command=CODE, name=name, packages=["six==1.17.0"]).submit() for name in ("one", "two")
    ]
    assert eventually(lambda: now(runs[0]).waiting_for) == "installing 1 package"
    done = [finished(run, timeout=60) for run in runs]

    assert [run.phase for run in done] == ["Complete", "Complete"], done[0].message
    (venv,) = [path.parent for path in (tmp_path / "cache" / "venvs").glob("*/ready")]
    assert [lines(run) for run in runs] == [[f"1.17.0 {venv}"]] * 2
    assert (venv / "install.log").read_text().count("Successfully installed") == 1


def test_a_venv_without_its_marker_is_made_anew(tmp_path: Path) -> None:
    run = finished(Job(command=CODE, packages=["six==1.17.0"]).submit(), timeout=60)
    (marker,) = (tmp_path / "cache" / "venvs").glob("*/ready")
    marker.unlink()
    (marker.parent / "bin" / "python").unlink()

    again = finished(Job(command=CODE, name="again", packages=["six==1.17.0"]).submit(), timeout=60)
    assert lines(again) == lines(run)


def test_a_failed_install_is_a_failed_run_with_pips_words() -> None:
    run = finished(Job(command=python("1"), packages=["six==0.0.0.1"]).submit(), timeout=60)

    assert (run.phase, run.reason) == ("Failed", "InstallFailed")
    assert "No matching distribution found for six==0.0.0.1" in run.message
    assert run.message.startswith("installing six==0.0.0.1 failed: pip exited with 1: ERROR")


def test_packages_come_from_the_indexes_that_are_named(tmp_path: Path) -> None:
    code = ["python", "-c", "import planted; print(planted.NAME)"]
    with (
        package_index.served(tmp_path / "index") as url,
        package_index.served(tmp_path / "other") as other,
    ):
        packages = [f"--index-url={url}", f"--extra-index-url={other}", "planted==1.0"]
        run = Job(command=code, packages=packages).submit()
        assert eventually(lambda: now(run).waiting_for) == "installing 1 package"
        done = finished(run, timeout=60)
    assert (done.phase, lines(done)) == ("Complete", ["wheel"]), done.message
    (log,) = (tmp_path / "cache" / "venvs").glob("*/install.log")
    assert url in log.read_text()
