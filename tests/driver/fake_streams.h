// The half of FakeDriver that has to do with time: streams, capture and graphs, events, and memory
// (all of it the host's, so that copies and fills can be looked at). Work on a stream is done at
// once; a graph remembers only that it was made. Capture follows the driver's rules: what may
// synchronise is refused on threads that are not relaxed, and breaks the capture it interferes
// with. Thread-safe.
#ifndef FUSEBOX_TESTS_DRIVER_FAKE_STREAMS_H_
#define FUSEBOX_TESTS_DRIVER_FAKE_STREAMS_H_

#include <cuda.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "runtime/driver/driver_api.h"

namespace fusebox {

class FakeStreams {
 public:
  // Of the process's FakeDriver.
  static FakeStreams& Instance();

  void AddTo(DriverApi* api) const;

  // For a call that may synchronise or allocate (loading a kernel does both): an error, and the
  // captures that it breaks are invalid, where the thread's capture mode forbids it.
  CUresult EnterUnsafeCall();
  bool IsCapturing(CUstream stream);
  int num_unreleased();  // memory, streams, graphs, events
  int num_memories();    // on the device or the host
  int num_event_waits();

  CUresult Allocate(CUdeviceptr* memory, size_t bytes);
  CUresult Free(CUdeviceptr memory);
  void* Make();
  CUresult Release(void* handle);
  CUresult BeginCapture(CUstream stream, CUstreamCaptureMode mode);
  CUresult EndCapture(CUstream stream, CUgraph* graph);
  CUresult Synchronize(CUstream stream);
  CUresult SynchronizeEvent();

 private:
  struct Capture {
    std::thread::id thread;
    CUstreamCaptureMode mode;
    bool broken = false;
  };

  std::mutex mutex_;
  std::map<CUdeviceptr, std::unique_ptr<std::vector<unsigned char>>> memory_;
  std::set<void*> handles_;
  std::map<CUstream, Capture> captures_;
  uintptr_t last_handle_ = 0x1000;
  int num_event_waits_ = 0;
};

// Of the calling thread.
CUstreamCaptureMode FakeCaptureMode();
// As cuThreadExchangeStreamCaptureMode.
CUresult ExchangeFakeCaptureMode(CUstreamCaptureMode* mode);

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_DRIVER_FAKE_STREAMS_H_
