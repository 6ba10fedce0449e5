"""Which machine file is made of what. A file's name is the device and the kind of arithmetic."""
from laid_sets import Big, Foundry, Hf3d, Vtrain
from sources import Campaigns, DeepBench, OneNode, Own, OwnSteps, Profet, Reduced, Timm

LAYOUT = "nhwc"  # as 16-bit training of image networks runs fastest, and as the campaigns ran it


class Measured:
    """Fitted to measurements of the device. host: files of PyTorch's times beside build.py, of steps first, which tell the host's time per operation."""

    def __init__(self, device, *sources, host=()):
        self.device, self.sources, self.host = device, sources, host


class Carried:
    """Carried over from other files by datasheets; corrected by measurements of the device where there are some, and its kernels by
    steps under layouts."""

    def __init__(self, device, of, *sources, laid=(), host=()):
        self.device, self.of, self.sources, self.laid, self.host = device, of, sources, laid, host


A100 = Campaigns(("paik_a100",), LAYOUT)
V100 = Campaigns(("paik_v100", "dlperf"), LAYOUT)
AMP_3090, AMP_4090, AMP_A100, AMP_V100, AMP_H100 = "rtx-3090-amp", "rtx-4090-amp", "a100-sxm4-80gb-amp", "v100-sxm2-16gb-amp", "h100-sxm-amp"
AMP_PRO6000 = "rtx-pro-6000-max-q-amp"

RECIPES = {
    AMP_3090: Measured("GeForce RTX 3090", Timm("rtx3090", LAYOUT, "2.4.0", "1.12")),
    AMP_4090: Carried("GeForce RTX 4090", (AMP_3090,), Timm("rtx4090", LAYOUT, "2.4.0")),
    AMP_PRO6000: Carried("RTX PRO 6000 Blackwell Max-Q Workstation Edition", (AMP_3090,), Timm("pro6000maxq", "nchw", "2.9.1")),
    AMP_A100: Carried("A100-SXM4-80GB", (AMP_3090,), A100, laid=(Vtrain(), Foundry(), Big())),
    "a100-sxm4-40gb-amp": Carried("A100-SXM4-40GB", (AMP_A100,)),
    "a100-pcie-40gb-amp": Carried("A100-PCIE-40GB", (AMP_A100,)),
    "a100-pcie-80gb-amp": Carried("A100 80GB PCIe", (AMP_A100,)),
    AMP_V100: Carried("Tesla V100-SXM2-16GB", (AMP_3090,), V100),
    "v100-sxm2-32gb-amp": Carried("Tesla V100-SXM2-32GB", (AMP_V100,)),
    "t4-amp": Carried("Tesla T4", (AMP_V100,)),
    "a10g-amp": Carried("A10G", (AMP_3090,)),
    "a10-amp": Carried("A10", (AMP_3090,)),
    "l4-amp": Carried("L4", (AMP_4090,)),
    "l40s-amp": Carried("L40S", (AMP_4090,)),
    AMP_H100: Carried("H100 80GB HBM3", (AMP_A100,), OwnSteps(LAYOUT, "h100-sxm-pytorch-nhwc.csv", "h100-sxm-pytorch-nhwc-unseen.csv"),
                      laid=(Hf3d(),), host=("h100-sxm-pytorch-nhwc.csv", "h100-sxm-pytorch-mixed.csv", "h100-sxm-pytorch-inference-nhwc.csv")),
    "h100-pcie-amp": Carried("H100 PCIe", (AMP_H100,)),
    "h200-amp": Carried("H200", (AMP_H100,)),
    "b200-amp": Carried("B200", (AMP_H100,)),
    "mi300x-amp": Carried("MI300X", (AMP_H100,)),
    "v100-sxm2-16gb-f32": Measured("Tesla V100-SXM2-16GB", Profet("v100")),
    "t4-f32": Measured("Tesla T4", Profet("t4")),
    "h100-sxm-tf32": Measured("H100 80GB HBM3", Own("h100-sxm.csv"), host=("h100-sxm-pytorch.csv", "h100-sxm-pytorch-inference.csv")),
    "h200-tf32": Measured("H200", Own("h200.csv"), host=("h200-pytorch.csv",)),
}


LINKS = {"A100-SXM4-80GB": "nvlink3+8xib200", "H100 80GB HBM3": "nvlink4+efa3200"}  # between the nodes of steps under layouts


class Linked:
    """All-reduces by what carries them, within a node or between nodes."""

    def __init__(self, *sources):
        self.sources = sources


INTERCONNECTS = {
    "nvlink2": Linked(OneNode("V100")),
    "nvlink3": Linked(OneNode("A100"), Reduced(1, "stas00_a100_node")),
    "nvlink4": Linked(Reduced(1, "alps_gh200", "xxrjun_cluster01", "stas00_h200_node")),
    "nvlink5": Linked(Reduced(1, "stas00_b200_efa")),
    "pcie3": Linked(DeepBench(1)),
    "pcie4": Linked(Reduced(1, "simula_a100_pcie")),
    "ibfdr": Linked(DeepBench(2)),
    "ib-h100": Linked(Reduced(2, "xxrjun_cluster01")),
    "efa3200": Linked(Reduced(2, "aws_p5_h100", "stas00_b200_efa")),
    "slingshot11": Linked(Reduced(2, "alps_gh200", "perlmutter_a100")),
}
