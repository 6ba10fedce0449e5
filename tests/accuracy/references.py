"""Networks that Debian has no module of, written down once more from what was published, as plain modules of torch.nn.

Each is the architecture as its paper and the code that is used of it describe it: which layers there are, in which
order, which have biases, which share parameters. Names are of no importance here; counts are. Dropout is a module
where it is one in the original; attention's is not, and is left out. `Attention` writes the scores of all pairs to
memory; which of them are seen it notes.
"""
import torch
from torch import nn
from torch.nn import functional as F


class Seen:
    """Multiply-accumulates of the pairs that are not masked."""
    macs = 0


def attend(q, k, v, heads, kv_heads=None, causal=False, bias=None):
    """Softmax of scaled products; q, k, v are samples, tokens and heads side by side."""
    kv_heads = kv_heads or heads

    def split(x, n):  # those of fewer heads once for each query head that shares them
        y = x.view(*x.shape[:2], n, 1, x.shape[2] // n).expand(-1, -1, -1, heads // n, -1)
        return y.flatten(2, 3).transpose(1, 2)

    q, k, v = split(q, heads), split(k, kv_heads), split(v, kv_heads)
    rows, columns = q.shape[2], k.shape[2]
    pairs = rows * (rows + 1) // 2 if causal else rows * columns
    Seen.macs += q.shape[0] * heads * pairs * (q.shape[3] + v.shape[3])
    scores = torch.matmul(q, k.transpose(2, 3))
    scores = scores * q.shape[3] ** -0.5 if bias is None else scores + bias
    y = torch.matmul(F.softmax(scores, -1), v)
    return y.transpose(1, 2).reshape(y.shape[0], rows, -1)


class RMSNorm(nn.Module):
    """B. Zhang, R. Sennrich 2019, arXiv:1910.07467."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


class QuickGelu(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class Projections(nn.Module):
    """Attention between four linear layers, as of BERT, Whisper, CLIP and Llama."""

    def __init__(self, width, heads, kv_heads=None, head=None, biases="qkvo", causal=False):
        super().__init__()
        head = head or width // heads
        self.heads, self.kv_heads, self.causal = heads, kv_heads or heads, causal
        self.q = nn.Linear(width, heads * head, "q" in biases)
        self.k = nn.Linear(width, self.kv_heads * head, "k" in biases)
        self.v = nn.Linear(width, self.kv_heads * head, "v" in biases)
        self.o = nn.Linear(heads * head, width, "o" in biases)

    def forward(self, x, keys=None, turn=lambda x: x, bias=None):
        keys = x if keys is None else keys
        q, k = turn(self.q(x)), turn(self.k(keys))
        return self.o(attend(q, k, self.v(keys), self.heads, self.kv_heads, self.causal, bias))


# ---- encoders --------------------------------------------------------------------------------------------------------

class BertLayer(nn.Module):
    def __init__(self, width, heads, inner, dropout_behind_attention):
        super().__init__()
        self.attention = Projections(width, heads)
        self.drop1 = nn.Dropout(0.1) if dropout_behind_attention else None
        self.norm1 = nn.LayerNorm(width)
        self.up, self.act, self.down = nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width)
        self.drop2 = nn.Dropout(0.1)
        self.norm2 = nn.LayerNorm(width)

    def forward(self, x):
        y = self.attention(x)
        x = self.norm1(x + (self.drop1(y) if self.drop1 else y))
        return self.norm2(x + self.drop2(self.down(self.act(self.up(x)))))


class Bert(nn.Module):
    """J. Devlin et al. 2018, arXiv:1810.04805; without types of tokens and without a pooler DistilBERT, V. Sanh et al.
    2019, arXiv:1910.01108. `pretraining`: the heads of masked words and of the next sentence."""

    def __init__(self, width, layers, heads, inner, vocabulary=30522, places=512, types=2, pretraining=False):
        super().__init__()
        self.pretraining = pretraining
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(places, width)
        self.types = nn.Embedding(types, width) if types else None
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(0.1)
        self.layers = nn.Sequential(*(BertLayer(width, heads, inner, types > 0) for _ in range(layers)))
        self.pooler = nn.Sequential(nn.Linear(width, width), nn.Tanh()) if types else None
        if pretraining:
            self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
            self.decoder = nn.Linear(width, vocabulary)
            self.decoder.weight = self.words.weight
            self.next = nn.Linear(width, 2) if types else None

    def forward(self, ids):
        places = torch.zeros(1, ids.shape[1], dtype=torch.long)
        x = self.words(ids) + self.places(places)
        x = x + self.types(places) if self.types else x
        x = self.layers(self.drop(self.norm(x)))
        if self.pretraining:
            self.decoder(self.transform(x))
        if self.pooler:
            y = self.pooler(x[:, 0])
            if self.pretraining:
                self.next(y)


# ---- decoders --------------------------------------------------------------------------------------------------------

class Gpt2Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.act, self.down = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        self.drop1, self.drop2 = nn.Dropout(0.1), nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        x = x + self.drop1(self.o(attend(q, k, v, self.heads, causal=True)))
        return x + self.drop2(self.down(self.act(self.up(self.norm2(x)))))


class Gpt2(nn.Module):
    """A. Radford et al. 2019; the vocabulary and the number of places are those of the released code."""

    def __init__(self, width, layers, heads, vocabulary=50257, places=1024):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(places, width)
        self.drop = nn.Dropout(0.1)
        self.layers = nn.Sequential(*(Gpt2Layer(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.zeros(1, ids.shape[1], dtype=torch.long))
        self.head(self.norm(self.layers(self.drop(x))))


class LlamaLayer(nn.Module):
    def __init__(self, width, heads, kv_heads, head, inner):
        super().__init__()
        self.head = head
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.attention = Projections(width, heads, kv_heads, head, biases="", causal=True)
        self.gate, self.act = nn.Linear(width, inner, bias=False), nn.SiLU()
        self.up, self.down = nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False)

    def turn(self, x):
        """By its place: J. Su et al. 2021, arXiv:2104.09864."""
        y = x.view(*x.shape[:2], -1, self.head)
        a, b = y.chunk(2, -1)
        angle = torch.zeros(1, x.shape[1], 1, self.head)
        return (y * angle.cos() + torch.cat((-b, a), -1) * angle.sin()).view(x.shape)

    def forward(self, x):
        x = x + self.attention(self.norm1(x), turn=self.turn)
        y = self.norm2(x)
        return x + self.down(self.act(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """H. Touvron et al. 2023, arXiv:2307.09288; with fewer heads of keys Mistral, arXiv:2310.06825, and Llama 3."""

    def __init__(self, width, layers, heads, kv_heads, inner, vocabulary):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.layers = nn.Sequential(*(LlamaLayer(width, heads, kv_heads, width // heads, inner)
                                      for _ in range(layers)))
        self.norm, self.head = RMSNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        self.head(self.norm(self.layers(self.words(ids))))


class Recurrent(nn.Module):
    """W. Zaremba et al. 2014, arXiv:1409.2329, as PyTorch's example of a language model has it."""

    def __init__(self, cell, width=1500, layers=2, vocabulary=10000):
        super().__init__()
        self.words, self.drop = nn.Embedding(vocabulary, width), nn.Dropout(0.65)
        self.rnn = cell(width, width, layers, dropout=0.65, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids):
        y, _ = self.rnn(self.drop(self.words(ids)))
        self.head(self.drop(y))


# ---- encoders with decoders ------------------------------------------------------------------------------------------

class T5Part(nn.Module):
    """A norm, what it is of, dropout, and the input added."""

    def __init__(self, width, inside):
        super().__init__()
        self.norm, self.inside, self.drop = RMSNorm(width), inside, nn.Dropout(0.1)

    def forward(self, x, *others, **options):
        return x + self.drop(self.inside(self.norm(x), *others, **options))


class T5Stack(nn.Module):
    def __init__(self, width, layers, heads, inner, crossed):
        super().__init__()

        def attention():
            return T5Part(width, Projections(width, heads, biases=""))

        def feed():
            return T5Part(width, nn.Sequential(nn.Linear(width, inner, bias=False), nn.ReLU(), nn.Dropout(0.1),
                                               nn.Linear(inner, width, bias=False)))

        self.heads = heads
        self.drop1, self.drop2 = nn.Dropout(0.1), nn.Dropout(0.1)
        self.distances = nn.Embedding(32, heads)
        self.own = nn.ModuleList(attention() for _ in range(layers))
        self.crossed = nn.ModuleList(attention() for _ in range(layers if crossed else 0))
        self.feed = nn.ModuleList(feed() for _ in range(layers))
        self.norm = RMSNorm(width)

    def forward(self, x, other=None):
        length = x.shape[1]
        bias = self.distances(torch.zeros(length, length, dtype=torch.long)).permute(2, 0, 1).unsqueeze(0)
        x = self.drop1(x)
        for i, own in enumerate(self.own):
            x = own(x, bias=bias)
            if self.crossed:
                x = self.crossed[i](x, other, bias=torch.zeros(1, self.heads, length, other.shape[1]))
            x = self.feed[i](x)
        return self.drop2(self.norm(x))


class T5(nn.Module):
    """C. Raffel et al. 2020, arXiv:1910.10683."""

    def __init__(self, width, layers, heads, inner, vocabulary=32128):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.encoder = T5Stack(width, layers, heads, inner, False)
        self.decoder = T5Stack(width, layers, heads, inner, True)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids, target):
        x = self.encoder(self.words(ids))
        self.head(self.decoder(self.words(target), x) * 0.5)


class WhisperLayer(nn.Module):
    def __init__(self, width, heads, crossed):
        super().__init__()
        self.norm1, self.own = nn.LayerNorm(width), Projections(width, heads, biases="qvo", causal=crossed)
        self.norm2, self.crossed = (nn.LayerNorm(width), Projections(width, heads, biases="qvo")) if crossed else (
            None, None)
        self.norm3 = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, other=None):
        x = x + self.own(self.norm1(x))
        if self.crossed:
            x = x + self.crossed(self.norm2(x), other)
        return x + self.feed(self.norm3(x))


class Whisper(nn.Module):
    """A. Radford et al. 2022, arXiv:2212.04356; vocabulary and places are those of the released multilingual models."""

    def __init__(self, width, layers, heads, bands=80, vocabulary=51865, places=448):
        super().__init__()
        self.conv1 = nn.Conv1d(bands, width, 3, padding=1)
        self.conv2 = nn.Conv1d(width, width, 3, stride=2, padding=1)
        self.encoder = nn.Sequential(*(WhisperLayer(width, heads, False) for _ in range(layers)))
        self.norm1 = nn.LayerNorm(width)
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(places, width)
        self.decoder = nn.ModuleList(WhisperLayer(width, heads, True) for _ in range(layers))
        self.norm2 = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.words.weight

    def forward(self, spectrum, ids):
        x = F.gelu(self.conv2(F.gelu(self.conv1(spectrum)))).permute(0, 2, 1)
        other = self.norm1(self.encoder(x + torch.zeros(x.shape[1:])))
        x = self.words(ids) + self.places(torch.zeros(1, ids.shape[1], dtype=torch.long))
        for layer in self.decoder:
            x = layer(x, other)
        self.head(self.norm2(x))


class ClipLayer(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Projections(width, heads, causal=causal)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), QuickGelu(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed(self.norm2(x))


class Clip(nn.Module):
    """A. Radford et al. 2021, arXiv:2103.00020: both towers of the ViT-B/32."""

    def __init__(self, width=768, layers=12, heads=12, image=224, patch=32, text_width=512, text_heads=8, length=77,
                 vocabulary=49408, projection=512):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch, bias=False)
        self.one = nn.Parameter(torch.zeros(width))
        self.image_places = nn.Embedding((image // patch) ** 2 + 1, width)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(text_width)
        self.image_layers = nn.Sequential(*(ClipLayer(width, heads, False) for _ in range(layers)))
        self.image_head = nn.Linear(width, projection, bias=False)
        self.words, self.places = nn.Embedding(vocabulary, text_width), nn.Embedding(length, text_width)
        self.text_layers = nn.Sequential(*(ClipLayer(text_width, text_heads, True) for _ in range(layers)))
        self.text_head = nn.Linear(text_width, projection, bias=False)
        self.temperature = nn.Parameter(torch.zeros(()))

    def forward(self, image, ids):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.one.expand(x.shape[0], 1, -1), x), 1)
        x = self.norm1(x + self.image_places(torch.zeros(1, x.shape[1], dtype=torch.long)))
        self.image_head(self.norm2(self.image_layers(x)[:, 0]))
        x = self.words(ids) + self.places(torch.zeros(1, ids.shape[1], dtype=torch.long))
        self.text_head(self.norm3(self.text_layers(x))[:, -1])


# ---- of images -------------------------------------------------------------------------------------------------------

def double_convolution(before, after):
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
                         nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU())


class UNet(nn.Module):
    """O. Ronneberger et al. 2015, arXiv:1505.04597, with padding and batch norm."""

    def __init__(self, classes=2, width=64):
        super().__init__()
        widths = [width * 2 ** i for i in range(5)]
        self.down = nn.ModuleList(double_convolution(*pair) for pair in zip([3] + widths, widths))
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in widths[-2::-1])
        self.join = nn.ModuleList(double_convolution(2 * w, w) for w in widths[-2::-1])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        levels = [self.down[0](x)]
        for down in self.down[1:]:
            levels.append(down(self.pool(levels[-1])))
        x = levels.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat((levels.pop(), up(x)), 1))
        self.head(x)


def convolutions(*layers):
    """Each a pooling, or filters, window, stride and padding of a convolution with a ReLU behind it."""
    made, channels = [], 3
    for layer in layers:
        if isinstance(layer, nn.Module):
            made.append(layer)
            continue
        filters, kernel, stride, padding = layer
        made += [nn.Conv2d(channels, filters, kernel, stride, padding), nn.ReLU()]
        channels = filters
    return made


def alex_v2():
    """A. Krizhevsky 2014, arXiv:1404.5997, as PALEO's alex_v2 has it: the last three layers are convolutions."""
    pool = nn.MaxPool2d(3, 2)
    layers = convolutions((64, 11, 4, 0), pool, (192, 5, 1, 2), pool, (384, 3, 1, 1), (384, 3, 1, 1), (256, 3, 1, 1),
                          pool, (4096, 5, 1, 0), nn.Dropout(), (4096, 1, 1, 0), nn.Dropout(), (1000, 1, 1, 0))
    return nn.Sequential(*layers[:-1], nn.Softmax(1))  # no ReLU behind the classes


def nin():
    """M. Lin et al. 2013, arXiv:1312.4400, as the authors' file for ImageNet has it."""
    pool = nn.MaxPool2d(3, 2)

    def perceptron(filters, last, kernel, stride, padding):
        return (filters, kernel, stride, padding), (filters, 1, 1, 0), (last, 1, 1, 0)

    return nn.Sequential(*convolutions(
        *perceptron(96, 96, 11, 4, 0), pool, *perceptron(256, 256, 5, 1, 2), pool, *perceptron(384, 384, 3, 1, 1), pool,
        nn.Dropout(), *perceptron(1024, 1000, 3, 1, 1), nn.AvgPool2d(5, 1)), nn.Softmax(1))
