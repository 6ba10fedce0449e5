"""Which machine file is made of what. A file's name is the device and the kind of arithmetic."""
from sources import Campaigns, Timm

LAYOUT = "nhwc"  # as 16-bit training of image networks runs fastest, and as the campaigns ran it


class Measured:
    """Fitted to measurements of the device."""

    def __init__(self, device, *sources, internal=False):
        self.device, self.sources, self.internal = device, sources, internal


class Carried:
    """Carried over from other files by datasheets; corrected by measurements of the device where there are some."""

    def __init__(self, device, of, *sources):
        self.device, self.of, self.sources, self.internal = device, of, sources, False


A100 = Campaigns(("dle_dgx_a100", "paik_a100"), LAYOUT)

RECIPES = {
    "rtx-3090-amp": Measured("GeForce RTX 3090", Timm("rtx3090", LAYOUT, "2.4.0", "1.12")),
    "a100-sxm4-80gb-amp": Carried("A100-SXM4-80GB", ("rtx-3090-amp",), A100),
}
