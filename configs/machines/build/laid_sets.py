"""Published training steps under layouts, as observations. Half of the networks, or of the layouts, of each set is for the shipped files; the
exam asks about the other half."""
import zlib

FULL = 7 / 8 * 80 * 2.0**30  # bytes: beyond, allocators begin to stall


def of_files(key):
    """Is what has this key in the half for the shipped files?"""
    return zlib.crc32(repr(key).encode()) % 2 == 0


def parameters(text):
    return float(text[:-1]) * {"K": 1e3, "M": 1e6, "G": 1e9}[text[-1]] if text else None


def llama(r):
    heads = int(r["heads"])
    return (f"mistral_7b:layers={r['layers']}:width={r['hidden']}:intermediate={r['ffn']}:heads={heads}:kv_heads={r['kv_heads'] or heads}"
            f":head_width={int(r['hidden']) // heads}:vocabulary={r['vocab']}:sequence={r['seq']}:tied={r['tied_embeddings'] or 0}")


def gpt(r, words, attention="flash"):
    return (f"gpt2:layers={r['layers']}:width={r['hidden']}:heads={r['heads']}:inner={r['ffn']}:sequence={r['seq']}:positions={r['seq']}"
            f":vocabulary={words}:attention={attention}")


def recomputed(r):
    return [f"recompute={r['recompute']}"] * (r["recompute"] not in ("", "none"))


def stages(r):
    """Layers are dealt out by cost, the embedding and the head counted in: the parameters of the first stage tell how many it has,
    and so have those behind it as long as there are any. Of ours each has one at least."""
    ranks, layers, width = int(r["pp"]), int(r["layers"]), float(r["hidden"])
    local, shared = parameters(r["local_params_source"]), int(r["kv_heads"] or r["heads"]) / int(r["heads"])
    if ranks == 1 or not local:
        return ["stages=balanced"] * (ranks > 1)
    one = width * width * (2 + 2 * shared) + 3 * width * float(r["ffn"])
    most = max(1, round((local * int(r["tp"]) - float(r["vocab"]) * width) / one))
    if most * ranks < layers:
        return ["stages=balanced"]
    blocks = []
    for left in range(ranks - 1, -1, -1):
        blocks.append(min(most, layers - sum(blocks) - left))
    return ["stages=" + ",".join(map(str, blocks))]


class Set:
    """Steps of one training framework; `words` are those of a row's layout."""
    batch = "micro_batch"

    def usable(self, r):
        return r["step_s"] and not r.get("suspect")

    def half(self, r):
        """Is the row in the half for the shipped files?"""
        return of_files(self.key(r))

    def placed(self, r):
        """Nodes and devices of each."""
        return int(r["nodes"]), int(r["gpus_per_node"])

    def bucket(self, r):
        return ""

    def framework(self):
        return self.TEXT["framework"]

    def observation(self, r):
        nodes, devices = self.placed(r)
        return {"kind": "network", "name": self.network(r), "phase": "step", "batch": r["micro_batch"], "dtype": "bf16", "ranks": nodes * devices,
                "hosts": nodes, "optimizer": "adam", "bucket_bytes": self.bucket(r), "layout": " ".join([*self.words(r), f"ga{r['grad_accum']}"]),
                "seconds": f"{float(r['step_s']):.9g}", "group": self.NAME}

    def rows(self, data):
        return [self.observation(r) for r in data.rows(self.NAME, "runs.csv") if self.usable(r) and self.half(r) and self.fitted(r)]

    def fitted(self, r):
        """Of its half, those that are fitted."""
        return True


class Hf3d(Set):
    NAME = "hf3d2025"
    TEXT = {"source": "hf3d2025: gkarfakis19/Rapid-LLM, commit 317a2cb (Hugging Face's sweep for the Ultra-Scale Playbook)",
            "licence": "facts (the repository is Apache-2.0, the table's own terms are not stated)",
            "flaws": "one network of 3.57 G parameters, half of its layouts, one step each", "framework": "nanotron"}

    def usable(self, r):
        return super().usable(r) and r["score_time"] == "1" and int(r["pp"]) <= int(r["layers"])

    def key(self, r):
        return tuple(r[k] for k in ("gpus", "tp", "pp", "dp"))

    def fitted(self, r):
        return float(r["mem_reserved_bytes"]) < FULL

    def network(self, r):
        return llama(r)

    def bucket(self, r):
        return str(int(r["ddp_bucket_mb"] or 25) << 20)

    def words(self, r):
        return ([f"tp{r['tp']}", f"pp{r['pp']}", f"dp{r['dp']}", *stages(r)] + ["sp"] * (r["sp"] == "1" and int(r["tp"]) > 1)
                + [f"zero{r['zero_stage']}"] * (int(r["zero_stage"]) > 0 and int(r["dp"]) > 1))


class Vtrain(Set):
    NAME = "vtrain2024"
    TEXT = {"source": "vtrain2024: VIA-Research/vTrain, commit f8dda84", "licence": "MIT", "flaws": "small GPT models, half of them",
            "framework": "Megatron-DeepSpeed"}
    EACH = 8  # rows of which one is fitted: there are ten times as many as of others

    def key(self, r):
        return r["layers"], r["hidden"]

    def fitted(self, r):
        return zlib.crc32(r["row_id"].encode()) % self.EACH == 0

    def network(self, r):
        return gpt(r, 50304, "plain")  # Megatron before flash attention

    def words(self, r):
        return [f"tp{r['tp']} pp{r['pp']} dp{r['dp']}", *recomputed(r)]

    def placed(self, r):
        return (int(r["nodes"]), int(r["gpus_per_node"])) if int(r["nodes"]) > 1 else (1, int(r["gpus"]))


class Foundry(Set):
    NAME = "foundry2024"
    TEXT = {"source": "foundry2024: mosaicml/llm-foundry, commit 8c8dd48", "licence": "Apache-2.0",
            "flaws": "A100 with 40 GB and 1555 GB/s, half of the models", "framework": "LLM Foundry"}

    def key(self, r):
        return r["model"]

    def network(self, r):
        return gpt(r, int(r["vocab"]))

    def words(self, r):
        return ["fsdp", *recomputed(r)]

    def placed(self, r):
        nodes = max(1, int(r["gpus"]) // 8)
        return nodes, int(r["gpus"]) // nodes


class Big(Set):
    NAME = "big_models_misc"
    TEXT = {"source": "big_models_misc: gkarfakis19/Rapid-LLM, commit 317a2cb (Korthikanti et al. 2022, Narayanan et al. 2021)",
            "licence": "Apache-2.0", "flaws": "times of two digits, half of the models", "framework": "Megatron-LM"}
    CHUNKS = {"gpt-175b": 3, "gpt-530b": 3}  # of a stage, by the papers (Korthikanti et al. 2022, section 6); the table does not say

    def usable(self, r):
        return super().usable(r) and r["layers"] and r["status"] == "ok" and r["gpu"].startswith("A100")

    def key(self, r):
        return r["model"]

    def chunks(self, r):
        return self.CHUNKS.get(r["model"], 1) if int(r["pp"]) > 1 else 1

    def network(self, r):
        return gpt(r, 51200, "plain")

    def words(self, r):
        vp = self.chunks(r)
        return [f"tp{r['tp']} pp{r['pp']} dp{r['dp']}"] + ["sp"] * (r["sp"] == "1") + recomputed(r) + [f"vp{vp} interleaved"] * (vp > 1)
