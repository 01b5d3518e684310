"""Makes a tiny Llama with random weights, so that a real vLLM can be measured where no model may be fetched.

    VENV/bin/python tests/server/vllm/make_model.py FOLDER [--marks] [--hidden 512] [--layers 8] [--seed N]

In:  a folder that is not there yet. Packages: torch, transformers, tokenizers.
Out: `config.json`, `model.safetensors`, `tokenizer.json`, `tokenizer_config.json` with a chat template, `generation_config.json`.
     The same arguments and the same versions of the packages give the same weights.
Not here: sense. What such a model says is noise; how it is scheduled, cached, counted and streamed is real.

An answer is made of words. The rows of the head that belong to special tokens and to bytes that are no whole character are zero. Their
logit is then 0, and among two thousand random ones the largest is above. With `--marks` these rows stay as they are. Answers then hold
tokens without visible text, as answers of real models do.
"""

import argparse
import json
import pathlib
import random
import shutil

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

VOCABULARY = 2048
"""Tokens of the tokenizer."""
ROWS = 10240
"""Tokens of the model: `vllm bench latency` sends any number below 10,000. Those without a text are never said."""
POSITIONS = 4096
START, END, PAD = "<|start|>", "<|end|>", "<|pad|>"
THINK, THOUGHT = "<think>", "</think>"
SPECIAL = [PAD, START, END, "<|user|>", "<|assistant|>", "<|system|>", "<|tool|>"]
SHAPE = {"num_attention_heads": 8, "num_key_value_heads": 4}
TEMPLATE = (
    "{% if tools %}<|system|>{{ tools | tojson }}<|end|>\n{% endif %}"
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def text(seed):
    """Lines of made-up words: syllables, so that pairs of letters are worth merging."""
    draw = random.Random(seed)
    syllables = [a + b for a in "bcdfghjklmnprstvwz" for b in "aeiou"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(4000)]
    for _ in range(4000):
        yield " ".join(draw.choices(words, k=12)) + "."


def tokenizer(seed):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[*SPECIAL, THINK, THOUGHT],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    made.train_from_iterator(text(seed), trainer)
    return made


def without_text(made):
    """Tokens that a reader would not see as text of their own: marks, and bytes that are no character."""
    found = []
    for token in range(made.get_vocab_size()):
        said = made.decode([token], skip_special_tokens=True)
        if not said or "\ufffd" in said or not said.isprintable():
            found.append(token)
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--marks", action="store_true", help="let tokens without visible text stand in answers")
    # About a millisecond a token on one processor: most of what is seen is what surrounds the kernels. 512 and 8 take 13 ms.
    options.add_argument("--hidden", type=int, default=256, help="width of a layer")
    options.add_argument("--layers", type=int, default=4)
    options.add_argument("--seed", type=int, default=0)
    asked = options.parse_args()

    made = tokenizer(asked.seed)
    torch.manual_seed(asked.seed)
    marks = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    config = LlamaConfig(
        vocab_size=ROWS, max_position_embeddings=POSITIONS, tie_word_embeddings=False, dtype="bfloat16",
        hidden_size=asked.hidden, intermediate_size=asked.hidden * 43 // 16, num_hidden_layers=asked.layers, **SHAPE, **marks,
    )
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    with torch.no_grad():
        model.lm_head.weight[VOCABULARY:] = 0
        if not asked.marks:
            model.lm_head.weight[without_text(made)] = 0

    # Made aside and renamed: a model is there whole, or it is not there.
    aside = asked.folder.with_name(asked.folder.name + ".new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    model.save_pretrained(aside)
    made.save(str(aside / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": POSITIONS, "clean_up_tokenization_spaces": False,
        "bos_token": START, "eos_token": END, "pad_token": PAD, "chat_template": TEMPLATE,
    }
    (aside / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")
    (aside / "generation_config.json").write_text(json.dumps(marks, indent=2) + "\n")
    aside.rename(asked.folder)


if __name__ == "__main__":
    main()
