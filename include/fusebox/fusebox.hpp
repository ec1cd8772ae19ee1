// C++ wrapper of fusebox.h, one to one: RAII handles, statuses returned, nothing thrown, nothing
// allocated by itself. Handles are move-only and destroy what they own; the order of destruction
// does not matter. Header-only, C++17.
#ifndef FUSEBOX_FUSEBOX_HPP_
#define FUSEBOX_FUSEBOX_HPP_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "fusebox/fusebox.h"

namespace fusebox::api {

// A code; converts to true when it is OK.
class [[nodiscard]] Status {
 public:
  Status(fusebox_status code) noexcept : code_(code) {}  // NOLINT(google-explicit-constructor)
  explicit operator bool() const noexcept { return code_ == FUSEBOX_OK; }
  fusebox_status code() const noexcept { return code_; }
  const char* name() const noexcept { return fusebox_status_string(code_); }

 private:
  fusebox_status code_;
};

inline const char* Version() noexcept { return fusebox_version(); }  // of the library, "0.2.0"
// About the last call on this thread that was not OK.
inline const char* LastErrorMessage() noexcept { return fusebox_last_error_message(); }

// The C structs with struct_size set and every other field zero.
template <typename Struct>
Struct Sized() noexcept {
  Struct sized{};
  sized.struct_size = sizeof(Struct);
  return sized;
}
inline fusebox_engine_options EngineOptions() noexcept { return Sized<fusebox_engine_options>(); }
inline fusebox_ffn_desc FfnDesc() noexcept { return Sized<fusebox_ffn_desc>(); }
inline fusebox_ffn_weights FfnWeights() noexcept { return Sized<fusebox_ffn_weights>(); }
inline fusebox_ffn_args FfnArgs() noexcept { return Sized<fusebox_ffn_args>(); }

// Owner of a C handle.
template <typename Handle, fusebox_status (*kDestroy)(Handle*) FUSEBOX_NOEXCEPT>
class Owner {
 public:
  Owner() noexcept = default;
  ~Owner() { (void)kDestroy(handle_); }
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    if (this != &other) {
      (void)kDestroy(handle_);
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  Handle* get() const noexcept { return handle_; }
  Handle* release() noexcept { return std::exchange(handle_, nullptr); }

 protected:
  // Takes over what a successful `create(&handle)` made; keeps what it has when it fails.
  template <typename CreateFunction>
  Status Take(CreateFunction create) noexcept {
    Handle* made = nullptr;
    const Status status = create(&made);
    if (status) {
      (void)kDestroy(handle_);
      handle_ = made;
    }
    return status;
  }

 private:
  Handle* handle_ = nullptr;
};

class Engine : public Owner<fusebox_engine, fusebox_engine_destroy> {
 public:
  Status Create(const fusebox_engine_options* options = nullptr) noexcept {
    return Take([&](fusebox_engine** out) { return fusebox_engine_create(options, out); });
  }
  Status Freeze() noexcept { return fusebox_engine_freeze(get()); }
  Status Wait(std::int64_t timeout_ms = -1) noexcept {
    return fusebox_engine_wait(get(), timeout_ms);
  }
  Status Stats(fusebox_engine_stats_values* out) const noexcept {
    return fusebox_engine_stats(get(), out);
  }
  Status StatsText(char* buffer, std::size_t bytes, std::size_t* needed = nullptr) const noexcept {
    return fusebox_engine_stats_text(get(), buffer, bytes, needed);
  }
};

class Op : public Owner<fusebox_op, fusebox_op_destroy> {
 public:
  Status CreateFfn(const Engine& engine, const fusebox_ffn_desc& desc) noexcept {
    return Take([&](fusebox_op** out) { return fusebox_ffn_create(engine.get(), &desc, out); });
  }
  Status Prepare(const std::int32_t* tokens, std::size_t num_tokens,
                 fusebox_prepare_mode mode = FUSEBOX_PREPARE_DEFAULT) noexcept {
    return fusebox_op_prepare(get(), tokens, num_tokens, mode);
  }
  Status IsReady(std::int32_t tokens, std::int32_t* out) const noexcept {
    return fusebox_op_is_ready(get(), tokens, out);
  }
  Status WorkspaceSize(std::int32_t max_tokens, std::size_t* out_bytes) const noexcept {
    return fusebox_op_workspace_size(get(), max_tokens, out_bytes);
  }
  Status InitWorkspace(void* workspace, std::size_t bytes, CUstream_st* stream) const noexcept {
    return fusebox_workspace_init(get(), workspace, bytes, stream);
  }
  Status PlanJson(std::int32_t tokens, char* buffer, std::size_t bytes,
                  std::size_t* needed = nullptr) const noexcept {
    return fusebox_op_plan_json(get(), tokens, buffer, bytes, needed);
  }
};

class Binding : public Owner<fusebox_binding, fusebox_binding_destroy> {
 public:
  Status BindFfn(const Op& op, const fusebox_ffn_weights& weights) noexcept {
    return Take([&](fusebox_binding** out) { return fusebox_ffn_bind(op.get(), &weights, out); });
  }
  Status LaunchFfn(const fusebox_ffn_args& args, CUstream_st* stream) const noexcept {
    return fusebox_ffn_launch(get(), &args, stream);
  }
};

}  // namespace fusebox::api

#endif  // FUSEBOX_FUSEBOX_HPP_
