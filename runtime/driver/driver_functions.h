// The driver functions that Fusebox calls, by the exact name that libcuda exports. Every one exists
// since CUDA 12.0. Include with FUSEBOX_DRIVER_FUNCTION(member, symbol) defined; the type comes
// from cuda.h's declaration of `symbol`.
//
// No include guard: the table is included once for each use of its rows.
#ifndef FUSEBOX_DRIVER_FUNCTION
#error "define FUSEBOX_DRIVER_FUNCTION(member, symbol) before including the table"
#endif

// Library, device, context.
FUSEBOX_DRIVER_FUNCTION(Init, cuInit)
FUSEBOX_DRIVER_FUNCTION(DriverGetVersion, cuDriverGetVersion)
FUSEBOX_DRIVER_FUNCTION(GetErrorName, cuGetErrorName)
FUSEBOX_DRIVER_FUNCTION(GetErrorString, cuGetErrorString)
FUSEBOX_DRIVER_FUNCTION(DeviceGetCount, cuDeviceGetCount)
FUSEBOX_DRIVER_FUNCTION(DeviceGet, cuDeviceGet)
FUSEBOX_DRIVER_FUNCTION(DeviceGetName, cuDeviceGetName)
FUSEBOX_DRIVER_FUNCTION(DeviceGetAttribute, cuDeviceGetAttribute)
FUSEBOX_DRIVER_FUNCTION(DeviceTotalMem, cuDeviceTotalMem_v2)
FUSEBOX_DRIVER_FUNCTION(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)
FUSEBOX_DRIVER_FUNCTION(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)
FUSEBOX_DRIVER_FUNCTION(CtxPushCurrent, cuCtxPushCurrent_v2)
FUSEBOX_DRIVER_FUNCTION(CtxPopCurrent, cuCtxPopCurrent_v2)
FUSEBOX_DRIVER_FUNCTION(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode)

// Kernels.
FUSEBOX_DRIVER_FUNCTION(LibraryLoadData, cuLibraryLoadData)
FUSEBOX_DRIVER_FUNCTION(LibraryUnload, cuLibraryUnload)
FUSEBOX_DRIVER_FUNCTION(LibraryGetKernel, cuLibraryGetKernel)
FUSEBOX_DRIVER_FUNCTION(KernelGetFunction, cuKernelGetFunction)
FUSEBOX_DRIVER_FUNCTION(FuncGetAttribute, cuFuncGetAttribute)
FUSEBOX_DRIVER_FUNCTION(FuncSetAttribute, cuFuncSetAttribute)
FUSEBOX_DRIVER_FUNCTION(OccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters)
FUSEBOX_DRIVER_FUNCTION(TensorMapEncodeTiled, cuTensorMapEncodeTiled)
FUSEBOX_DRIVER_FUNCTION(LaunchKernelEx, cuLaunchKernelEx)
FUSEBOX_DRIVER_FUNCTION(MemsetD32Async, cuMemsetD32Async)
FUSEBOX_DRIVER_FUNCTION(PointerGetAttribute, cuPointerGetAttribute)

// What verify, bench, doctor and shadow launches need beside.
FUSEBOX_DRIVER_FUNCTION(MemAlloc, cuMemAlloc_v2)
FUSEBOX_DRIVER_FUNCTION(MemHostAlloc, cuMemHostAlloc)
FUSEBOX_DRIVER_FUNCTION(MemFreeHost, cuMemFreeHost)
FUSEBOX_DRIVER_FUNCTION(MemFree, cuMemFree_v2)
FUSEBOX_DRIVER_FUNCTION(MemcpyHtoD, cuMemcpyHtoD_v2)
FUSEBOX_DRIVER_FUNCTION(MemcpyDtoH, cuMemcpyDtoH_v2)
FUSEBOX_DRIVER_FUNCTION(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)
FUSEBOX_DRIVER_FUNCTION(MemsetD8Async, cuMemsetD8Async)
FUSEBOX_DRIVER_FUNCTION(LaunchKernel, cuLaunchKernel)
FUSEBOX_DRIVER_FUNCTION(StreamCreate, cuStreamCreate)
FUSEBOX_DRIVER_FUNCTION(StreamDestroy, cuStreamDestroy_v2)
FUSEBOX_DRIVER_FUNCTION(StreamSynchronize, cuStreamSynchronize)
FUSEBOX_DRIVER_FUNCTION(StreamIsCapturing, cuStreamIsCapturing)
FUSEBOX_DRIVER_FUNCTION(StreamBeginCapture, cuStreamBeginCapture_v2)
FUSEBOX_DRIVER_FUNCTION(StreamEndCapture, cuStreamEndCapture)
FUSEBOX_DRIVER_FUNCTION(GraphInstantiateWithFlags, cuGraphInstantiateWithFlags)
FUSEBOX_DRIVER_FUNCTION(GraphLaunch, cuGraphLaunch)
FUSEBOX_DRIVER_FUNCTION(GraphExecDestroy, cuGraphExecDestroy)
FUSEBOX_DRIVER_FUNCTION(GraphDestroy, cuGraphDestroy)
FUSEBOX_DRIVER_FUNCTION(EventCreate, cuEventCreate)
FUSEBOX_DRIVER_FUNCTION(EventDestroy, cuEventDestroy_v2)
FUSEBOX_DRIVER_FUNCTION(EventRecord, cuEventRecord)
FUSEBOX_DRIVER_FUNCTION(EventSynchronize, cuEventSynchronize)

#undef FUSEBOX_DRIVER_FUNCTION
