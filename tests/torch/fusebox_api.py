"""The C API for Python: the structs of include/fusebox mirrored field by field, and its objects.

api_mirror_test.py holds the mirror to the headers. An engine, op or binding is destroyed by
close(); whoever made it keeps what it was made of alive.
"""

import ctypes
from ctypes import (POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32,
                    c_void_p)

OK, DECLINED, NOT_READY = 0, 1, 2
DTYPES = {"bf16": 1, "fp16": 2}
ACTIVATIONS = {"silu": 1, "gelu_erf": 2, "relu": 3, "gelu_tanh": 4, "relu_squared": 5,
               "gelu_new": 6}
GATE_UP = {"fused": 0, "reversed": 1, "separate": 2}
LAYOUTS = {"out_in": 0, "in_out": 1}
NORMS = {"none": 0, "rms": 1, "rms_plus_one": 2, "layer": 3}
RESIDUAL_MODES = {"none": 0, "add_before_norm": 1, "add_after": 2, "sandwich": 3}
ROUNDINGS = {"vllm": 0, "hf": 1}
BIAS_UP, BIAS_DOWN = 1, 2
COMPILE_NEVER = 3
PREPARE_BLOCK, PREPARE_BACKGROUND = 1, 2
LOG_OFF = 6
SWITCH_OFF = 2

# Header name of every constant above.
CONSTANTS = {
    "FUSEBOX_OK": OK, "FUSEBOX_DECLINED": DECLINED, "FUSEBOX_NOT_READY": NOT_READY,
    "FUSEBOX_BIAS_UP": BIAS_UP, "FUSEBOX_BIAS_DOWN": BIAS_DOWN,
    "FUSEBOX_COMPILE_NEVER": COMPILE_NEVER,
    "FUSEBOX_PREPARE_BLOCK": PREPARE_BLOCK, "FUSEBOX_PREPARE_BACKGROUND": PREPARE_BACKGROUND,
    "FUSEBOX_LOG_OFF": LOG_OFF, "FUSEBOX_SWITCH_OFF": SWITCH_OFF,
    **{f"FUSEBOX_{prefix}_{name.upper()}": value
       for prefix, values in (("DTYPE", DTYPES), ("ACTIVATION", ACTIVATIONS), ("GATE_UP", GATE_UP),
                              ("LAYOUT", LAYOUTS), ("NORM", NORMS), ("RESIDUAL", RESIDUAL_MODES),
                              ("ROUNDING", ROUNDINGS))
       for name, value in values.items()},
}


class EngineOptions(ctypes.Structure):
    NAME = "fusebox_engine_options"
    _fields_ = [("struct_size", c_size_t), ("device_ordinal", c_int32),
                ("device_profile", c_char_p), ("cache_dirs", c_char_p),
                ("compile_mode", c_int32), ("compile_threads", c_int32), ("pdl", c_int32),
                ("log_level", c_int32), ("log_callback", c_void_p), ("log_user", c_void_p),
                ("decline_slower", c_int32)]


class FfnDesc(ctypes.Structure):
    NAME = "fusebox_ffn_desc"
    _fields_ = [("struct_size", c_size_t), ("hidden", c_int64), ("intermediate", c_int64),
                ("dtype", c_int32), ("activation", c_int32), ("gated", c_int32),
                ("gate_up", c_int32), ("layout", c_int32), ("biases", c_uint32), ("norm", c_int32),
                ("residual_mode", c_int32), ("rounding", c_int32), ("max_tokens", c_int32),
                ("flags", c_uint32)]


class FfnWeights(ctypes.Structure):
    NAME = "fusebox_ffn_weights"
    _fields_ = [("struct_size", c_size_t), ("gate_up", c_void_p), ("gate_up_ld", c_int64),
                ("gate", c_void_p), ("gate_ld", c_int64), ("up", c_void_p), ("up_ld", c_int64),
                ("down", c_void_p), ("down_ld", c_int64), ("gate_up_bias", c_void_p),
                ("gate_bias", c_void_p), ("up_bias", c_void_p), ("down_bias", c_void_p),
                ("norm_weight", c_void_p), ("norm_bias", c_void_p),
                ("second_norm_weight", c_void_p), ("eps", c_double)]


class FfnArgs(ctypes.Structure):
    NAME = "fusebox_ffn_args"
    _fields_ = [("struct_size", c_size_t), ("tokens", c_int32), ("flags", c_uint32),
                ("x", c_void_p), ("x_stride", c_int64), ("residual", c_void_p),
                ("residual_stride", c_int64), ("y", c_void_p), ("y_stride", c_int64),
                ("workspace", c_void_p), ("workspace_bytes", c_size_t),
                ("residual_out", c_void_p), ("residual_out_stride", c_int64)]


STRUCTS = (EngineOptions, FfnDesc, FfnWeights, FfnArgs)

# Parameters of the functions used here; each returns a status but for the three of strings.
FUNCTIONS = {
    "fusebox_version": [],
    "fusebox_status_string": [c_int32],
    "fusebox_last_error_message": [],
    "fusebox_engine_create": [POINTER(EngineOptions), POINTER(c_void_p)],
    "fusebox_engine_destroy": [c_void_p],
    "fusebox_engine_wait": [c_void_p, c_int64],
    "fusebox_ffn_create": [c_void_p, POINTER(FfnDesc), POINTER(c_void_p)],
    "fusebox_op_prepare": [c_void_p, POINTER(c_int32), c_size_t, c_int32],
    "fusebox_op_workspace_size": [c_void_p, c_int32, POINTER(c_size_t)],
    "fusebox_workspace_init": [c_void_p, c_void_p, c_size_t, c_void_p],
    "fusebox_op_destroy": [c_void_p],
    "fusebox_ffn_bind": [c_void_p, POINTER(FfnWeights), POINTER(c_void_p)],
    "fusebox_binding_destroy": [c_void_p],
    "fusebox_ffn_launch": [c_void_p, POINTER(FfnArgs), c_void_p],
}


class Declined(Exception):
    """A rule declined; the message begins with the rule's name."""


class Failed(Exception):
    """Any other status than OK."""


def sized(struct, **fields):
    return struct(struct_size=ctypes.sizeof(struct), **fields)


class Library:
    def __init__(self, path):
        self.functions = ctypes.CDLL(str(path))
        for name, parameters in FUNCTIONS.items():
            function = getattr(self.functions, name)
            function.argtypes = parameters
            function.restype = c_int32
        for name in ("fusebox_version", "fusebox_status_string", "fusebox_last_error_message"):
            getattr(self.functions, name).restype = c_char_p

    def version(self):
        return self.functions.fusebox_version().decode()

    def call(self, name, *arguments):
        status = getattr(self.functions, name)(*arguments)
        if status == OK:
            return
        sentence = self.functions.fusebox_last_error_message().decode()
        if status == DECLINED:
            raise Declined(sentence)
        code = self.functions.fusebox_status_string(status).decode()
        raise Failed(f"{name} answered {code}: {sentence}")

    def made(self, name, *arguments):
        """The handle that a call leaves in its last parameter."""
        handle = c_void_p()
        self.call(name, *arguments, byref(handle))
        return handle


class Engine:
    def __init__(self, library, **options):
        self.library = library
        self.handle = library.made("fusebox_engine_create", byref(sized(EngineOptions, **options)))

    def wait(self):
        self.library.call("fusebox_engine_wait", self.handle, -1)

    def close(self):
        self.library.call("fusebox_engine_destroy", self.handle)


class Op:
    def __init__(self, engine, **desc):
        self.library = engine.library
        self.handle = self.library.made("fusebox_ffn_create", engine.handle,
                                        byref(sized(FfnDesc, **desc)))

    def prepare(self, tokens, mode=PREPARE_BLOCK):
        self.library.call("fusebox_op_prepare", self.handle, (c_int32 * len(tokens))(*tokens),
                          len(tokens), mode)

    def workspace_bytes(self):
        size = c_size_t()
        self.library.call("fusebox_op_workspace_size", self.handle, 0, byref(size))
        return size.value

    def init_workspace(self, workspace, workspace_bytes, stream):
        self.library.call("fusebox_workspace_init", self.handle, workspace, workspace_bytes, stream)

    def close(self):
        self.library.call("fusebox_op_destroy", self.handle)


class Binding:
    def __init__(self, op, **weights):
        self.library = op.library
        self.handle = self.library.made("fusebox_ffn_bind", op.handle,
                                        byref(sized(FfnWeights, **weights)))

    def launch(self, stream, **arguments):
        self.library.call("fusebox_ffn_launch", self.handle, byref(sized(FfnArgs, **arguments)),
                          stream)

    def close(self):
        self.library.call("fusebox_binding_destroy", self.handle)
