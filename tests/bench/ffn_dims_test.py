#!/usr/bin/env python3
"""The baselines compute the blocks that Fusebox serves: ffn_dims_test.py <fusebox>

For every file of bench/models, and for FlashFuser's shapes, what bench/baselines/ffn_dims.py reads is
what `fusebox plan` names the op by.
"""

import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/baselines"))
import ffn_dims  # pylint: disable=wrong-import-position

FUSEBOX = sys.argv.pop(1) if len(sys.argv) > 1 else sys.exit(__doc__)
EXPERTS_OR_DECLINED = {"deepseek_v2", "deepseek_v3", "gpt_oss", "mixtral", "qwen2_moe", "qwen3_moe"}


def planned_ops(*arguments):
    """Names of the ops, without biases and layouts, which no baseline has."""
    text = subprocess.run([FUSEBOX, "plan", "--gpu", "h200-sxm", "--tokens", "8", "--dtype", "bf16",
                           "--json", *arguments], check=True, capture_output=True, text=True).stdout
    return [op["op"] for op in json.loads(text)]


class FfnDimsTest(unittest.TestCase):
    def test_every_dense_model_is_read_as_the_planner_reads_it(self):
        num_read = 0
        for path in sorted((ROOT / "bench/models").glob("*.json")):
            try:
                block = ffn_dims.block_of_config(path)
            except ffn_dims.NoBlock:
                config = json.loads(path.read_text(encoding="utf-8"))
                self.assertIn(config["model_type"], EXPERTS_OR_DECLINED, path.name)
                continue
            num_read += 1
            op, = planned_ops("--model", str(path), "--engine", "hf", "--bare")
            op = op.replace("gelu_new", "gelu_tanh")  # which PyTorch computes in one kernel
            self.assertTrue((op + "_").startswith(block.op() + "_"), f"{path.name}: {op}")
        self.assertGreater(num_read, 50)

    def test_gpt2_is_read(self):  # its config has n_embd and no intermediate size
        block = ffn_dims.block_of_config(ROOT / "bench/models/openai-community--gpt2.json")
        self.assertEqual(block.op(), "ffn_plain_gelu_tanh_bf16_h768_i3072")

    def test_shapes_are_read_as_the_planner_reads_them(self):
        path = ROOT / "bench/flashfuser/shapes.json"
        names = [block.op() for block in ffn_dims.blocks_of_shapes(path)]
        self.assertEqual(names, planned_ops("--shapes", str(path)))

    def test_a_model_of_experts_is_refused_with_a_sentence(self):
        with self.assertRaisesRegex(ffn_dims.NoBlock, "mixtral has no single dense block"):
            ffn_dims.block_of_config(ROOT / "bench/models/mistralai--Mixtral-8x7B-v0.1.json")


if __name__ == "__main__":
    unittest.main()
