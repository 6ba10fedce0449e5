"""Published measurements as observations, by source. Each source has its text for the file: where it is from, its licence, its
flaws. Rows are dicts by the columns of core/observe/OBSERVATIONS.md."""
import csv
import gzip
import json
import os
import statistics
import subprocess

AMP = "amp=f16 "
# timm's own names of networks that are shipped under torchvision's name. The number of parameters decides whether they are the same.
TIMM_NAMES = {
    "vit_base_patch16_224": "vit_b_16", "vit_base_patch32_224": "vit_b_32", "vit_large_patch16_224": "vit_l_16",
    "deit_small_patch16_224": "deit_small", "deit_tiny_patch16_224": "deit_tiny", "swin_tiny_patch4_window7_224": "swin_t",
    "swin_small_patch4_window7_224": "swin_s", "swin_base_patch4_window7_224": "swin_b", "swinv2_tiny_window8_256": "swin_v2_t",
    "swinv2_small_window8_256": "swin_v2_s", "swinv2_base_window8_256": "swin_v2_b", "convnext_large": "convnext_large",
    "efficientnetv2_s": "efficientnet_v2_s", "efficientnetv2_m": "efficientnet_v2_m", "efficientnetv2_l": "efficientnet_v2_l",
    **{f"efficientnet_b{i}": f"efficientnet_b{i}" for i in range(8)}}


# Vision transformers of timm: their attention is one kernel since PyTorch 2, and was its steps before.
PLAIN_BEFORE_2 = ("vit_", "deit_")


class Missing(Exception):
    """A data set, or the part of it that is asked for, is not there."""


class Data:
    """Data sets below one folder, and the program that knows the networks."""

    def __init__(self, folder, program):
        self.folder, self.program, self.known = folder, program, {}

    def rows(self, *path):
        path = os.path.join(self.folder, *path)
        if not os.path.exists(path):
            raise Missing(f"no {path}")
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="") as file:
            return list(csv.DictReader(file))

    def params(self, network):
        """Millions of parameters of a shipped network; None: there is none of that name."""
        if network not in self.known:
            shown = subprocess.run([self.program, "show", network, "--format", "json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, check=False)
            self.known[network] = json.loads(shown.stdout)["total"]["params"] * 1e-6 if shown.returncode == 0 else None
        return self.known[network]


def observation(network, phase, shape, batch, seconds, settings, dtype="f32"):
    return {"kind": "network", "name": network, "phase": phase, "input": shape, "batch": int(float(batch)), "dtype": dtype,
            "settings": settings, "seconds": f"{seconds:.9g}"}


# ---- our own ---------------------------------------------------------------------------------------------------------------

class Own:
    """A sweep of this program on a GPU, in f32."""
    TEXT = {"source": "Layermeter's authors, 2026-11-26 (configs/machines/build/measured)", "licence": "Apache-2.0",
            "flaws": "one GPU of a virtual machine; networks of few kinds, batches up to 256"}

    def __init__(self, sweep):
        self.sweep = sweep

    def framework(self):
        return "this program with cuDNN 9.19; images in NCHW"

    def rows(self, data):
        del data
        return [row for row in measured(self.sweep) if "mixed=" not in row["settings"]]


def measured(name):
    """Rows of one of our own files."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "measured", name), newline="") as file:
        return [row for row in csv.DictReader(line for line in file if not line.startswith("#")) if row["status"] == "ok"]


class OwnSteps:
    """Training steps of PyTorch under autocast, of image networks: those that the device bounds. With a small batch the host bounds a
    step, and it takes as long with any small batch."""
    TEXT = {"source": Own.TEXT["source"], "licence": Own.TEXT["licence"], "flaws": "one GPU of a virtual machine; one batch a network"}
    LEAST = 1.5  # times the network's fastest step

    def __init__(self, layout, *files):
        self.layout, self.files = layout, files

    def framework(self):
        return "PyTorch 2.11.0+cu130"

    def rows(self, data):
        del data
        steps = [r for name in self.files for r in measured(name) if r["phase"] == "step" and "x" in r["input"]]
        least = {}
        for r in steps:
            least[r["name"]] = min(least.get(r["name"], float("inf")), float(r["seconds"]))
        return [{**observation(r["name"], "step", r["input"], r["batch"], float(r["seconds"]), f"{AMP}layout={self.layout}"),
                 "optimizer": r["optimizer"]} for r in steps if float(r["seconds"]) >= self.LEAST * least[r["name"]]]


# ---- timm ------------------------------------------------------------------------------------------------------------------

class Timm:
    """Whole networks, one batch each, the largest that fits."""
    TEXT = {"source": "huggingface/pytorch-image-models results, commit aa4b5850", "licence": "Apache-2.0",
            "flaws": "one batch a network, the largest that fits; the mean of one run"}

    def __init__(self, device, layout, inference, train=None):
        self.device, self.layout, self.versions = device, layout, {"inference": inference, "train_step": train}
        self.settings = f"{AMP}layout={layout}"

    def framework(self):
        versions = ", ".join(f"PyTorch {version} ({phase.replace('_', ' ')})" for phase, version in self.versions.items() if version)
        return versions + (", images in NCHW" if self.layout == "nchw" else "")

    def rows(self, data):
        names = {r["model"]: r["torchvision_network"] for r in data.rows("timm", "torchvision_names.csv")}
        out = []
        for r in data.rows("timm", "networks.csv.gz"):
            network = names.get(r["model"], TIMM_NAMES.get(r["model"]))
            if (r["device"], r["dtype"], r["layout"], r["compiled"]) != (self.device, "amp", self.layout, "0") or not network or \
                    self.versions[r["phase"]] != r["torch"]:
                continue
            params = data.params(network)
            if params is None or abs(params - float(r["params_millions"])) > 0.011:
                continue
            phase = "inference" if r["phase"] == "inference" else "step"
            if network.startswith(PLAIN_BEFORE_2) and r["torch"].startswith("1."):
                network += ":attention=plain"
            out.append(observation(network, phase, f"3x{r['image_px']}x{r['image_px']}", r["batch"], float(r["step_time_ms"]) * 1e-3,
                                   self.settings))
        return out


# ---- PROFET ----------------------------------------------------------------------------------------------------------------

class Profet:
    """Training steps of Keras' networks by batch and image. Those that are no shipped networks are in networks/."""
    TEXT = {"source": "ddps-lab/profet, commit e69477f (Lee et al., PROFET, IEEE Big Data 2022)", "licence": "MIT",
            "flaws": "eleven networks; random images in memory; medians of the second epoch's batches; regularizers are not counted"}
    OWN = "networks/"
    LONGER = ":blocks1=3:blocks2=4:blocks3=6:blocks4=3"
    # the convolutions and the classifier see what is left of the image
    NETWORKS = {"ResNet18": OWN + "resnet_basic.ini", "ResNet34": OWN + "resnet_basic.ini" + LONGER, "ResNet50": OWN + "resnet_bottleneck.ini",
                "ResNetSmall": OWN + "resnet_small.ini", "AlexNet": OWN + "alexnet_wide.ini", "MNIST_CNN": OWN + "mnist_cnn.ini",
                "CIFAR10_CNN": OWN + "cifar10_cnn.ini", "VGG11": "vgg11:pool={pool}", "VGG16": "vgg16:pool={pool}",
                "InceptionV3": "inception_v3", "MobileNetV2": "mobilenet_v2"}
    CLASSES = {64: 100, 128: 100, 224: 1000, 256: 1000}  # by image; with less, networks for 224 pixels are left with layers of one

    def __init__(self, gpu):
        self.gpu = gpu

    def framework(self):
        return "TensorFlow 2.5"

    def rows(self, data):
        found = {}
        for r in data.rows("profet2022", "latency.csv.gz"):
            if r["gpu"] == self.gpu and r["model"] in self.NETWORKS and int(r["image"]) in self.CLASSES:
                found.setdefault((r["model"], int(r["image"]), r["batch"]), []).append(float(r["batch_time_s"]))
        return [{**observation(f"{self.NETWORKS[model]}:classes={self.CLASSES[px]}".format(pool=px // 32), "step", f"3x{px}x{px}", batch,
                               statistics.median(times), "layout=nhwc"), "optimizer": "sgd", "group": model}
                for (model, px, batch), times in found.items()]


# ---- training on one GPU of published campaigns ----------------------------------------------------------------------------

class Campaigns:
    """Training steps on one GPU of allreduce_public/scaling.csv, those of PyTorch: other frameworks differ from it by up to a factor of
    three."""
    SOURCES = {"paik": "willgpaik/pytorch-ddp-scaling-benchmark", "dlperf": "Oneflow-Inc/DLPerf"}
    NETWORKS = {"resnet50": "3x224x224", "resnet152": "3x224x224", "vit_b_16": "3x224x224", "bert_large": None, "bert_base": None,
                "efficientnet_b0": "3x224x224", "efficientnet_b4": "3x380x380"}
    # DLPerf's scripts pre-train BERT with Adam and in PyTorch 1, and run image networks in NCHW: of another layout than these files
    OTHERS = {("dlperf", "bert_base"): {"name": "bert_base_pretraining:attention=plain", "optimizer": "adam"}, ("dlperf", "resnet50"): None}

    def __init__(self, clusters, layout, precisions=("amp", "fp16"), amp=True):
        self.clusters, self.precisions = clusters, precisions
        self.TEXT = {"source": "; ".join(self.SOURCES[c.split("_")[0]] for c in clusters),
                     "licence": "facts (allreduce_public has the commits)",
                     "flaws": "throughputs of whole jobs in PyTorch, input pipeline included; rounded"}
        self.settings = (AMP if amp else "") + f"layout={layout}"

    def framework(self):
        return "PyTorch, by the campaigns' containers"

    def rows(self, data):
        out = []
        for r in data.rows("allreduce_public", "scaling.csv"):
            if not r["cluster_id"].startswith(self.clusters) or r["gpus"] != "1" or r["precision"] not in self.precisions or \
                    r["model"] not in self.NETWORKS or "PyTorch" not in r["framework"] or not r["batch_per_gpu"] or not float(r["step_time_s"] or 0) > 0 or \
                    "Fine" in r["note"]:
                continue
            shape = self.NETWORKS[r["model"]] or self.sequence(r)
            other = self.OTHERS.get((r["cluster_id"].split("_")[0], r["model"]), {})
            # a step of many micro-steps is none of the batch of one
            if shape and other is not None and float(r["grad_accum_steps"] or 1) == 1:
                out.append({**observation(r["model"], "step", shape, r["batch_per_gpu"], float(r["step_time_s"]), self.settings), **other})
        if not out:
            raise Missing(f"no steps of {', '.join(self.clusters)} in scaling.csv")
        return out

    @staticmethod
    def sequence(r):
        """Tokens of a sample, which the notes of the campaigns say."""
        words = r["note"].split()
        return words[words.index("seq") + 1] if "seq" in words[:-1] else "128" if r["cluster_id"].startswith("dlperf") else None


# ---- all-reduces -----------------------------------------------------------------------------------------------------------

SMALL, LARGE = 64 << 10, 1 << 30  # bytes of gradients


def all_reduce(size, seconds, ranks, hosts):
    return {"kind": "collective", "name": "allreduce", "phase": "sync", "bytes": size, "ranks": ranks, "hosts": hosts,
            "algorithm": "default", "seconds": f"{float(seconds):.9g}"}


class Reduced:
    """All-reduces of some clusters of allreduce_public, of one host or of several."""
    FLAWS = "of several clusters and libraries together, whose settings differ"

    def __init__(self, hosts, *clusters):
        self.several, self.clusters = hosts > 1, clusters
        self.TEXT = {"source": "; ".join(self.SOURCES[c] for c in clusters), "licence": "facts", "flaws": self.FLAWS}

    SOURCES = {"alps_gh200": "boeschf/nccl-benchmark-on-alps-2025", "xxrjun_cluster01": "xxrjun/nccl-tests-cluster",
               "stas00_a100_node": "stas00/ml-engineering", "stas00_h200_node": "stas00/ml-engineering (H200)",
               "stas00_b200_efa": "stas00/ml-engineering (B200)", "aws_p5_h100": "KeitaW/p5-nccl-test-2024-07-19",
               "perlmutter_a100": "sparticlesteve/podman-nccl-testing", "simula_a100_pcie": "thomaslie210/NCCL_Test_Results"}

    def framework(self):
        return "NCCL, of each cluster's release"

    def rows(self, data):
        return [all_reduce(size, float(r["time_us"]) * 1e-6, ranks, hosts)
                for r in data.rows("allreduce_public", "allreduce.csv") if r["cluster_id"] in self.clusters and r["nodes"]
                # a library as it comes
                and (r["cluster_id"] != "alps_gh200" or "default-env" in r["config"]) and not float(r["n_wrong"] or 0) > 0
                for ranks, hosts, size in [(int(float(r["ranks"])), int(float(r["nodes"])), int(r["message_bytes"]))]
                if ranks > 1 and (hosts > 1) == self.several and SMALL <= size <= LARGE]


class OneNode:
    """All-reduces on 2 to 8 GPUs of a node, as vTrain publishes them."""
    TEXT = {"source": "VIA-Research/vTrain, commit f8dda84 (MICRO 2024)", "licence": "MIT", "flaws": "no GPU memory size, no link stated"}
    SIZES = frozenset(n << 20 for n in (1, 2, 4, 8, 16, 25, 32, 64, 128, 256, 512, 1024))

    def __init__(self, gpu):
        self.gpu = gpu

    def framework(self):
        return "NCCL, in PyTorch"

    def rows(self, data):
        return [all_reduce(r["bytes"], r["time_s"], r["gpus"], 1) for r in data.rows("vtrain2024", "allreduce.csv.gz")
                if r["gpu_source"] == self.gpu and int(r["bytes"]) in self.SIZES]


class DeepBench:
    """All-reduces over PCIe 3, and InfiniBand FDR between nodes."""
    TEXT = {"source": "baidu-research/DeepBench, commit da81ba7", "licence": "Apache-2.0", "flaws": "the best of several algorithms"}
    SYSTEMS = ("gtx1080ti", "m40", "p100", "titanx_maxwell")

    def __init__(self, hosts):
        self.several = hosts > 1

    def framework(self):
        return "NCCL 2.0, MPI"

    def rows(self, data):
        return [all_reduce(r["message_bytes"], float(r["time_ms"]) * 1e-3, r["n_ranks"], r["n_nodes"])
                for r in data.rows("deepbench", "all_reduce.csv") if r["odd_count_in_benchmark"] == "0" and r["system"] in self.SYSTEMS
                and (int(r["n_nodes"]) > 1) == self.several]
