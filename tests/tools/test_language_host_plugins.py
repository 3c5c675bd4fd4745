"""The host's own protocol, for what the CLI asks only of policy packs and component providers."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import grpc
import psutil
import pytest
from pulumi.runtime.proto import language_pb2 as language
from pulumi.runtime.proto.language_pb2_grpc import LanguageRuntimeStub


@pytest.fixture
def host(language_host: Path) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [language_host, "127.0.0.1:1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        stream.close()


@pytest.fixture
def stub(host: "subprocess.Popen[str]") -> Iterator[LanguageRuntimeStub]:
    assert host.stdout is not None
    with grpc.insecure_channel(f"127.0.0.1:{host.stdout.readline().strip()}") as channel:
        yield LanguageRuntimeStub(channel)


def request(folder: Path, kind: str = "resource") -> language.RunPluginRequest:
    return language.RunPluginRequest(
        pwd=str(folder),
        args=["one", "two words"],
        env=["PLANTED=seen=here"],
        info=language.ProgramInfo(root_directory=str(folder), program_directory=str(folder)),
        kind=kind,
    )


def test_a_plugins_output_and_exit_code_arrive(stub: LanguageRuntimeStub, tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text(
        "import os, sys\n"
        "print(sys.argv[1:], os.environ['PLANTED'])\n"
        "print('wrong', file=sys.stderr)\n"
        "raise SystemExit(3)\n"
    )
    answers = list(stub.RunPlugin(request(tmp_path)))
    assert b"".join(answer.stdout for answer in answers) == b"['one', 'two words'] seen=here\n"
    assert b"".join(answer.stderr for answer in answers) == b"wrong\n"
    assert [answer.exitcode for answer in answers][-1] == 3


def test_a_folder_that_is_no_plugin_is_one_sentence(
    stub: LanguageRuntimeStub, tmp_path: Path
) -> None:
    answers = list(stub.RunPlugin(request(tmp_path)))
    assert [answers[0].stderr.decode(), answers[1].exitcode] == [
        f"{tmp_path}: no __main__.py and no readable [project] table\n",
        1,
    ]


def test_a_plugin_ends_when_the_engine_drops_the_call(
    stub: LanguageRuntimeStub, tmp_path: Path
) -> None:
    (tmp_path / "__main__.py").write_text("import os, time; print(os.getpid()); time.sleep(600)")
    call = stub.RunPlugin(request(tmp_path))
    plugin = psutil.Process(int(next(call).stdout))
    call.cancel()
    assert psutil.wait_procs([plugin], timeout=60)[1] == []


def test_host_and_plugin_end_when_the_engine_is_gone(
    host: "subprocess.Popen[str]", stub: LanguageRuntimeStub, tmp_path: Path
) -> None:
    (tmp_path / "__main__.py").write_text("import os, time; print(os.getpid()); time.sleep(600)")
    call = stub.RunPlugin(request(tmp_path))  # held: a dropped call is cancelled
    plugin = psutil.Process(int(next(call).stdout))
    assert host.stdin is not None
    host.stdin.close()
    assert host.wait(60) == 0
    assert psutil.wait_procs([plugin], timeout=60)[1] == []


def test_sigint_ends_the_host_quietly(host: "subprocess.Popen[str]") -> None:
    assert host.stdout is not None
    assert host.stdout.readline()
    host.send_signal(2)
    assert host.wait(60) == 0
