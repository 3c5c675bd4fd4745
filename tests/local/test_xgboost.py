"""What an XGBoost job finds on this machine: a tracker that all of its nodes reach."""

from tests.local.jobs import Job, finished, lines, python, shell

# As XGBoost does: the first worker listens for the others, which report their task.
TRACKER = """
import os, socket, time
address = os.environ["DMLC_TRACKER_URI"], int(os.environ["DMLC_TRACKER_PORT"])
task, workers = os.environ["DMLC_TASK_ID"], int(os.environ["DMLC_NUM_WORKER"])
if task == "0":
    with socket.create_server(address) as tracker:
        found = [task]
        while len(found) < workers:
            worker, _ = tracker.accept()
            with worker:
                found.append(worker.recv(9).decode())
    print(address[0], sorted(found))
else:
    while True:
        try:
            with socket.create_connection(address) as tracker:
                tracker.sendall(task.encode())
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
"""


def test_the_workers_of_xgboost_reach_their_tracker() -> None:
    run = finished(Job(command=python(TRACKER), nodes=3, policy="xgboost").submit())

    assert run.phase == "Complete"
    assert lines(run, "tj-node-0-0") == ["127.0.0.1 ['0', '1', '2']"]


def test_the_trackers_port_is_a_free_one_where_the_plugin_wrote_it() -> None:
    command = shell("echo $DMLC_TRACKER_PORT --port=29500")
    run = finished(Job(command=command, nodes=2, policy="xgboost").submit())
    said = {tuple(line.split()) for line in lines(run)}

    ((port, argument),) = said
    assert port != "29500"
    assert argument == "--port=29500"
