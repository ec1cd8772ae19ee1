#include "runtime/tools/device_buffer.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace fusebox {

absl::StatusOr<DeviceBuffer> DeviceBuffer::Make(const GpuSession& session, std::string name,
                                                size_t bytes) {
  CUdeviceptr memory = 0;
  FUSEBOX_RETURN_IF_ERROR(
      session.Check(session.api().MemAlloc(&memory, bytes + 2 * kGuardBytes),
                    absl::StrCat("cuMemAlloc(", bytes, " bytes for ", name, ")")));
  DeviceBuffer buffer(&session, std::move(name), bytes, UniqueMemory(session.shared_api(), memory));
  FUSEBOX_RETURN_IF_ERROR(
      session.Check(session.api().MemsetD8Async(memory, kGuardByte, kGuardBytes, session.stream()),
                    "cuMemsetD8Async"));
  FUSEBOX_RETURN_IF_ERROR(
      session.Check(session.api().MemsetD8Async(memory + kGuardBytes + bytes, kGuardByte,
                                                kGuardBytes, session.stream()),
                    "cuMemsetD8Async"));
  FUSEBOX_RETURN_IF_ERROR(session.Synchronize());
  return buffer;
}

absl::Status DeviceBuffer::FillRange(size_t offset, size_t bytes, uint8_t byte) const {
  FUSEBOX_RETURN_IF_ERROR(session_->Check(
      session_->api().MemsetD8Async(address() + offset, byte, bytes, session_->stream()),
      "cuMemsetD8Async"));
  return session_->Synchronize();
}

absl::Status DeviceBuffer::Upload(const void* from, size_t offset, size_t bytes) const {
  if (bytes == 0) return absl::OkStatus();
  return session_->Check(session_->api().MemcpyHtoD(address() + offset, from, bytes),
                         "cuMemcpyHtoD");
}

absl::Status DeviceBuffer::Download(void* to, size_t offset, size_t bytes) const {
  if (bytes == 0) return absl::OkStatus();
  return session_->Check(session_->api().MemcpyDtoH(to, address() + offset, bytes), "cuMemcpyDtoH");
}

absl::Status DeviceBuffer::CheckGuards() const {
  const std::array<CUdeviceptr, 2> guards = {memory_.get(), address() + bytes_};
  for (size_t i = 0; i < guards.size(); ++i) {
    std::array<uint8_t, kGuardBytes> found;
    FUSEBOX_RETURN_IF_ERROR(session_->Check(
        session_->api().MemcpyDtoH(found.data(), guards[i], found.size()), "cuMemcpyDtoH"));
    for (size_t k = 0; k < found.size(); ++k) {
      if (found[k] == kGuardByte) continue;
      const auto offset = i == 0 ? static_cast<int64_t>(k) - static_cast<int64_t>(kGuardBytes)
                                 : static_cast<int64_t>(bytes_ + k);
      return absl::InternalError(
          absl::StrCat("guard: byte ", offset, " of ", name_, " (", bytes_, " bytes) was written"));
    }
  }
  return absl::OkStatus();
}

}  // namespace fusebox
