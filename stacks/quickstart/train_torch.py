"""What every node of the quickstart runs with PyTorch: data-parallel training on real digits.

Each process holds its own rows of scikit-learn's digits and its own copy of a small network;
DistributedDataParallel averages the gradients across the processes (gloo, on CPU). Printed once per
process: the rows it saw, and at the end a digest of its parameters.
"""

import hashlib
import time


def train(epochs: int, batch: int = 64, rate: float = 0.1) -> None:
    """Train for `epochs` passes over this process's rows, reporting after each."""
    import torch
    from torch import distributed, nn

    from trainer_infra.report import report

    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    torch.set_num_threads(1)
    images, labels, test_images, test_labels = map(torch.from_numpy, load(rank, ranks))
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    model = nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    order = torch.Generator().manual_seed(rank)

    for epoch in range(1, epochs + 1):
        rows, losses = torch.randperm(len(images), generator=order), []
        for start in range(0, len(rows), batch):
            some = rows[min(start, len(rows) - batch) :][:batch]
            loss = nn.functional.cross_entropy(model(images[some]), labels[some])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if epoch == 1 and start == 0:
                print(f"rank {rank} first step at {time.time():.3f}", flush=True)
        with torch.no_grad():
            accuracy = (network(test_images).argmax(1) == test_labels).double().mean().item()
        loss = round(sum(losses) / len(losses), 4)
        report(100 * epoch / epochs, loss=loss, accuracy=round(accuracy, 4))

    leaves = b"".join(leaf.detach().numpy().tobytes() for leaf in network.parameters())
    digest = hashlib.sha256(leaves).hexdigest()
    print(f"rank {rank} accuracy {accuracy:.4f} parameters sha256:{digest}", flush=True)
    distributed.destroy_process_group()


def load(rank, ranks):
    """This process's training rows, and the test rows, which no process trains on."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype("float32")
    training, test = train_test_split(range(len(images)), test_size=0.2, random_state=1)
    rows = sorted(training)[: len(training) // ranks * ranks][rank::ranks]
    listed = ",".join(map(str, rows))
    digest = hashlib.sha256(listed.encode()).hexdigest()
    print(f"rank {rank} saw {len(rows)} rows sha256:{digest}\nrows: {listed}", flush=True)
    return images[rows], labels[rows], images[test], labels[test]
