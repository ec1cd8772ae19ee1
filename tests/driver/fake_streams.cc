#include "tests/driver/fake_streams.h"

#include <cstring>
#include <utility>

#include "tests/driver/fake_driver.h"

namespace fusebox {
namespace {

thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

constexpr size_t kAlignment = 256;  // cuMemAlloc's

void* At(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// What the test asks of the call, then what capture allows.
CUresult EnterUnsafeCall(const char* call) {
  const CUresult result = FakeDriver::Instance().ResultOf(call);
  return result == CUDA_SUCCESS ? FakeStreams::Instance().EnterUnsafeCall() : result;
}

CUresult MemAlloc(CUdeviceptr* memory, size_t bytes) {
  const CUresult result = EnterUnsafeCall("cuMemAlloc");
  return result == CUDA_SUCCESS ? FakeStreams::Instance().Allocate(memory, bytes) : result;
}
CUresult MemHostAlloc(void** memory, size_t bytes, unsigned) {
  CUresult result = EnterUnsafeCall("cuMemHostAlloc");
  CUdeviceptr address = 0;
  if (result == CUDA_SUCCESS) result = FakeStreams::Instance().Allocate(&address, bytes);
  *memory = At(address);
  return result;
}
CUresult MemFree(CUdeviceptr memory) {
  const CUresult result = FakeStreams::Instance().EnterUnsafeCall();
  return result == CUDA_SUCCESS ? FakeStreams::Instance().Free(memory) : result;
}
CUresult MemFreeHost(void* memory) { return MemFree(reinterpret_cast<CUdeviceptr>(memory)); }
CUresult MemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  const CUresult result = FakeStreams::Instance().EnterUnsafeCall();
  if (result == CUDA_SUCCESS) std::memcpy(At(to), from, bytes);
  return result;
}
CUresult MemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  const CUresult result = FakeStreams::Instance().EnterUnsafeCall();
  if (result == CUDA_SUCCESS) std::memcpy(to, At(from), bytes);
  return result;
}
CUresult MemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  std::memcpy(At(to), At(from), bytes);
  return CUDA_SUCCESS;
}
CUresult MemsetD8Async(CUdeviceptr address, unsigned char byte, size_t bytes, CUstream) {
  std::memset(At(address), byte, bytes);
  return CUDA_SUCCESS;
}

template <typename Handle>
CUresult MakeHandle(Handle* handle) {
  *handle = static_cast<Handle>(FakeStreams::Instance().Make());
  return CUDA_SUCCESS;
}
CUresult StreamCreate(CUstream* stream, unsigned) { return MakeHandle(stream); }
CUresult EventCreate(CUevent* event, unsigned) { return MakeHandle(event); }
CUresult GraphInstantiate(CUgraphExec* exec, CUgraph, unsigned long long) {
  return MakeHandle(exec);
}
template <typename Handle>
CUresult ReleaseHandle(Handle handle) {
  return FakeStreams::Instance().Release(handle);
}
CUresult StreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = FakeStreams::Instance().IsCapturing(stream) ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                        : CU_STREAM_CAPTURE_STATUS_NONE;
  return FakeDriver::Instance().ResultOf("cuStreamIsCapturing");
}
CUresult StreamSynchronize(CUstream stream) { return FakeStreams::Instance().Synchronize(stream); }
CUresult StreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  return FakeStreams::Instance().BeginCapture(stream, mode);
}
CUresult StreamEndCapture(CUstream stream, CUgraph* graph) {
  return FakeStreams::Instance().EndCapture(stream, graph);
}
CUresult GraphLaunch(CUgraphExec, CUstream) { return CUDA_SUCCESS; }
CUresult EventRecord(CUevent, CUstream) { return CUDA_SUCCESS; }
CUresult EventSynchronize(CUevent) { return FakeStreams::Instance().SynchronizeEvent(); }
CUresult EventElapsedTime(float* milliseconds, CUevent, CUevent) {
  *milliseconds = 0.25f;
  return CUDA_SUCCESS;
}

}  // namespace

FakeStreams& FakeStreams::Instance() { return FakeDriver::Instance().streams; }

void FakeStreams::AddTo(DriverApi* api) const {
  api->MemAlloc = MemAlloc;
  api->MemFree = MemFree;
  api->MemHostAlloc = MemHostAlloc;
  api->MemFreeHost = MemFreeHost;
  api->MemcpyHtoD = MemcpyHtoD;
  api->MemcpyDtoH = MemcpyDtoH;
  api->MemcpyDtoDAsync = MemcpyDtoDAsync;
  api->MemsetD8Async = MemsetD8Async;
  api->StreamCreate = StreamCreate;
  api->StreamDestroy = ReleaseHandle<CUstream>;
  api->StreamSynchronize = StreamSynchronize;
  api->StreamIsCapturing = StreamIsCapturing;
  api->StreamBeginCapture = StreamBeginCapture;
  api->StreamEndCapture = StreamEndCapture;
  api->GraphInstantiateWithFlags = GraphInstantiate;
  api->GraphLaunch = GraphLaunch;
  api->GraphExecDestroy = ReleaseHandle<CUgraphExec>;
  api->GraphDestroy = ReleaseHandle<CUgraph>;
  api->EventCreate = EventCreate;
  api->EventDestroy = ReleaseHandle<CUevent>;
  api->EventRecord = EventRecord;
  api->EventSynchronize = EventSynchronize;
  api->EventElapsedTime = EventElapsedTime;
}

// CUDA driver API, cuThreadExchangeStreamCaptureMode: a relaxed thread is not hindered; one in mode
// thread-local by its own captures that are not relaxed; one in mode global by global captures of
// other threads too.
CUresult FakeStreams::EnterUnsafeCall() {
  if (capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  const std::lock_guard<std::mutex> lock(mutex_);
  CUresult result = CUDA_SUCCESS;
  for (auto& [stream, capture] : captures_) {
    const bool own = capture.thread == std::this_thread::get_id() &&
                     capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool others = capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                        capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!own && !others) continue;
    capture.broken = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

bool FakeStreams::IsCapturing(CUstream stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return captures_.contains(stream);
}

int FakeStreams::num_unreleased() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(memory_.size() + handles_.size());
}

int FakeStreams::num_memories() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(memory_.size());
}

int FakeStreams::num_event_waits() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return num_event_waits_;
}

CUresult FakeStreams::Allocate(CUdeviceptr* memory, size_t bytes) {
  auto bytes_of = std::make_unique<std::vector<unsigned char>>(bytes + kAlignment);
  const auto begin = reinterpret_cast<uintptr_t>(bytes_of->data());
  *memory = (begin + kAlignment - 1) / kAlignment * kAlignment;
  const std::lock_guard<std::mutex> lock(mutex_);
  memory_[*memory] = std::move(bytes_of);
  return CUDA_SUCCESS;
}

CUresult FakeStreams::Free(CUdeviceptr memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return memory_.erase(memory) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void* FakeStreams::Make() {
  const std::lock_guard<std::mutex> lock(mutex_);
  void* const handle = reinterpret_cast<void*>(last_handle_ += 0x10);
  handles_.insert(handle);
  return handle;
}

CUresult FakeStreams::Release(void* handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return handles_.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult FakeStreams::BeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (captures_.contains(stream)) return CUDA_ERROR_ILLEGAL_STATE;
  captures_[stream] = {.thread = std::this_thread::get_id(), .mode = mode};
  return CUDA_SUCCESS;
}

CUresult FakeStreams::EndCapture(CUstream stream, CUgraph* graph) {
  *graph = nullptr;
  bool broken = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto capture = captures_.find(stream);
    if (capture == captures_.end()) return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->second.mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        capture->second.thread != std::this_thread::get_id()) {
      return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    broken = capture->second.broken;
    captures_.erase(capture);
  }
  return broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : MakeHandle(graph);
}

CUresult FakeStreams::Synchronize(CUstream stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto capture = captures_.find(stream);
  if (capture == captures_.end()) return CUDA_SUCCESS;
  capture->second.broken = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult FakeStreams::SynchronizeEvent() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++num_event_waits_;
  return CUDA_SUCCESS;
}

CUstreamCaptureMode FakeCaptureMode() { return capture_mode; }

CUresult ExchangeFakeCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(*mode, capture_mode);
  return CUDA_SUCCESS;
}

}  // namespace fusebox
