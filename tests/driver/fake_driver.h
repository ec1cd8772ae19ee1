// FakeDriver is a DriverApi without a GPU: it answers as an H200 would, remembers what it was
// asked, and fails on demand. One at a time in a process (the driver's functions have no context
// argument). Recording takes a lock and allocates; with recording off the functions do neither, so
// that a test can watch Fusebox's own launch path.
#ifndef FUSEBOX_TESTS_DRIVER_FAKE_DRIVER_H_
#define FUSEBOX_TESTS_DRIVER_FAKE_DRIVER_H_

#include <cuda.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels_templates/abi/kernel_params.h"
#include "runtime/driver/driver_api.h"
#include "tests/driver/fake_streams.h"

namespace fusebox {

struct FakeLaunch {
  CUfunction function = nullptr;
  CUstream stream = nullptr;
  unsigned int grid = 0;
  unsigned int threads = 0;
  unsigned int smem = 0;
  unsigned int cluster = 0;
  bool cooperative = false;
  bool programmatic = false;
  bool captured = false;  // into a graph
  FfnParams params = {};
};

// What EncodeTensorMap asked for, readable out of the fake's TensorMap.
struct FakeTensorMap {
  const void* address = nullptr;
  unsigned long long columns = 0;
  unsigned long long rows = 0;
  unsigned long long row_bytes = 0;
  unsigned int box_columns = 0;
  unsigned int box_rows = 0;
  unsigned int swizzle = 0;
  unsigned int l2_promotion = 0;
  unsigned int dtype = 0;  // CUtensorMapDataType
};
FakeTensorMap ReadFakeMap(const TensorMap& map);

// Of cuLaunchKernel.
struct FakePlainLaunch {
  unsigned int grid_x = 0;
  unsigned int grid_y = 0;
  unsigned int threads = 0;
  CUstream stream = nullptr;
  void** parameters = nullptr;  // during the call only
};

struct FakeMemset {
  CUdeviceptr address = 0;
  unsigned int word = 0;
  size_t words = 0;
  CUstream stream = nullptr;
};

struct FakeDriver {
  static FakeDriver& Instance();
  static FakeDriver& Reset();  // as new; nothing may be in use

  std::shared_ptr<const DriverApi> Api() const;
  CUresult ResultOf(const char* call) const;  // what `failures` says

  // What the machine is like.
  int version = 13000;
  int device_count = 1;
  std::string device_name = "NVIDIA H200";
  int compute_major = 9;
  int compute_minor = 0;
  int num_sms = 132;
  int cluster_launch = 1;
  int local_bytes = 0;
  int max_active_clusters = 132;
  int resident_ctas = 132;                     // of clusters of any size: one CTA an SM
  std::map<std::string, CUresult> failures;    // by the driver's name of the function
  std::map<const void*, int> memory_of_gpu;    // ordinal by pointer; others lie on GPU 0
  std::map<const void*, CUresult> not_device;  // pointers that are no device memory

  FakeStreams streams;
  // Stands for what kernels of cuLaunchKernel do; called in the call.
  std::function<void(const FakePlainLaunch&)> on_plain_launch;

  // What happened.
  bool recording = true;
  std::mutex mutex;
  std::vector<FakeLaunch> launches;
  std::vector<FakeMemset> memsets;
  std::vector<std::string> loaded_cubins;
  std::map<int, int> function_attributes;  // of the last function that was set
  std::atomic<int> num_launches = 0;
  std::atomic<int> num_libraries = 0;      // loaded and not unloaded
  std::atomic<int> num_contexts = 0;       // retained and not released
  std::atomic<int> num_relaxed_loads = 0;  // loads in relaxed capture mode with the context current
};

// Of the calling thread.
int FakeContextDepth();

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_DRIVER_FAKE_DRIVER_H_
