# shellcheck shell=bash disable=SC2034
# Sourced by other scripts: the models that a GPU is checked with, as named in bench/models.

# Every FFN that the kernels must serve.
verified_models=(
  meta-llama--Llama-2-7b-hf meta-llama--Llama-3.1-8B meta-llama--Llama-3.2-1B
  Qwen--Qwen2.5-0.5B Qwen--Qwen2.5-1.5B-Instruct Qwen--Qwen2.5-7B Qwen--Qwen3-0.6B
  Qwen--Qwen3-8B mistralai--Mistral-7B-v0.1 facebook--opt-1.3b EleutherAI--pythia-2.8b)

# What a cache that is built elsewhere is carried for.
carried_models=(meta-llama--Llama-3.1-8B meta-llama--Llama-3.2-1B Qwen--Qwen3-0.6B)
