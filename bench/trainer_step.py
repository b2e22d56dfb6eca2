#!/usr/bin/python3
"""The time and memory of the same training steps in PyTorch.

trainer_step.py ARCH SIZE BATCH THREADS STEPS

Prints seconds a step (wall, CPU) and the peak memory in MiB, as trainer_step.c does.
"""
import resource
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, i, o, s):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o)
        self.c2, self.b2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.skip = nn.Sequential() if s == 1 and i == o else nn.Sequential(
            nn.Conv2d(i, o, 1, s, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        return F.relu(self.b2(self.c2(F.relu(self.b1(self.c1(x))))) + self.skip(x))


def resnet18(small):
    stem = [nn.Conv2d(3, 64, 3, 1, 1, bias=False)] if small else [nn.Conv2d(3, 64, 7, 2, 3, bias=False)]
    stem += [nn.BatchNorm2d(64), nn.ReLU()] + ([] if small else [nn.MaxPool2d(3, 2, 1)])
    blocks, i = [], 64
    for k, o in enumerate((64, 128, 256, 512)):
        blocks += [Block(i, o, 2 if k else 1), Block(o, o, 1)]
        i = o
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 128))


def main():
    arch, size, batch, threads, steps = sys.argv[1], *map(int, sys.argv[2:6])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    net = resnet18(arch == 'resnet18-small')
    x = torch.randn(batch, 3, size, size)
    nb = batch // 2
    y = F.one_hot(torch.arange(nb) % 10, 10).float()
    opt = torch.optim.SGD(net.parameters(), 0.001, 0.9, weight_decay=1e-4)
    wall = cpu = 1e30
    for i in range(steps + 2):
        w, c = time.monotonic(), time.process_time()
        z = net(x)
        p = torch.softmax(-torch.cdist(z[:nb], z[nb:]), 1) @ y
        loss = -(y * torch.log(p + 1e-12)).sum() / nb
        opt.zero_grad()
        loss.backward()
        opt.step()
        w, c = time.monotonic() - w, time.process_time() - c
        if i >= 2:
            wall, cpu = min(wall, w), min(cpu, c)
    print(f'{wall:.4f} {cpu:.4f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}')


main()
