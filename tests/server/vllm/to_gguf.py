"""Writes the model of `make_model.py` once more, for llama.cpp: the same weights and the same tokenizer, in GGUF.

    python3 tests/server/vllm/to_gguf.py FOLDER        # reads FOLDER/model.safetensors and what lies beside it

In:  a folder that `make_model.py` made.  Out: `model.gguf` in it, with 32-bit weights, which hold the 16-bit ones exactly.
Not here: other shapes than a Llama's with grouped heads and an output matrix of its own.

llama.cpp turns pairs of neighbours in a head, Hugging Face turns the first half against the second. So the rows of the query and key
matrices are put in the other order.
"""

import argparse
import array
import importlib.util
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
ORDINARY, CONTROL, UNUSED = 1, 3, 5
"""Kinds of tokens in llama.cpp."""
NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}


def writer():
    """The writer of the other model."""
    spec = importlib.util.spec_from_file_location("tiny_model", HERE.parent / "make_model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Gguf()


def tensors(path):
    """Name, shape and values of each tensor, as 32-bit numbers."""
    raw = path.read_bytes()
    (size,) = struct.unpack_from("<Q", raw)
    head = json.loads(raw[8 : 8 + size])
    head.pop("__metadata__", None)
    for name, about in head.items():
        if about["dtype"] != "BF16":
            raise SystemExit(f"{path}: {name} is {about['dtype']}, expected BF16")
        begin, end = about["data_offsets"]
        halves = array.array("H", raw[8 + size + begin : 8 + size + end])
        yield name, about["shape"], array.array("f", array.array("I", (half << 16 for half in halves)).tobytes())


def turned(values, shape, heads):
    """Rows of a head from first half and second half to pairs."""
    rows, columns = shape
    half = rows // heads // 2
    out = array.array("f")
    for head in range(heads):
        for place in range(half):
            for part in range(2):
                row = head * 2 * half + part * half + place
                out.extend(values[row * columns : (row + 1) * columns])
    return out


def gguf_name(name):
    stem = name.removesuffix(".weight")
    if stem.startswith("model.layers."):
        _, _, layer, rest = stem.split(".", 3)
        return f"blk.{layer}.{NAMES[rest]}.weight"
    return f"{NAMES[stem]}.weight"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=pathlib.Path)
    folder = options.parse_args().folder
    config = json.loads((folder / "config.json").read_text())
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    template = json.loads((folder / "tokenizer_config.json").read_text())["chat_template"]

    known = {number: token for token, number in tokenizer["model"]["vocab"].items()}
    special = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
    size = config["vocab_size"]
    words = [special.get(number) or known.get(number) or f"<|unused {number}|>" for number in range(size)]
    kinds = [CONTROL if number in special else ORDINARY if number in known else UNUSED for number in range(size)]
    heads, key_heads = config["num_attention_heads"], config["num_key_value_heads"]

    file = writer()
    whole, number = file.UINT32, file.FLOAT32
    for key, kind, value in [
        ("general.architecture", file.STRING, "llama"),
        ("general.type", file.STRING, "model"),
        ("general.name", file.STRING, "llama-random"),
        ("general.file_type", whole, 0),
        ("general.quantization_version", whole, 2),
        ("llama.block_count", whole, config["num_hidden_layers"]),
        ("llama.context_length", whole, config["max_position_embeddings"]),
        ("llama.embedding_length", whole, config["hidden_size"]),
        ("llama.feed_forward_length", whole, config["intermediate_size"]),
        ("llama.attention.head_count", whole, heads),
        ("llama.attention.head_count_kv", whole, key_heads),
        ("llama.attention.layer_norm_rms_epsilon", number, config["rms_norm_eps"]),
        ("llama.rope.dimension_count", whole, config["head_dim"]),
        ("llama.rope.freq_base", number, config["rope_parameters"]["rope_theta"]),
        ("llama.vocab_size", whole, size),
        ("tokenizer.ggml.model", file.STRING, "gpt2"),
        ("tokenizer.ggml.pre", file.STRING, "gpt-2"),
        ("tokenizer.ggml.tokens", file.STRING, words),
        ("tokenizer.ggml.token_type", file.INT32, kinds),
        ("tokenizer.ggml.merges", file.STRING, [" ".join(pair) for pair in tokenizer["model"]["merges"]]),
        ("tokenizer.ggml.bos_token_id", whole, config["bos_token_id"]),
        ("tokenizer.ggml.eos_token_id", whole, config["eos_token_id"]),
        ("tokenizer.ggml.padding_token_id", whole, config["pad_token_id"]),
        ("tokenizer.ggml.add_bos_token", file.BOOL, False),
        ("tokenizer.chat_template", file.STRING, template),
    ]:
        file.put(key, kind, value)
    for name, shape, values in tensors(folder / "model.safetensors"):
        if "q_proj" in name or "k_proj" in name:
            values = turned(values, shape, heads if "q_proj" in name else key_heads)
        file.tensor(gguf_name(name), tuple(reversed(shape)), values)
    aside = folder / "model.gguf.new"
    file.write(aside)
    aside.rename(folder / "model.gguf")
    print(folder / "model.gguf")


if __name__ == "__main__":
    main()
