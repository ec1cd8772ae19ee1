"""What the baselines compute: the dims, form and activation of feed-forward blocks.

Read from a Hugging Face config.json, or from a shape file as bench/flashfuser/shapes.json. Needs no
PyTorch, so that a test can hold it to what `fusebox plan` reads of the same files.
"""

import dataclasses
import json

# As `fusebox` names them, of the names that configs have.
ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "gelu": "gelu_erf", "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu",
}

# Families whose blocks are plain, and those whose configs leave the activation to the code.
PLAIN = {"bloom", "falcon", "gpt2", "gpt_neox", "gptj", "opt", "phi"}
GATED = {"chatglm", "gemma", "gemma2", "gemma3_text", "internlm2", "llama", "mistral", "phi3",
         "qwen2", "qwen3", "stablelm"}
OWN_ACTIVATION = {"bloom": "gelu_tanh", "chatglm": "silu", "falcon": "gelu_erf",
                  "gemma": "gelu_tanh"}  # transformers' GemmaMLP, whatever hidden_act says


class NoBlock(Exception):
    """The file names no block that the baselines can compute."""


@dataclasses.dataclass(frozen=True)
class Block:
    model: str  # the config's file name, or the shape's name
    hidden: int
    intermediate: int
    is_gated: bool
    activation: str

    def op(self):
        """The op's name in a results file, without variant."""
        form = "gated" if self.is_gated else "plain"
        return f"ffn_{form}_{self.activation}_bf16_h{self.hidden}_i{self.intermediate}"


def first_of(config, names):
    """The first of these fields that is there and is not null."""
    return next((config[name] for name in names if config.get(name) is not None), None)


def block_of_config(path):
    """The block of a dense model's config.json."""
    config = json.loads(path.read_text(encoding="utf-8"))
    config = config.get("text_config", config)  # of a model that also sees
    family = config.get("model_type")
    if family not in PLAIN | GATED:
        raise NoBlock(f"{path.name}: a {family} has no single dense block that is known here; "
                      "name its dims in a shape file")
    hidden = first_of(config, ["hidden_size", "n_embd"])
    intermediate = first_of(config, ["intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner"])
    name = first_of(config, ["hidden_activation", "hidden_act", "activation_function"])
    activation = OWN_ACTIVATION.get(family) or ACTIVATIONS.get(name)
    if hidden is None or activation is None:
        raise NoBlock(f"{path.name}: hidden size {hidden}, activation {name}: one is not known")
    return Block(path.name, hidden, intermediate or 4 * hidden, family in GATED, activation)


def blocks_of_shapes(path):
    return [Block(shape["name"], shape["hidden"], shape["intermediate"], shape["form"] == "gated",
                  shape["activation"])
            for shape in json.loads(path.read_text(encoding="utf-8"))]
