"""The feed-forward block of a layer as an engine runs it: its own modules and operations, in the
model's dtype, on weights in the engine's own form.

  HuggingFaceBlock  transformers' decoder layer itself, with an attention that gives zeros: norm,
                    projections, activation and residual are the layer's own code
  VllmBlock         vLLM's operations one by one, as its CUDA kernels compute and round them; vLLM
                    need not be installed

Both say what they would hand to Fusebox: `weight_pointers` are the engine's own tensors.
"""

import importlib
import json
import pathlib
from typing import NamedTuple

import torch
import torch.nn.functional as F

from block_sequence import Block

MODELS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "models"


class Family(NamedTuple):
    """What an engine knows of a kind of model; field names are those of its config.json."""
    module: str  # transformers.models.<module>
    layer: str
    norm: str
    gated: bool = True
    hidden: str = "hidden_size"
    intermediate: str = "intermediate_size"  # missing: four times hidden
    activation: str = "hidden_act"
    eps: str = "rms_norm_eps"
    sandwich: bool = False
    in_out: bool = False  # transformers keeps the weights [in, out]


FAMILIES = {
    "llama": Family("llama.modeling_llama", "LlamaDecoderLayer", "rms"),
    "qwen2": Family("qwen2.modeling_qwen2", "Qwen2DecoderLayer", "rms"),
    "gemma2": Family("gemma2.modeling_gemma2", "Gemma2DecoderLayer", "rms_plus_one",
                     activation="hidden_activation", sandwich=True),
    "opt": Family("opt.modeling_opt", "OPTDecoderLayer", "layer", gated=False,
                  intermediate="ffn_dim", activation="activation_function", eps=""),
    "gpt2": Family("gpt2.modeling_gpt2", "GPT2Block", "layer", gated=False, hidden="n_embd",
                   intermediate="n_inner", activation="activation_function",
                   eps="layer_norm_epsilon", in_out=True),
}

# Names of transformers. vLLM's gelu_new computes in fp32 and rounds once (README.md).
ACTIVATIONS = {"silu": "silu", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu",
               "gelu_new": "gelu_new"}

# A layer's parameters as transformers names them.
PARAMETERS = {
    "gated": {"gate": "mlp.gate_proj.weight", "up": "mlp.up_proj.weight",
              "down": "mlp.down_proj.weight"},
    "opt": {"up": "fc1.weight", "up_bias": "fc1.bias", "down": "fc2.weight",
            "down_bias": "fc2.bias", "norm_weight": "final_layer_norm.weight",
            "norm_bias": "final_layer_norm.bias"},
    "gpt2": {"up": "mlp.c_fc.weight", "up_bias": "mlp.c_fc.bias", "down": "mlp.c_proj.weight",
             "down_bias": "mlp.c_proj.bias", "norm_weight": "ln_2.weight",
             "norm_bias": "ln_2.bias"},
}
PARAMETERS["llama"] = PARAMETERS["qwen2"] = PARAMETERS["gated"] | {
    "norm_weight": "post_attention_layernorm.weight"}
PARAMETERS["gemma2"] = PARAMETERS["gated"] | {
    "norm_weight": "pre_feedforward_layernorm.weight",
    "second_norm_weight": "post_feedforward_layernorm.weight"}


def read_config(model):
    return json.loads((MODELS / f"{model}.json").read_text(encoding="utf-8"))


def block_of(config, engine):
    """The block as `engine` asks for it: "hf" or "vllm"."""
    family = FAMILIES[config["model_type"]]
    hidden = config[family.hidden]
    activation = ACTIVATIONS[config[family.activation]]
    if family.norm == "layer" or engine == "hf":
        residual_mode = "sandwich" if family.sandwich else "add_after"
    else:
        residual_mode = "add_before_norm"  # a second norm is the engine's own
    if engine == "vllm" and activation == "gelu_new":
        activation = "gelu_tanh"
    return Block(hidden, config.get(family.intermediate) or 4 * hidden, family.gated, activation,
                 family.norm, residual_mode, config[family.eps] if family.eps else 1e-5)


def random_weights(block, dtype, device, generator):
    """[out, in], of a scale that keeps every intermediate value and the block's result near 1."""
    def drawn(*shape, spread, centre=0.0):
        values = torch.randn(*shape, device=device, generator=generator)
        return (values * spread + centre).to(dtype)
    hidden, intermediate = block.hidden, block.intermediate
    centre = 0.0 if block.norm == "rms_plus_one" else 1.0
    weights = {"up": drawn(intermediate, hidden, spread=hidden**-0.5),
               "down": drawn(hidden, intermediate, spread=2.0 * intermediate**-0.5),
               "norm_weight": drawn(hidden, spread=0.1, centre=centre)}
    if block.gated:
        weights["gate"] = drawn(intermediate, hidden, spread=hidden**-0.5)
    if block.norm == "layer":
        weights |= {"norm_bias": drawn(hidden, spread=0.1),
                    "up_bias": drawn(intermediate, spread=0.1),
                    "down_bias": drawn(hidden, spread=0.1)}
    if block.norm == "rms_plus_one":
        weights["second_norm_weight"] = drawn(hidden, spread=0.1)
    return weights


class SilentAttention(torch.nn.Module):
    """Adds nothing: the residual that the block sees is the layer's input."""

    def forward(self, hidden_states, **_):
        return torch.zeros_like(hidden_states), None


class HuggingFaceBlock:
    gate_up = "separate"

    def __init__(self, config, block, weights):
        from transformers import AutoConfig

        family = FAMILIES[config["model_type"]]
        fields = {name: value for name, value in config.items() if name != "model_type"}
        model_config = AutoConfig.for_model(config["model_type"], **fields)
        module = importlib.import_module(f"transformers.models.{family.module}")
        dtype, device = weights["up"].dtype, weights["up"].device
        with torch.device("meta"):
            self.layer = getattr(module, family.layer)(model_config, layer_idx=0)
        setattr(self.layer, "attn" if family.module.startswith("gpt2") else "self_attn",
                SilentAttention())
        self.layer = self.layer.to(dtype).to_empty(device=device).eval().requires_grad_(False)
        parameters = dict(self.layer.named_parameters())
        for parameter in parameters.values():
            parameter.zero_()  # of the norms around the attention
        self.layout = "in_out" if family.in_out else "out_in"
        self.weight_pointers = {}
        for name, path in PARAMETERS[config["model_type"]].items():
            is_turned = family.in_out and weights[name].dim() == 2
            parameters[path].copy_(weights[name].t() if is_turned else weights[name])
            self.weight_pointers[name] = parameters[path]

    def __call__(self, x, residual):
        """y of one new token for each of the sequences; this engine's residual is x."""
        y = self.layer(x.unsqueeze(1))
        return (y[0] if isinstance(y, tuple) else y).squeeze(1), None


def rms_norm(x, weight, eps):
    """rms_norm and fused_add_rms_norm: rounded, then times the weight in the dtype."""
    wide = x.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return wide.to(x.dtype) * weight


def gemma_rms_norm(x, weight, eps):
    """GemmaRMSNorm: times 1 + w in fp32, then rounded."""
    wide = x.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return (wide * (1.0 + weight.float())).to(x.dtype)


ACTIVATION_FUNCTIONS = {"silu": F.silu, "relu": F.relu,
                        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}


class VllmBlock:
    gate_up = "fused"
    layout = "out_in"

    def __init__(self, config, block, weights):
        self.block = block
        self.activation = ACTIVATION_FUNCTIONS[block.activation]
        self.weight_pointers = {name: weight for name, weight in weights.items()
                                if name not in ("gate", "up", "second_norm_weight")}
        if block.gated:  # MergedColumnParallelLinear
            self.weight_pointers["gate_up"] = torch.cat([weights["gate"], weights["up"]])
        else:
            self.weight_pointers["up"] = weights["up"]

    def __call__(self, x, residual):
        weights, block = self.weight_pointers, self.block
        if block.norm == "layer":
            normalized = F.layer_norm(x, (block.hidden,), weights["norm_weight"],
                                      weights["norm_bias"], block.eps)
            h = self.activation(F.linear(normalized, weights["up"], weights["up_bias"]))
            return x + F.linear(h, weights["down"], weights["down_bias"]), None
        residual_out = x + residual
        norm = gemma_rms_norm if block.norm == "rms_plus_one" else rms_norm
        normalized = norm(residual_out, weights["norm_weight"], block.eps)
        gate, up = F.linear(normalized, weights["gate_up"]).chunk(2, -1)
        h = self.activation(gate) * up  # SiluAndMul, GeluAndMul: rounded, then times up
        return F.linear(h, weights["down"]), residual_out


ENGINES = {"hf": HuggingFaceBlock, "vllm": VllmBlock}


def unserved_by_engine(config, engine, dtype):
    """Why the engine itself does not run this, or None."""
    if engine == "vllm" and config["model_type"] == "gemma2" and dtype == "fp16":
        return "vLLM refuses Gemma 2 in float16"
    return None
