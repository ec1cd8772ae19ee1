#!/usr/bin/env python3
"""What a user has without Fusebox: ffn blocks through PyTorch.

  cuBLAS         merged gate_up GEMM, activation, product, down GEMM, in a CUDA graph: three kernels
                 of a plain block, four of a gated one
  torch.compile  the same under mode max-autotune-no-cudagraphs, in a CUDA graph (with --compile;
                 minutes)
  eager          the operations of cuBLAS without a graph, one call after another (with --eager): at
                 few tokens that is the CPU's time

Launches rotate over weight copies that together exceed L2 (600 MB, at least 4, at most 64), as
`fusebox bench` does; a figure is the median of replays. Writes JSON:
  {gpu, torch, cuda, date, rows: [{model, hidden, intermediate, tokens, baselines: {name: us}}]}
"""

import argparse
import datetime
import functools
import json
import pathlib
import sys

import torch
import torch.nn.functional as F

import ffn_dims

ROTATION_BYTES = 600e6
MIN_LAUNCHES = 64  # of a graph, so that its own launch does not count
WARM_UP_REPLAYS = 3

FUNCTIONS = {
    "silu": F.silu,
    "gelu_erf": F.gelu,
    "gelu_tanh": functools.partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "relu_squared": lambda h: F.relu(h).square(),
}


class Layers:
    """Copies of one block's weights, and inputs."""

    def __init__(self, hidden, intermediate, gated):
        up_rows = (2 if gated else 1) * intermediate
        copy_bytes = 2 * hidden * (up_rows + intermediate)
        copies = max(4, min(64, int(ROTATION_BYTES / copy_bytes) + 1))
        options = {"device": "cuda", "dtype": torch.bfloat16}
        self.up = [torch.randn(up_rows, hidden, **options) * hidden**-0.5 for _ in range(copies)]
        self.down = [torch.randn(hidden, intermediate, **options) * intermediate**-0.5
                     for _ in range(copies)]
        self.launches = copies * -(-MIN_LAUNCHES // copies)

    def weights(self, index):
        return self.up[index % len(self.up)], self.down[index % len(self.down)]


def make_block(activation, gated):
    def block(x, up, down):
        h = F.linear(x, up)
        if gated:
            gate, value = h.chunk(2, -1)
            return F.linear(activation(gate) * value, down)
        return F.linear(activation(h), down)
    return block


def median_us(run, launches, replays):
    """Median us a launch of `run`, which enqueues that many."""
    micros = []
    for replay in range(WARM_UP_REPLAYS + replays):
        start, end = torch.cuda.Event(True), torch.cuda.Event(True)
        start.record()
        run()
        end.record()
        end.synchronize()
        if replay >= WARM_UP_REPLAYS:
            micros.append(start.elapsed_time(end) * 1e3 / launches)
    return sorted(micros)[len(micros) // 2]


def enqueue_all(block, layers, x):
    for index in range(layers.launches):
        block(x, *layers.weights(index))


def time_eager(block, layers, x, replays):
    return median_us(lambda: enqueue_all(block, layers, x), layers.launches, replays)


def time_graph(block, layers, x, replays):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        enqueue_all(block, layers, x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        enqueue_all(block, layers, x)
    return median_us(graph.replay, layers.launches, replays)


def time_block(dims, arguments):
    layers = Layers(dims.hidden, dims.intermediate, dims.is_gated)
    block = make_block(FUNCTIONS[dims.activation], dims.is_gated)
    for tokens in arguments.tokens:
        x = torch.randn(tokens, dims.hidden, device="cuda", dtype=torch.bfloat16)
        baselines = {"cuBLAS": time_graph(block, layers, x, arguments.replays)}
        if arguments.eager:
            baselines["eager"] = time_eager(block, layers, x, arguments.replays)
        if arguments.compile:
            torch._dynamo.reset()
            compiled = torch.compile(block, mode="max-autotune-no-cudagraphs", dynamic=False)
            baselines["torch.compile"] = time_graph(compiled, layers, x, arguments.replays)
        yield {"model": dims.model, "hidden": dims.hidden, "intermediate": dims.intermediate,
               "tokens": tokens,
               "baselines": {name: round(us, 3) for name, us in baselines.items()}}


def read_blocks(arguments):
    try:
        blocks = [ffn_dims.block_of_config(path) for path in arguments.models]
        for path in arguments.shapes:
            blocks += ffn_dims.blocks_of_shapes(path)
    except ffn_dims.NoBlock as error:
        sys.exit(f"ffn_torch: {error}")
    if not blocks:
        sys.exit("ffn_torch: no block is named; give config.json files or --shapes FILE")
    return blocks


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path, help="config.json files")
    parser.add_argument("--shapes", action="append", default=[], type=pathlib.Path,
                        help="JSON array of named dims, as bench/flashfuser/shapes.json")
    parser.add_argument("--tokens", default="1,8,16,32",
                        type=lambda text: [int(count) for count in text.split(",")])
    parser.add_argument("--replays", type=int, default=30)
    parser.add_argument("--compile", action="store_true", help="torch.compile too")
    parser.add_argument("--eager", action="store_true", help="without a graph too")
    parser.add_argument("--json", type=pathlib.Path, help="file to write")
    arguments = parser.parse_args()
    blocks = read_blocks(arguments)
    if not torch.cuda.is_available():
        print("ffn_torch: PyTorch sees no GPU", file=sys.stderr)
        return 3
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False

    results = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
               "cuda": torch.version.cuda,
               "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
               "rows": []}
    for dims in blocks:
        for row in time_block(dims, arguments):
            results["rows"].append(row)
            figures = ", ".join(f"{name} {us:.2f} us" for name, us in row["baselines"].items())
            print(f"{row['model']} M {row['tokens']}: {figures}", flush=True)
            if arguments.json:  # after every row: a time limit loses none that are done
                arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        torch.cuda.empty_cache()
    print(f"{len(results['rows'])} rows on {results['gpu']}, PyTorch {results['torch']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
