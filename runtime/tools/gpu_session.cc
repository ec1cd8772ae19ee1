#include "runtime/tools/gpu_session.h"

#include <utility>

#include "src/base/status.h"

namespace fusebox {

absl::StatusOr<std::unique_ptr<GpuSession>> GpuSession::Open(const Config& config, int ordinal,
                                                             const DriverLoader& load_driver) {
  std::unique_ptr<GpuSession> session(new GpuSession);
  FUSEBOX_ASSIGN_OR_RETURN(session->overrides_, ReadOverrides(config));
  FUSEBOX_ASSIGN_OR_RETURN(session->api_, load_driver());
  FUSEBOX_ASSIGN_OR_RETURN(session->device_, QueryDevice(*session->api_, ordinal));
  FUSEBOX_RETURN_IF_ERROR(CheckServed(session->device_));
  FUSEBOX_ASSIGN_OR_RETURN(session->context_,
                           PrimaryContext::Retain(session->api_, session->device_.device));
  FUSEBOX_RETURN_IF_ERROR(
      session->Check(session->api_->CtxPushCurrent(session->context_->get()), "cuCtxPushCurrent"));
  session->entered_ = true;
  FUSEBOX_ASSIGN_OR_RETURN(session->stream_, session->MakeStream());
  FUSEBOX_ASSIGN_OR_RETURN(session->log_,
                           EventLog::Create({.level = config.log_level, .file = config.log_file}));
  KernelService::Options options = KernelService::OptionsFrom(config);
  options.max_nvrtc_major = session->api_->version / 1000;
  session->kernels_ =
      std::make_unique<KernelService>(std::move(options), session->log_.get(), &session->counters_);
  session->permission_ = PermissionFor(config.compile_mode);
  return session;
}

GpuSession::~GpuSession() {
  if (!entered_) return;
  (void)Synchronize();
  stream_.Reset();
  CUcontext popped = nullptr;
  (void)api_->CtxPopCurrent(&popped);
}

absl::Status GpuSession::Synchronize() const {
  if (!stream_) return absl::OkStatus();
  return Check(api_->StreamSynchronize(stream_.get()), "cuStreamSynchronize");
}

absl::StatusOr<UniqueStream> GpuSession::MakeStream() const {
  CUstream stream = nullptr;
  FUSEBOX_RETURN_IF_ERROR(
      Check(api_->StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  return UniqueStream(api_, stream);
}

}  // namespace fusebox
