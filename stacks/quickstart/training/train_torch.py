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
    from digits import load
    from torch import distributed, nn

    from trainer_infra.report import report

    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    torch.set_num_threads(1)
    (images, labels), test = load(rank, ranks)
    images, labels, *test = map(torch.from_numpy, (images, labels, *test))
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    model = nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    order = torch.Generator().manual_seed(rank)

    for epoch in range(1, epochs + 1):
        rows, losses = torch.randperm(len(images), generator=order), []
        for start in range(0, len(rows), batch):
            some = rows[min(start, len(rows) - batch) :][:batch]
            losses.append(step(model, optimizer, images[some], labels[some]))
            if epoch == 1 and start == 0:
                print(f"rank {rank} first step at {time.time():.3f}", flush=True)
        with torch.no_grad():
            accuracy = (network(test[0]).argmax(1) == test[1]).double().mean().item()
        mean = round(sum(losses) / len(losses), 4)
        report(100 * epoch / epochs, loss=mean, accuracy=round(accuracy, 4))

    leaves = b"".join(leaf.detach().numpy().tobytes() for leaf in network.parameters())
    digest = hashlib.sha256(leaves).hexdigest()
    print(f"rank {rank} accuracy {accuracy:.4f} parameters sha256:{digest}", flush=True)
    distributed.destroy_process_group()


def step(model, optimizer, images, labels):
    """One step of stochastic gradient descent; the loss before it."""
    from torch.nn.functional import cross_entropy

    loss = cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
