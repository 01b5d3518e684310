#!/usr/bin/env python3
"""Measures an offline engine (vLLM or TensorRT-LLM) and writes one JSON line for each thing that it learns.

Reads settings.json beside itself. Writes beside itself: iterations.jsonl (schema sparkbench.iterations/1), requests.jsonl where the
engine tells the times of single requests, pip-freeze.txt. Every line is flushed before the next step, so that a crash loses nothing.
Needs Python 3.10 to 3.12 and the engine; nothing else.

Prompts are token ids drawn from the seed, new ones for every request, so that no prefix is shared unless `shared_prefix` asks for it.
An iteration is one batch: from the call of the engine to its last answer, on the monotonic clock.

Exit status: 0 done; 1 a test failed or ran out of memory; 2 the settings or the engine cannot be used.
"""

import importlib
import json
import os
import random
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = "sparkbench.iterations/1"
# Ids below the first are often special tokens; those below the second are in nearly every vocabulary.
TOKEN_LOW, TOKEN_HIGH = 1000, 30000
OUT_OF_MEMORY = ("out of memory", "outofmemory", "cannot allocate memory", "no available memory for the cache blocks")
MEMINFO = ("MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "SReclaimable", "Shmem", "SwapTotal", "SwapFree", "Dirty")


class Lines:
    """Appends JSON lines; each is on its way to the disk before the next step."""

    def __init__(self, name):
        self.file = open(os.path.join(HERE, name), "w", encoding="utf-8")

    def write(self, **fields):
        # A figure that is no number has no JSON; it is left out and not written as a word that few read.
        clean = {key: value for key, value in fields.items() if value is not None and value == value}
        self.file.write(json.dumps(clean, allow_nan=False) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())


class Later:
    """A file that is made when the first line comes."""

    def __init__(self, name):
        self.name, self.lines = name, None

    def write(self, **fields):
        if self.lines is None:
            self.lines = Lines(self.name)
        self.lines.write(**fields)


def is_out_of_memory(error):
    """Engines wrap the error of the allocator in their own; the words stay."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        words = (type(error).__name__ + " " + str(error)).lower()
        if isinstance(error, MemoryError) or any(mark in words for mark in OUT_OF_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def first(*makers):
    """The first value that can be had; engines move their attributes between versions."""
    for make in makers:
        try:
            value = make()
        except Exception:
            continue
        if value is not None:
            return value
    return None


def optional(name):
    """A module where it is installed."""
    try:
        return importlib.import_module(name)
    except Exception:
        return None


def memory(moment):
    """State of host and device memory; what cannot be read is left out."""
    state = {}
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                key, _, rest = line.partition(":")
                if key in MEMINFO:
                    state[key + "_kib"] = int(rest.split()[0])
    except (OSError, ValueError, IndexError):
        pass
    torch = sys.modules.get("torch")
    if torch is not None:
        pair = first(lambda: torch.cuda.mem_get_info() if torch.cuda.is_initialized() else None)
        if pair:
            state["cuda_free_bytes"], state["cuda_total_bytes"] = int(pair[0]), int(pair[1])
        state["torch_peak_bytes"] = first(lambda: int(torch.cuda.max_memory_allocated()) if torch.cuda.is_initialized() else None)
    LINES.write(kind="memory", moment=moment, at_s=time.monotonic(), **state)


def freeze():
    """Names and versions of the installed packages, one a line as `pip freeze` prints them."""
    from importlib import metadata

    found = set()
    for package in metadata.distributions():
        name = package.metadata["Name"]
        if name:
            found.add(f"{name}=={package.version}")
    with open(os.path.join(HERE, "pip-freeze.txt"), "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in sorted(found, key=str.lower))


class Vllm:
    """vLLM `LLM`."""

    name = "vLLM"

    def __init__(self, settings):
        self.vllm = importlib.import_module("vllm")
        options = {"model": settings["model"], "seed": settings["seed"]}
        renamed = {"dtype": "dtype", "quantisation": "quantization", "max_model_len": "max_model_len",
                   "memory_fraction": "gpu_memory_utilization", "eager": "enforce_eager", "tp": "tensor_parallel_size",
                   "trust_remote_code": "trust_remote_code", "revision": "revision", "max_batch_size": "max_num_seqs"}
        for ours, theirs in renamed.items():
            if settings.get(ours) is not None:
                options[theirs] = settings[ours]
        options["enable_prefix_caching"] = bool(settings.get("prefix_cache", False))
        # Times of single requests are kept only when statistics are.
        options["disable_log_stats"] = False
        options.update(settings.get("engine_options") or {})
        self.options = options
        self.llm = self.vllm.LLM(**options)

    def prepare(self, batch, osl):
        # min_tokens and ignore_eos: an answer of another length would be another workload.
        return self.vllm.SamplingParams(max_tokens=osl, min_tokens=osl, ignore_eos=True, temperature=0.0, detokenize=False)

    def generate(self, prompts, sampling):
        prompts = [{"prompt_token_ids": ids} for ids in prompts]
        return self.llm.generate(prompts, sampling, use_tqdm=False)

    def answer(self, output):
        metrics = getattr(output, "metrics", None)
        moment = lambda name: first(lambda: getattr(metrics, name) or None)
        return {
            "input_tokens": len(output.prompt_token_ids),
            "output_tokens": sum(len(one.token_ids) for one in output.outputs),
            # Of the engine's process, on the monotonic clock that all processes of a machine share.
            "first_token_s": moment("first_token_ts"),
            "last_token_s": moment("last_token_ts"),
        }

    def seen(self):
        config = first(lambda: self.llm.llm_engine.vllm_config, lambda: self.llm.llm_engine)
        model = first(lambda: config.model_config)
        return {
            "model_id": first(lambda: str(model.model)),
            "engine_version": first(lambda: self.vllm.__version__),
            "quantisation": first(lambda: str(model.quantization) if model.quantization else None, lambda: str(model.dtype)),
            "batch": None,
        }

    def vocabulary(self):
        model = first(lambda: self.llm.llm_engine.vllm_config.model_config, lambda: self.llm.llm_engine.model_config)
        return first(lambda: int(model.get_vocab_size()), lambda: int(model.hf_config.vocab_size))

    def figures(self):
        cache = first(lambda: self.llm.llm_engine.vllm_config.cache_config, lambda: self.llm.llm_engine.cache_config)
        return {"kv_cache_tokens": first(lambda: int(cache.num_gpu_blocks) * int(cache.block_size))}

    def lacks_room(self, batch, isl, osl):
        """Why not all of a batch runs at once: vLLM then lets requests wait and fails nothing."""
        config = first(lambda: self.llm.llm_engine.vllm_config)
        most = first(lambda: int(config.scheduler_config.max_num_seqs))
        if most and batch > most:
            return f"the engine runs {most} requests at once"
        blocks = first(lambda: int(config.cache_config.num_gpu_blocks))
        size = first(lambda: int(config.cache_config.block_size))
        if not blocks or not size:
            return None
        # The last token of an answer is not kept, and one block stands for none.
        each = -(-(isl + osl - 1) // size)
        if batch * each > blocks - 1:
            return f"needs {batch * each * size} tokens of KV cache and has {(blocks - 1) * size}"
        return None

    def close(self):
        first(lambda: self.llm.llm_engine.engine_core.shutdown())


class TensorRtLlm:
    """TensorRT-LLM `LLM` of its LLM API."""

    name = "TensorRT-LLM"

    def __init__(self, settings):
        self.trt = importlib.import_module("tensorrt_llm")
        api = first(lambda: importlib.import_module("tensorrt_llm.llmapi")) or self.trt
        options = {"model": settings["model"]}
        renamed = {"dtype": "dtype", "max_model_len": "max_seq_len", "max_batch_size": "max_batch_size", "revision": "revision",
                   "tp": "tensor_parallel_size", "trust_remote_code": "trust_remote_code"}
        for ours, theirs in renamed.items():
            if settings.get(ours) is not None:
                options[theirs] = settings[ours]
        for ours in ("quantisation", "eager"):
            if settings.get(ours) is not None:
                raise ValueError(f"'{ours}' has no setting of its own in the TensorRT-LLM API: give it in engine_options")
        cache = {"enable_block_reuse": bool(settings.get("prefix_cache", False))}
        if settings.get("memory_fraction") is not None:
            cache["free_gpu_memory_fraction"] = settings["memory_fraction"]
        options["kv_cache_config"] = api.KvCacheConfig(**cache)
        options.update(settings.get("engine_options") or {})
        self.options = options
        self.api = api
        self.llm = getattr(self.trt, "LLM", None)
        self.llm = (self.llm or api.LLM)(**options)

    def prepare(self, batch, osl):
        sampling = first(lambda: self.trt.SamplingParams) or self.api.SamplingParams
        wanted = {"max_tokens": osl, "min_tokens": osl, "ignore_eos": True, "temperature": 0.0, "detokenize": False}
        # Times of single requests come only when they are asked for, and not in every version.
        for more in ({"return_perf_metrics": True}, {}):
            try:
                return sampling(**wanted, **more)
            except TypeError as error:
                if not more:
                    raise
                if "return_perf_metrics" not in str(error):
                    raise
        return None

    def generate(self, prompts, sampling):
        return self.llm.generate(prompts, sampling, use_tqdm=False)

    def answer(self, output):
        one = output.outputs[0]
        times = first(lambda: one.request_perf_metrics.timing_metrics)
        seconds = lambda name: first(lambda: getattr(times, name).total_seconds() or None)
        return {
            "input_tokens": len(output.prompt_token_ids),
            "output_tokens": sum(len(each.token_ids) for each in output.outputs),
            "first_token_s": seconds("first_token_time"),
            "last_token_s": seconds("last_token_time"),
        }

    def seen(self):
        arguments = first(lambda: self.llm.args, lambda: self.llm._args)
        return {
            "model_id": first(lambda: str(arguments.model)),
            "engine_version": first(lambda: self.trt.__version__),
            "quantisation": first(
                lambda: str(arguments.quant_config.quant_algo.value) if arguments.quant_config.quant_algo else None,
                lambda: str(arguments.dtype) if str(arguments.dtype) != "auto" else None,
            ),
        }

    def vocabulary(self):
        return first(lambda: len(self.llm.tokenizer), lambda: int(self.llm.tokenizer.vocab_size))

    def figures(self):
        return {}

    def lacks_room(self, batch, isl, osl):
        return None

    def close(self):
        first(lambda: self.llm.shutdown())


ENGINES = {"vllm": Vllm, "tensorrt-llm": TensorRtLlm}


class Prompts:
    """Token ids from the seed. Each request of each iteration has its own; the same seed gives the same ones in every environment."""

    def __init__(self, seed, shared_prefix, tokens):
        self.seed, self.shared, self.tokens = seed, shared_prefix, tokens

    def batch(self, test, iteration, size, length):
        common = self.draw(f"{self.seed}/{test}/prefix", min(self.shared, length))
        return [common + self.draw(f"{self.seed}/{test}/{iteration}/{at}", length - len(common)) for at in range(size)]

    def draw(self, seed, count):
        # Seeding with text is the same in every version of Python from 3.2 on.
        source = random.Random(seed)
        return [source.randrange(*self.tokens) for _ in range(count)]


def tokens_of(vocabulary):
    """Ids to draw from: the usual ones, or those that a smaller vocabulary has, without the first eighth."""
    if not vocabulary or vocabulary >= TOKEN_HIGH:
        return TOKEN_LOW, TOKEN_HIGH
    return min(TOKEN_LOW, vocabulary // 8), vocabulary


def times_fit(answer, started, ended):
    """Only moments within the iteration are moments of our clock; an engine with another clock tells none of use."""
    one, last = answer["first_token_s"], answer["last_token_s"]
    return one is not None and last is not None and started <= one <= last <= ended


def measure(engine, prompts, test, settings):
    """One test. Raises what the engine raises; lines written until then stay."""
    name, batch, isl, osl = test["name"], test["batch"], test["isl"], test["osl"]
    sampling = engine.prepare(batch, osl)
    warmup, planned = settings["warmup"], settings["iterations"]
    for count in range(warmup + planned):
        is_warmup = count < warmup
        ids = prompts.batch(name, count, batch, isl)
        started = time.monotonic()
        outputs = engine.generate(ids, sampling)
        ended = time.monotonic()
        answers = [engine.answer(output) for output in outputs]
        if len(answers) != batch:
            raise RuntimeError(f"{len(answers)} answers to {batch} requests")
        LINES.write(
            kind="iteration", test=name, index=count if is_warmup else count - warmup, warmup=is_warmup, started_s=started,
            ended_s=ended, requests=batch, input_tokens=sum(answer["input_tokens"] for answer in answers),
            output_tokens=sum(answer["output_tokens"] for answer in answers),
        )
        if is_warmup:
            continue
        for at, answer in enumerate(answers):
            if times_fit(answer, started, ended):
                further = [answer["last_token_s"]] if answer["output_tokens"] > 1 else []
                REQUESTS.write(
                    index=(count - warmup) * batch + at, test=name, sent_s=started, first_token_s=answer["first_token_s"],
                    further_tokens_s=further, input_tokens=answer["input_tokens"], output_tokens=answer["output_tokens"], status="ok",
                )


def sweep_tests(sweep):
    """Batch sizes that double."""
    size = sweep["from"]
    while size <= sweep["to"]:
        yield {"name": f"B{size}", "batch": size, "isl": sweep["isl"], "osl": sweep["osl"], "sweep": True}
        size *= 2


def attempt(engine, prompts, test, settings):
    """Measures one test and writes how it ended: `done`, `no_room`, `out_of_memory` or `failed`."""
    LINES.write(
        kind="test", test=test["name"], batch=test["batch"], isl=test["isl"], osl=test["osl"], planned=settings["iterations"],
        sweep=test.get("sweep", False),
    )
    why = engine.lacks_room(test["batch"], test["isl"], test["osl"])
    if why:
        LINES.write(kind="no_room", test=test["name"], error=why)
        # A batch of which some wait is none: a sweep is over, a test asked for by name is marked.
        if test.get("sweep", False):
            return "no_room"
    try:
        measure(engine, prompts, test, settings)
        return "done"
    except Exception as error:
        traceback.print_exc()
        kind = "out_of_memory" if is_out_of_memory(error) else "failed"
        LINES.write(kind=kind, test=test["name"], error=f"{type(error).__name__}: {error}"[:2000])
    # What the failed batch holds goes before the next one is tried.
    import gc

    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None:
        first(lambda: torch.cuda.empty_cache())
    return kind


def run(settings):
    kind = ENGINES.get(settings["engine"])
    if kind is None:
        print(f"no such engine: {settings['engine']}", file=sys.stderr)
        return 2
    LINES.write(
        schema=SCHEMA, kind="seen", seen={"engine": kind.name}, settings=settings, python=sys.version.split()[0],
        clock="monotonic",
    )
    memory("T0")
    freeze()
    started = time.monotonic()
    try:
        engine = kind(settings)
    except Exception as error:
        traceback.print_exc()
        why = "out_of_memory" if is_out_of_memory(error) else "failed"
        LINES.write(kind=why, error=f"{type(error).__name__}: {error}"[:2000])
        return 2
    LINES.write(kind="metric", metric="model_load_s", value=time.monotonic() - started)
    # Engines load weights and size their cache in one call, so both moments of a study of memory are behind it.
    memory("T1")
    torch = optional("torch")
    seen = {key: value for key, value in engine.seen().items() if value is not None}
    seen["machine"] = first(lambda: torch.cuda.get_device_name(0))
    total = first(lambda: torch.cuda.get_device_properties(0).total_memory)
    seen["device_memory_gib"] = total / 2**30 if total else None
    tokens = tokens_of(engine.vocabulary())
    LINES.write(
        kind="seen", seen={key: value for key, value in seen.items() if value is not None}, tokens=tokens, torch=first(lambda: torch.__version__),
        cuda=first(lambda: torch.version.cuda), options={key: str(value) for key, value in engine.options.items()},
    )
    for metric, value in engine.figures().items():
        if value is not None:
            LINES.write(kind="metric", metric=metric, value=value)
    memory("T2")
    prompts = Prompts(settings["seed"], settings.get("shared_prefix", 0), tokens)
    status = 0
    for test in settings["tests"]:
        if attempt(engine, prompts, test, settings) != "done":
            status = 1
    if settings.get("sweep"):
        for test in sweep_tests(settings["sweep"]):
            end = attempt(engine, prompts, test, settings)
            if end in ("out_of_memory", "no_room"):
                break
            if end == "failed":
                status = 1
                break
    memory("T3")
    engine.close()
    memory("T4")
    LINES.write(kind="end")
    return status


if __name__ == "__main__":
    # Engines start processes that import this file anew; they must not open the files of this one.
    with open(os.path.join(HERE, "settings.json"), encoding="utf-8") as file:
        given = json.load(file)
    LINES = Lines("iterations.jsonl")
    REQUESTS = Later("requests.jsonl")
    code = run(given)
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)
