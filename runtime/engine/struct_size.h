// ReadStruct copies a C API struct that the caller may have compiled against an older header:
// fields that his struct does not have become 0. A size that no version had, 0 among them, is
// refused. Allocates nothing on success. Pure.
#ifndef FUSEBOX_RUNTIME_ENGINE_STRUCT_SIZE_H_
#define FUSEBOX_RUNTIME_ENGINE_STRUCT_SIZE_H_

#include <cstddef>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "fusebox/ffn.h"
#include "fusebox/fusebox.h"

namespace fusebox {

// sizeof of each version of the struct that was released, the current one last.
template <typename Struct>
struct KnownSizes {
  static constexpr size_t kSizes[] = {sizeof(Struct)};
};

template <>
struct KnownSizes<fusebox_engine_options> {
  static constexpr size_t kSizes[] = {offsetof(fusebox_engine_options, decline_slower),  // 0.3
                                      sizeof(fusebox_engine_options)};
};
template <>
struct KnownSizes<fusebox_ffn_weights> {
  static constexpr size_t kSizes[] = {offsetof(fusebox_ffn_weights, gate_up_bias),  // 0.1
                                      sizeof(fusebox_ffn_weights)};
};
template <>
struct KnownSizes<fusebox_ffn_args> {
  static constexpr size_t kSizes[] = {offsetof(fusebox_ffn_args, residual_out),  // 0.1
                                      sizeof(fusebox_ffn_args)};
};

template <>
struct KnownSizes<fusebox_engine_stats_values> {
  static constexpr size_t kSizes[] = {
      offsetof(fusebox_engine_stats_values, shadow_launches),  // 0.2
      sizeof(fusebox_engine_stats_values)};
};

template <typename Struct>
bool IsKnownSize(size_t struct_size) {
  for (const size_t known : KnownSizes<Struct>::kSizes) {
    if (struct_size == known) return true;
  }
  return false;
}

// `name` is the struct's C name, for the sentence.
template <typename Struct>
absl::Status ReadStruct(const Struct* from, const char* name, Struct* to) {
  if (from == nullptr) return absl::InvalidArgumentError(absl::StrCat(name, " is NULL"));
  const size_t struct_size = from->struct_size;
  if (!IsKnownSize<Struct>(struct_size)) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, "::struct_size is ", struct_size, "; this library knows ", sizeof(Struct),
        ": set it to sizeof(", name, "), and link a library that is not older than the header"));
  }
  *to = Struct{};
  std::memcpy(static_cast<void*>(to), from, struct_size);
  return absl::OkStatus();
}

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_STRUCT_SIZE_H_
