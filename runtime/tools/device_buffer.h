// DeviceBuffer is device memory with guard bytes before and after, which show whether anybody wrote
// past its ends. All calls are synchronous. Not thread-safe. REQUIRES: the session outlives it.
#ifndef FUSEBOX_RUNTIME_TOOLS_DEVICE_BUFFER_H_
#define FUSEBOX_RUNTIME_TOOLS_DEVICE_BUFFER_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/driver/handles.h"
#include "runtime/tools/gpu_session.h"

namespace fusebox {

class DeviceBuffer {
 public:
  static constexpr size_t kGuardBytes = 4096;  // keeps the alignment of cuMemAlloc, 256 bytes
  static constexpr uint8_t kGuardByte = 0xa5;

  // `name` is for messages. A buffer of 0 bytes has guards too.
  static absl::StatusOr<DeviceBuffer> Make(const GpuSession& session, std::string name,
                                           size_t bytes);

  CUdeviceptr address() const { return memory_.get() + kGuardBytes; }
  template <typename Element = void>
  Element* as() const {
    return reinterpret_cast<Element*>(address());
  }
  size_t bytes() const { return bytes_; }

  absl::Status Fill(uint8_t byte) const { return FillRange(0, bytes_, byte); }
  absl::Status FillRange(size_t offset, size_t bytes, uint8_t byte) const;
  absl::Status Upload(const void* from, size_t offset, size_t bytes) const;
  absl::Status Download(void* to, size_t offset, size_t bytes) const;
  // Internal, naming buffer and offset, when a guard byte was changed.
  absl::Status CheckGuards() const;

  template <typename Element>
  absl::Status UploadAll(const std::vector<Element>& values) const {
    return Upload(values.data(), 0, values.size() * sizeof(Element));
  }
  template <typename Element>
  absl::StatusOr<std::vector<Element>> DownloadAll() const {
    std::vector<Element> values(bytes_ / sizeof(Element));
    const absl::Status status = Download(values.data(), 0, values.size() * sizeof(Element));
    if (!status.ok()) return status;
    return values;
  }

 private:
  DeviceBuffer(const GpuSession* session, std::string name, size_t bytes, UniqueMemory memory)
      : session_(session), name_(std::move(name)), bytes_(bytes), memory_(std::move(memory)) {}

  const GpuSession* session_;
  std::string name_;
  size_t bytes_;
  UniqueMemory memory_;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_DEVICE_BUFFER_H_
