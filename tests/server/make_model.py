"""Makes a tiny language model with random weights, so that a real engine can be measured where no model may be fetched.

In:  a folder, a seed.
Out: `model.gguf` (architecture llama, about 1.3 million weights, context of 8,192 tokens) and `tokenizer.json`, the same
     vocabulary for counting tokens on the client's side. The same seed gives the same bytes on every machine.
Not here: anything that would make sense of a prompt. What it says is noise; how it is served is real.

Only the standard library is needed: the file format (GGUF, version 3) is a header, keys with typed values, a table of tensors,
and the tensors, each on a multiple of 32 bytes.

What is built into the weights, because a measurement needs it:

- The first of the 128 dimensions is kept for a constant: every token brings the same value into it and no layer writes to it.
  Its column in the output matrix is therefore a bias for each token, which this architecture otherwise lacks.
- By that bias an answer is made of whole words. Single bytes, beginnings of words and marks of the chat template stay out unless
  they are asked for (`logit_bias`, a grammar), so text is valid UTF-8 and each token is a piece of text of its own.
- The token that ends an answer is an ordinary candidate. Some answers stop early by themselves, as a real model's do, so
  that a length that was fixed (`ignore_eos`) can be told from one that was only limited (`max_tokens`).
"""

import argparse
import array
import json
import pathlib
import random
import struct
import sys

WIDTH = 128
"""Size of a hidden state; its first number is the constant."""
HEADS = 4
KEY_HEADS = 2
LAYERS = 4
INNER = 384
"""Width between the two halves of a layer's feed-forward part."""
CONTEXT = 8192
"""Tokens that the model claims to have been trained on: the engine takes no more into one conversation."""

CONSTANT = 6.0
"""What each token brings into the first dimension."""
BIAS_WORD = 0.0
BIAS_END = -0.05
"""As good as a word, or nearly: an answer then ends by itself after some tens of tokens."""
BIAS_REST = -4.0
"""Far below every word."""

WORDS = """the of and to in is that it was for on are as with his they be at one have this from or had by hot word but what some
we can out other were all there when up use your how said an each she which do their time if will way about many then them
write would like so these her long make thing see him two has look more day could go come did number sound no most people my
over know water than call first who may down side been now find any new work part take get place made live where after back
little only round man year came show every good me give our under name very through just form sentence great think say help
low line differ turn cause much mean before move right boy old too same tell does set three want air well also play small end
put home read hand port large spell add even land here must big high such follow act why ask men change went light kind off
need house picture try us again animal point mother world near build self earth father head stand own page should country
found answer school grow study still learn plant cover food sun four between state keep eye never last let thought city tree
cross farm hard start might story saw far sea draw left late run while press close night real life few north open seem
together next white children begin got walk example ease paper group always music those both mark often letter until mile
river car feet care second book carry took science eat room friend began idea fish mountain stop once base hear horse cut sure
watch color face wood main enough plain girl usual young ready above ever red list though feel talk bird soon body dog family
direct pose leave song measure door product black short numeral class wind question happen complete ship area half rock order
fire south problem piece told knew pass since top whole king space heard best hour better true during hundred five remember
step early hold west ground interest reach fast verb sing listen six table travel less morning ten simple several vowel toward
war lay against pattern slow center love person money serve appear road map rain rule govern pull cold notice voice unit power
town fine certain fly fall lead cry dark machine note wait plan figure star box noun field rest correct able pound done beauty
drive stood contain front teach week final gave green quick develop ocean warm free minute strong special mind behind clear
tail produce fact street inch multiply nothing course stay wheel full force blue object decide surface deep moon island foot
system busy test record boat common gold possible plane stead dry wonder laugh thousand ago ran check game shape equate
miss brought heat snow tire bring yes distant fill east paint language among token server request latency stream model""".split()
"""Common words of English; each becomes a token together with the blank before it, as does each beginning of it."""
FOREIGN = "naïve café über señor Ελλάδα привет 漢字 日本語 🚀".split()
"""Words whose letters take two to four bytes. Their beginnings are tokens too, so a letter can be split between two tokens."""

MARK_START = "<|im_start|>"
MARK_END = "<|im_end|>"
MARK_DOCUMENT = "<|endoftext|>"
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

NORMAL, CONTROL = 1, 3
"""Kinds of a token in the file."""


def printable_bytes():
    """How vocabularies of this family write bytes: those that print as they are, the others as letters from 256 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table, extra = {byte: chr(byte) for byte in plain}, 0
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(256 + extra)
            extra += 1
    return table


class Vocabulary:
    """Tokens, the merges that make them, and the bias of each."""

    def __init__(self):
        letters = printable_bytes()
        self.tokens, self.kinds, self.bias, self.merges = [], [], [], []
        self.known = {}
        for byte in range(256):
            self.add(letters[byte], NORMAL, BIAS_REST)
        # Merges with the blank first: inside a word no shorter pair gets in before them, so that each word is exactly one token.
        for word in dict.fromkeys(WORDS + FOREIGN):
            self.chain("".join(letters[byte] for byte in (" " + word).encode()))
        for word in dict.fromkeys([word.capitalize() for word in WORDS[:120]] + ["user", "assistant", "system"]):
            self.chain("".join(letters[byte] for byte in word.encode()), say=False)
        for mark, bias in ((MARK_DOCUMENT, BIAS_REST), (MARK_START, BIAS_REST), (MARK_END, BIAS_END)):
            self.add(mark, CONTROL, bias)

    def add(self, token, kind, bias):
        if token not in self.known:
            self.known[token] = len(self.tokens)
            self.tokens.append(token)
            self.kinds.append(kind)
            self.bias.append(bias)
        return self.known[token]

    def chain(self, word, say=True):
        """Makes every beginning of a word a token, each merged from the one before and a letter."""
        for end in range(2, len(word) + 1):
            if word[:end] not in self.known:
                self.merges.append((word[: end - 1], word[end - 1]))
                self.add(word[:end], NORMAL, BIAS_REST)
        if say:
            self.bias[self.known[word]] = BIAS_WORD


class Gguf:
    """A file of this format in the making: keys with values, then tensors."""

    UINT32, FLOAT32, BOOL, STRING, ARRAY, INT32 = 4, 6, 7, 8, 9, 5
    ALIGNMENT = 32

    def __init__(self):
        self.pairs, self.tensors = [], []

    @staticmethod
    def text(value):
        raw = value.encode()
        return struct.pack("<Q", len(raw)) + raw

    def put(self, key, kind, value):
        """One key. A list becomes an array of `kind`."""
        pack = {
            self.UINT32: lambda one: struct.pack("<I", one),
            self.INT32: lambda one: struct.pack("<i", one),
            self.FLOAT32: lambda one: struct.pack("<f", one),
            self.BOOL: lambda one: struct.pack("<?", one),
            self.STRING: self.text,
        }[kind]
        if isinstance(value, list):
            raw = struct.pack("<IIQ", self.ARRAY, kind, len(value)) + b"".join(map(pack, value))
        else:
            raw = struct.pack("<I", kind) + pack(value)
        self.pairs.append(self.text(key) + raw)

    def tensor(self, name, shape, values):
        """One tensor of 32-bit floats; `shape` has the dimension that runs fastest first."""
        data = array.array("f", values)
        if sys.byteorder == "big":
            data.byteswap()
        self.tensors.append((name, shape, data.tobytes()))

    def write(self, path):
        def padded(raw):
            return raw + b"\0" * (-len(raw) % self.ALIGNMENT)

        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.pairs)) + b"".join(self.pairs)
        offset = 0
        for name, shape, raw in self.tensors:
            head += self.text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, offset)
            offset += len(padded(raw))
        with open(path, "wb") as file:
            file.write(padded(head))
            for _, _, raw in self.tensors:
                file.write(padded(raw))


class Noise:
    """Numbers about zero. Only `random()` is promised to give the same on every Python, so a bell is made of three of them."""

    def __init__(self, seed):
        self.next = random.Random(seed).random

    def bell(self, spread):
        return (self.next() + self.next() + self.next() - 1.5) * 2.0 * spread

    def matrix(self, rows, columns, spread, first=None):
        """Row by row. `first`: what stands in the first column of a row, instead of noise."""
        for row in range(rows):
            for column in range(columns):
                value = self.bell(spread)
                yield first[row] if first is not None and column == 0 else value

    def writing(self, rows, columns, spread):
        """A matrix that leaves the constant alone: its first row is zero."""
        for row in range(rows):
            for _ in range(columns):
                value = self.bell(spread)
                yield 0.0 if row == 0 else value


def make_model(path, vocabulary, seed):
    """Writes the model."""
    noise, size, head = Noise(seed), len(vocabulary.tokens), WIDTH // HEADS
    file = Gguf()
    file.put("general.architecture", file.STRING, "llama")
    file.put("general.type", file.STRING, "model")
    file.put("general.name", file.STRING, "sparkbench-tiny-random")
    file.put("general.size_label", file.STRING, "1.3M")
    file.put("general.file_type", file.UINT32, 0)
    file.put("general.quantization_version", file.UINT32, 2)
    file.put("llama.block_count", file.UINT32, LAYERS)
    file.put("llama.context_length", file.UINT32, CONTEXT)
    file.put("llama.embedding_length", file.UINT32, WIDTH)
    file.put("llama.feed_forward_length", file.UINT32, INNER)
    file.put("llama.attention.head_count", file.UINT32, HEADS)
    file.put("llama.attention.head_count_kv", file.UINT32, KEY_HEADS)
    file.put("llama.attention.layer_norm_rms_epsilon", file.FLOAT32, 1e-5)
    file.put("llama.rope.dimension_count", file.UINT32, head)
    file.put("llama.rope.freq_base", file.FLOAT32, 10000.0)
    file.put("llama.vocab_size", file.UINT32, size)
    file.put("tokenizer.ggml.model", file.STRING, "gpt2")
    file.put("tokenizer.ggml.pre", file.STRING, "gpt-2")
    file.put("tokenizer.ggml.tokens", file.STRING, vocabulary.tokens)
    file.put("tokenizer.ggml.token_type", file.INT32, vocabulary.kinds)
    file.put("tokenizer.ggml.merges", file.STRING, [f"{left} {right}" for left, right in vocabulary.merges])
    file.put("tokenizer.ggml.eos_token_id", file.UINT32, vocabulary.known[MARK_END])
    file.put("tokenizer.ggml.bos_token_id", file.UINT32, vocabulary.known[MARK_DOCUMENT])
    file.put("tokenizer.ggml.padding_token_id", file.UINT32, vocabulary.known[MARK_DOCUMENT])
    file.put("tokenizer.ggml.add_bos_token", file.BOOL, False)
    file.put("tokenizer.chat_template", file.STRING, CHAT_TEMPLATE)

    # The spreads keep the state near the size of what the tokens bring, and attention sharp enough to tell positions apart.
    inner = WIDTH ** -0.5
    file.tensor("token_embd.weight", (WIDTH, size), noise.matrix(size, WIDTH, 1.0, [CONSTANT] * size))
    for layer in range(LAYERS):
        name = f"blk.{layer}."
        file.tensor(name + "attn_norm.weight", (WIDTH,), [1.0] * WIDTH)
        file.tensor(name + "attn_q.weight", (WIDTH, WIDTH), noise.matrix(WIDTH, WIDTH, 2 * inner))
        file.tensor(name + "attn_k.weight", (WIDTH, KEY_HEADS * head), noise.matrix(KEY_HEADS * head, WIDTH, 2 * inner))
        file.tensor(name + "attn_v.weight", (WIDTH, KEY_HEADS * head), noise.matrix(KEY_HEADS * head, WIDTH, inner))
        file.tensor(name + "attn_output.weight", (WIDTH, WIDTH), noise.writing(WIDTH, WIDTH, inner))
        file.tensor(name + "ffn_norm.weight", (WIDTH,), [1.0] * WIDTH)
        file.tensor(name + "ffn_gate.weight", (WIDTH, INNER), noise.matrix(INNER, WIDTH, 1.5 * inner))
        file.tensor(name + "ffn_up.weight", (WIDTH, INNER), noise.matrix(INNER, WIDTH, 1.5 * inner))
        file.tensor(name + "ffn_down.weight", (INNER, WIDTH), noise.writing(WIDTH, INNER, INNER ** -0.5))
    file.tensor("output_norm.weight", (WIDTH,), [1.0] * WIDTH)
    file.tensor("output.weight", (WIDTH, size), noise.matrix(size, WIDTH, inner, vocabulary.bias))
    file.write(path)


def make_tokenizer(path, vocabulary):
    """Writes the same vocabulary as a `tokenizer.json`."""
    marks = [MARK_DOCUMENT, MARK_START, MARK_END]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    file = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": vocabulary.known[mark],
                "content": mark,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for mark in marks
        ],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {token: number for token, number in vocabulary.known.items() if token not in marks},
            "merges": [f"{left} {right}" for left, right in vocabulary.merges],
        },
    }
    path.write_text(json.dumps(file, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="where model.gguf and tokenizer.json go")
    parser.add_argument("--seed", type=int, default=1, help="for every weight (default: 1)")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    vocabulary = Vocabulary()
    make_model(asked.folder / "model.gguf", vocabulary, asked.seed)
    make_tokenizer(asked.folder / "tokenizer.json", vocabulary)
    print(f"{asked.folder / 'model.gguf'}: {len(vocabulary.tokens)} tokens in the vocabulary")


if __name__ == "__main__":
    main()
