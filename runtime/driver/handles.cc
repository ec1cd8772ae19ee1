#include "runtime/driver/handles.h"

#include "runtime/driver/cuda_status.h"
#include "src/base/status.h"

namespace fusebox {

void LibraryUnloader::operator()(const DriverApi& api, CUlibrary library) const {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  const bool relaxed = api.ThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
  (void)api.LibraryUnload(library);
  if (relaxed) (void)api.ThreadExchangeStreamCaptureMode(&mode);
}

absl::StatusOr<std::shared_ptr<PrimaryContext>> PrimaryContext::Retain(
    std::shared_ptr<const DriverApi> api, CUdevice device) {
  CUcontext context = nullptr;
  FUSEBOX_RETURN_IF_ERROR(
      CudaStatus(*api, api->DevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain"));
  return std::shared_ptr<PrimaryContext>(new PrimaryContext(std::move(api), device, context));
}

PrimaryContext::PrimaryContext(std::shared_ptr<const DriverApi> api, CUdevice device,
                               CUcontext context)
    : api_(std::move(api)), device_(device), context_(context) {}

PrimaryContext::~PrimaryContext() { (void)api_->DevicePrimaryCtxRelease(device_); }

absl::StatusOr<ScopedContext> ScopedContext::Enter(const PrimaryContext& context) {
  const DriverApi& api = context.api();
  FUSEBOX_RETURN_IF_ERROR(CudaStatus(api, api.CtxPushCurrent(context.get()), "cuCtxPushCurrent"));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  const CUresult result = api.ThreadExchangeStreamCaptureMode(&mode);
  if (result != CUDA_SUCCESS) {
    CUcontext popped = nullptr;
    (void)api.CtxPopCurrent(&popped);
    return CudaStatus(api, result, "cuThreadExchangeStreamCaptureMode");
  }
  return ScopedContext(&api, mode);
}

ScopedContext::ScopedContext(const DriverApi* api, CUstreamCaptureMode previous_mode)
    : api_(api), previous_mode_(previous_mode) {}

ScopedContext::ScopedContext(ScopedContext&& other) noexcept
    : api_(std::exchange(other.api_, nullptr)), previous_mode_(other.previous_mode_) {}

ScopedContext::~ScopedContext() {
  if (api_ == nullptr) return;
  (void)api_->ThreadExchangeStreamCaptureMode(&previous_mode_);
  CUcontext popped = nullptr;
  (void)api_->CtxPopCurrent(&popped);
}

}  // namespace fusebox
