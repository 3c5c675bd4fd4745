"""DistributedDataParallel: each process trains on its own rows, and the gradients are averaged."""

import os

import torch
from sklearn.datasets import load_digits
from torch import distributed, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split

from trainer_infra.report import report


def train(epochs: int, rate: float) -> None:
    """Train for so many passes over the rows, and report after each."""
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    seen, held_out = digits()
    sampler = DistributedSampler(seen)
    loader = DataLoader(seen, batch_size=32, sampler=sampler)
    network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    model = DistributedDataParallel(network.to(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            loss = cross_entropy(model(images.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        progress = 100 * (epoch + 1) / epochs
        report(progress, loss=loss.item(), accuracy=accuracy(network, held_out, device))
    distributed.destroy_process_group()


def digits():
    """Rows to train on, and rows that are held out: the same in every process."""
    images, labels = load_digits(return_X_y=True)
    rows = TensorDataset(torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels))
    return random_split(rows, [0.8, 0.2], torch.Generator().manual_seed(0))


@torch.no_grad()
def accuracy(network, held_out, device):
    """The share of the held-out digits that the network tells right."""
    images, labels = held_out[:]
    return (network(images.to(device)).argmax(1).cpu() == labels).double().mean().item()
