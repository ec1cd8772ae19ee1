"""One case: an engine's block, and Fusebox's op on the engine's weights, launched as engines do."""

import contextlib

import torch

import engine_blocks
import fusebox_api

DEVICE = "cuda"
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Case:
    """One model, engine and dtype: the engine's block, and Fusebox's op on its weights."""

    def __init__(self, fusebox, model, engine, dtype):
        self.model, self.engine, self.dtype = model, engine, dtype
        self.config = engine_blocks.read_config(model)
        self.block = engine_blocks.block_of(self.config, engine)
        self.note = engine_blocks.unserved_by_engine(self.config, engine, dtype)
        self.op = None
        if self.note is None:
            self.make_op(fusebox)

    def make_op(self, fusebox):
        engine_class = engine_blocks.ENGINES[self.engine]
        in_out = engine_blocks.FAMILIES[self.config["model_type"]].in_out and self.engine == "hf"
        self.layout = "in_out" if in_out else "out_in"
        desc = {
            "hidden": self.block.hidden, "intermediate": self.block.intermediate,
            "dtype": fusebox_api.DTYPES[self.dtype], "gated": int(self.block.gated),
            "activation": fusebox_api.ACTIVATIONS[self.block.activation],
            "gate_up": fusebox_api.GATE_UP[engine_class.gate_up if self.block.gated else "fused"],
            "norm": fusebox_api.NORMS[self.block.norm],
            "residual_mode": fusebox_api.RESIDUAL_MODES[self.block.residual_mode],
            "rounding": fusebox_api.ROUNDINGS[self.engine]}
        if self.block.norm == "layer":
            desc["biases"] = fusebox_api.BIAS_UP | fusebox_api.BIAS_DOWN
        for limit in sorted(fusebox.tokens, reverse=True):
            try:
                self.op = self.op_of_layout(fusebox, desc | {"max_tokens": limit})
            except fusebox_api.Declined as declined:
                self.note = str(declined)
                continue
            break

    def op_of_layout(self, fusebox, desc):
        try:
            return fusebox_api.Op(fusebox.engine, layout=fusebox_api.LAYOUTS[self.layout], **desc)
        except fusebox_api.Declined as declined:
            if self.layout != "in_out" or not str(declined).startswith("layout"):
                raise
            self.layout = "out_in"
            return fusebox_api.Op(fusebox.engine, **desc)

    def queue(self, tokens):
        """Compiles in the background what is served; what is not declines again later."""
        for count in tokens:
            with contextlib.suppress(fusebox_api.Declined):
                self.op.prepare([count], fusebox_api.PREPARE_BACKGROUND)

    def start(self, device, rows, seed):
        generator = torch.Generator(device).manual_seed(seed)
        dtype = DTYPES[self.dtype]
        weights = engine_blocks.random_weights(self.block, dtype, device, generator)
        self.engine_block = engine_blocks.ENGINES[self.engine](self.config, self.block, weights)
        self.exact_weights = {name: weight.double() for name, weight in weights.items()}
        self.x, self.residual = (
            torch.randn(rows, self.block.hidden, device=device, generator=generator).to(dtype)
            for _ in range(2))
        self.bound_tensors = dict(self.engine_block.weight_pointers)  # kept as long as the binding
        if self.layout != self.engine_block.layout:
            for name in ("up", "down"):
                self.bound_tensors[name] = self.bound_tensors[name].t().contiguous()
        self.binding = fusebox_api.Binding(self.op, eps=self.block.eps, **{
            name: tensor.data_ptr() for name, tensor in self.bound_tensors.items()})

    def close(self):
        self.binding.close()
        self.op.close()
        del self.engine_block, self.exact_weights, self.bound_tensors


class Fusebox:
    """The library, an engine for the current GPU, and a stream and workspace of our own."""

    def __init__(self, path, tokens):
        self.library = fusebox_api.Library(path)
        self.tokens = tokens
        self.engine = fusebox_api.Engine(self.library, device_ordinal=torch.cuda.current_device(),
                                         compile_threads=8,
                                         decline_slower=fusebox_api.SWITCH_OFF)
        self.stream = torch.cuda.Stream()

    def reserve(self, ops):
        size = max(op.workspace_bytes() for op in ops)
        self.workspace = torch.empty(size, dtype=torch.uint8, device=DEVICE)
        torch.cuda.synchronize()
        ops[0].init_workspace(self.workspace.data_ptr(), size, self.stream.cuda_stream)

    def launch(self, case, tokens):
        """y and residual_out, from buffers of NaN."""
        y, residual_out = (torch.full((tokens, case.block.hidden), float("nan"),
                                      dtype=case.x.dtype, device=DEVICE) for _ in range(2))
        arguments = {"tokens": tokens, "x": case.x.data_ptr(), "y": y.data_ptr(),
                     "workspace": self.workspace.data_ptr(),
                     "workspace_bytes": self.workspace.numel()}
        if case.block.residual_mode == "add_before_norm":
            arguments |= {"residual": case.residual.data_ptr(),
                          "residual_out": residual_out.data_ptr()}
        torch.cuda.synchronize()
        case.binding.launch(self.stream.cuda_stream, **arguments)
        torch.cuda.synchronize()
        return y, residual_out
