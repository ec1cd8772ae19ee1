#include "tests/driver/fake_driver.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace fusebox {
namespace {

FakeDriver* instance = nullptr;
thread_local int context_depth = 0;

CUcontext const kContext = reinterpret_cast<CUcontext>(0x10);

FakeDriver& Driver() { return FakeDriver::Instance(); }

CUresult ResultOf(const char* call) { return Driver().ResultOf(call); }

CUresult Init(unsigned int) { return ResultOf("cuInit"); }
CUresult DriverGetVersion(int* version) {
  *version = Driver().version;
  return CUDA_SUCCESS;
}
CUresult GetErrorName(CUresult, const char** name) {
  *name = "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
CUresult GetErrorString(CUresult, const char** text) {
  *text = "made up";
  return CUDA_SUCCESS;
}
CUresult DeviceGetCount(int* count) {
  *count = Driver().device_count;
  return ResultOf("cuDeviceGetCount");
}
CUresult DeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ResultOf("cuDeviceGet");
}
CUresult DeviceGetName(char* name, int bytes, CUdevice) {
  std::strncpy(name, Driver().device_name.c_str(), static_cast<size_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult DeviceTotalMem(size_t* bytes, CUdevice) {
  *bytes = size_t{141} << 30;
  return CUDA_SUCCESS;
}
CUresult DeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  const FakeDriver& driver = Driver();
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = driver.compute_major;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = driver.compute_minor;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = driver.num_sms;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 232448;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      *value = 233472;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      *value = 65536;
      break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *value = 60 << 20;
      break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *value = 1980000;
      break;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
      *value = driver.cluster_launch;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return ResultOf("cuDeviceGetAttribute");
}

CUresult DevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  const CUresult result = ResultOf("cuDevicePrimaryCtxRetain");
  if (result != CUDA_SUCCESS) return result;
  *context = kContext;
  ++Driver().num_contexts;
  return CUDA_SUCCESS;
}
CUresult DevicePrimaryCtxRelease(CUdevice) {
  --Driver().num_contexts;
  return CUDA_SUCCESS;
}
CUresult CtxPushCurrent(CUcontext) {
  ++context_depth;
  return CUDA_SUCCESS;
}
CUresult CtxPopCurrent(CUcontext* context) {
  *context = kContext;
  --context_depth;
  return CUDA_SUCCESS;
}
CUresult LibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned int,
                         CUlibraryOption*, void**, unsigned int) {
  const CUresult result = ResultOf("cuLibraryLoadData");
  if (result != CUDA_SUCCESS) return result;
  FakeDriver& driver = Driver();
  const CUresult capture = driver.streams.EnterUnsafeCall();
  if (capture != CUDA_SUCCESS) return capture;
  if (std::strncmp(static_cast<const char*>(code), "unloadable", 10) == 0) {
    return CUDA_ERROR_INVALID_IMAGE;
  }
  std::lock_guard<std::mutex> lock(driver.mutex);
  driver.loaded_cubins.emplace_back(static_cast<const char*>(code), 8);
  if (context_depth > 0 && FakeCaptureMode() == CU_STREAM_CAPTURE_MODE_RELAXED) {
    ++driver.num_relaxed_loads;
  }
  *library = reinterpret_cast<CUlibrary>(driver.loaded_cubins.size());
  ++driver.num_libraries;
  return CUDA_SUCCESS;
}
CUresult LibraryUnload(CUlibrary) {
  const CUresult capture = Driver().streams.EnterUnsafeCall();
  if (capture != CUDA_SUCCESS) return capture;
  --Driver().num_libraries;
  return CUDA_SUCCESS;
}
CUresult LibraryGetKernel(CUkernel* kernel, CUlibrary library, const char*) {
  *kernel = reinterpret_cast<CUkernel>(library);
  return ResultOf("cuLibraryGetKernel");
}
CUresult KernelGetFunction(CUfunction* function, CUkernel kernel) {  // loads the code
  const CUresult capture = Driver().streams.EnterUnsafeCall();
  if (capture != CUDA_SUCCESS) return capture;
  *function = reinterpret_cast<CUfunction>(kernel);
  return ResultOf("cuKernelGetFunction");
}
CUresult FuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  *value = attribute == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES ? Driver().local_bytes : 0;
  return CUDA_SUCCESS;
}
CUresult FuncSetAttribute(CUfunction, CUfunction_attribute attribute, int value) {
  FakeDriver& driver = Driver();
  std::lock_guard<std::mutex> lock(driver.mutex);
  driver.function_attributes[attribute] = value;
  return ResultOf("cuFuncSetAttribute");
}
CUresult OccupancyMaxActiveClusters(int* count, CUfunction, const CUlaunchConfig* config) {
  int cluster_size = 1;
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    cluster_size = static_cast<int>(config->attrs[i].value.clusterDim.x);
  }
  const FakeDriver& driver = Driver();
  *count = std::min(driver.max_active_clusters, driver.resident_ctas / cluster_size);
  return ResultOf("cuOccupancyMaxActiveClusters");
}

CUresult TensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                              void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                              const cuuint32_t* box, const cuuint32_t*, CUtensorMapInterleave,
                              CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                              CUtensorMapFloatOOBfill) {
  const bool valid =
      (type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 || type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16) &&
      rank == 2 && reinterpret_cast<uintptr_t>(address) % 16 == 0 && sizes[0] > 0 && sizes[1] > 0 &&
      strides[0] % 16 == 0 && box[0] <= 256 && box[1] <= 256;
  if (!valid) return CUDA_ERROR_INVALID_VALUE;
  const FakeTensorMap asked{address,
                            sizes[0],
                            sizes[1],
                            strides[0],
                            box[0],
                            box[1],
                            static_cast<unsigned int>(swizzle),
                            static_cast<unsigned int>(promotion),
                            static_cast<unsigned int>(type)};
  static_assert(sizeof(asked) <= sizeof(CUtensorMap));
  std::memset(static_cast<void*>(map), 0, sizeof(*map));
  std::memcpy(static_cast<void*>(map), &asked, sizeof(asked));
  return ResultOf("cuTensorMapEncodeTiled");
}

CUresult LaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                        void**) {
  FakeDriver& driver = Driver();
  ++driver.num_launches;
  if (!driver.recording) return CUDA_SUCCESS;
  FakeLaunch launch{.function = function,
                    .stream = config->hStream,
                    .grid = config->gridDimX,
                    .threads = config->blockDimX,
                    .smem = config->sharedMemBytes};
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      launch.cluster = attribute.value.clusterDim.x;
    } else if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      launch.cooperative = attribute.value.cooperative != 0;
    } else if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      launch.programmatic = attribute.value.programmaticStreamSerializationAllowed != 0;
    }
  }
  std::memcpy(static_cast<void*>(&launch.params), parameters[0], sizeof(FfnParams));
  launch.captured = driver.streams.IsCapturing(config->hStream);
  std::lock_guard<std::mutex> lock(driver.mutex);
  driver.launches.push_back(launch);
  return ResultOf("cuLaunchKernelEx");
}

CUresult LaunchKernel(CUfunction, unsigned int grid_x, unsigned int grid_y, unsigned int,
                      unsigned int threads, unsigned int, unsigned int, unsigned int,
                      CUstream stream, void** parameters, void**) {
  const FakeDriver& driver = Driver();
  const CUresult result = ResultOf("cuLaunchKernel");
  if (result == CUDA_SUCCESS && driver.on_plain_launch)
    driver.on_plain_launch({grid_x, grid_y, threads, stream, parameters});
  return result;
}

CUresult MemsetD32Async(CUdeviceptr address, unsigned int word, size_t words, CUstream stream) {
  FakeDriver& driver = Driver();
  std::lock_guard<std::mutex> lock(driver.mutex);
  driver.memsets.push_back({address, word, words, stream});
  return ResultOf("cuMemsetD32Async");
}

CUresult PointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  const FakeDriver& driver = Driver();
  const void* const address = reinterpret_cast<const void*>(pointer);
  const auto foreign = driver.not_device.find(address);
  if (foreign != driver.not_device.end() && foreign->second != CUDA_SUCCESS) return foreign->second;
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
    const bool is_device = foreign == driver.not_device.end();
    *static_cast<unsigned int*>(value) = is_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    return CUDA_SUCCESS;
  }
  const auto owner = driver.memory_of_gpu.find(address);
  *static_cast<int*>(value) = owner == driver.memory_of_gpu.end() ? 0 : owner->second;
  return CUDA_SUCCESS;
}

}  // namespace

FakeDriver& FakeDriver::Instance() {
  if (instance == nullptr) instance = new FakeDriver();
  return *instance;
}

FakeDriver& FakeDriver::Reset() {
  delete instance;
  instance = new FakeDriver();
  return *instance;
}

CUresult FakeDriver::ResultOf(const char* call) const {
  if (failures.empty()) return CUDA_SUCCESS;
  const auto it = failures.find(call);
  return it == failures.end() ? CUDA_SUCCESS : it->second;
}

std::shared_ptr<const DriverApi> FakeDriver::Api() const {
  auto api = std::make_shared<DriverApi>();
  api->Init = Init;
  api->DriverGetVersion = DriverGetVersion;
  api->GetErrorName = GetErrorName;
  api->GetErrorString = GetErrorString;
  api->DeviceGetCount = DeviceGetCount;
  api->DeviceGet = DeviceGet;
  api->DeviceGetName = DeviceGetName;
  api->DeviceGetAttribute = DeviceGetAttribute;
  api->DeviceTotalMem = DeviceTotalMem;
  api->DevicePrimaryCtxRetain = DevicePrimaryCtxRetain;
  api->DevicePrimaryCtxRelease = DevicePrimaryCtxRelease;
  api->CtxPushCurrent = CtxPushCurrent;
  api->CtxPopCurrent = CtxPopCurrent;
  api->ThreadExchangeStreamCaptureMode = ExchangeFakeCaptureMode;
  api->LibraryLoadData = LibraryLoadData;
  api->LibraryUnload = LibraryUnload;
  api->LibraryGetKernel = LibraryGetKernel;
  api->KernelGetFunction = KernelGetFunction;
  api->FuncGetAttribute = FuncGetAttribute;
  api->FuncSetAttribute = FuncSetAttribute;
  api->OccupancyMaxActiveClusters = OccupancyMaxActiveClusters;
  api->TensorMapEncodeTiled = TensorMapEncodeTiled;
  api->LaunchKernelEx = LaunchKernelEx;
  api->LaunchKernel = LaunchKernel;
  api->MemsetD32Async = MemsetD32Async;
  api->PointerGetAttribute = PointerGetAttribute;
  streams.AddTo(api.get());
  api->version = version;
  return api;
}

FakeTensorMap ReadFakeMap(const TensorMap& map) {
  FakeTensorMap asked;
  std::memcpy(static_cast<void*>(&asked), map.opaque, sizeof(asked));
  return asked;
}

int FakeContextDepth() { return context_depth; }

}  // namespace fusebox
