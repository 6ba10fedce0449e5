"""Trains a network of torchvision on made-up images, on one CPU core, and prints its own load as nvidia-smi would:
runs.py NETWORK BATCH IMAGE STEPS EPOCHS. Between epochs it waits for 0.2 s, as for data. Its clock is that of the processor time
it had, and of its waits: what it would take on a core of its own, whatever else runs here."""
import sys
import threading
import time

import torch
import torchvision

INTERVAL, WAIT = 0.02, 0.2
name, (batch, image, steps, epochs) = sys.argv[1], map(int, sys.argv[2:6])
torch.set_num_threads(1)
done = threading.Event()
waits = 0.0


def clock():
    return time.process_time() + waits


def sample():
    """A sample each INTERVAL of the clock: work is load 100; a wait, seen when it is over, 0."""
    print("timestamp,index,utilization.gpu [%]", flush=True)
    start, shown, waited = time.time(), 0.0, 0.0
    while not done.wait(INTERVAL / 4):
        now, idle = clock(), waits
        while shown + INTERVAL <= now:
            shown += INTERVAL
            load = 0 if waited < idle else 100
            waited += INTERVAL if load == 0 else 0
            print(f"{start + shown:.3f},0,{load}", flush=True)


net = getattr(torchvision.models, name)()
net.train()
optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
x, y = torch.randn(batch, 3, image, image), torch.randint(0, 1000, (batch,))
watcher = threading.Thread(target=sample)
watcher.start()
for _ in range(epochs):
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    time.sleep(WAIT)
    waits += WAIT
done.set()
watcher.join()
