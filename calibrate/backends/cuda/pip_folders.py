"""Folders of pip's nvidia-* packages, joined by semicolons: each holds include/ and lib/ of one library."""
import glob
import os

try:
    import nvidia

    roots = list(nvidia.__path__)
except ImportError:
    roots = []
if os.environ.get("VIRTUAL_ENV"):
    roots.append(os.environ["VIRTUAL_ENV"] + "/lib/python3*/site-packages/nvidia")
roots.append("/usr/local/lib/python3*/dist-packages/nvidia")
print(";".join(folder for root in roots for folder in sorted(glob.glob(root + "/*"))))
