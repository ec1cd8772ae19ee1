// The NVRTC functions that Fusebox calls, by the name that libnvrtc exports.
// Include with FUSEBOX_NVRTC_FUNCTION(member, symbol) defined.
//
// No include guard: the table is included once for each use of its rows.
#ifndef FUSEBOX_NVRTC_FUNCTION
#error "define FUSEBOX_NVRTC_FUNCTION(member, symbol) before including the table"
#endif

FUSEBOX_NVRTC_FUNCTION(Version, nvrtcVersion)
FUSEBOX_NVRTC_FUNCTION(GetNumSupportedArchs, nvrtcGetNumSupportedArchs)
FUSEBOX_NVRTC_FUNCTION(GetSupportedArchs, nvrtcGetSupportedArchs)
FUSEBOX_NVRTC_FUNCTION(GetErrorString, nvrtcGetErrorString)
FUSEBOX_NVRTC_FUNCTION(CreateProgram, nvrtcCreateProgram)
FUSEBOX_NVRTC_FUNCTION(DestroyProgram, nvrtcDestroyProgram)
FUSEBOX_NVRTC_FUNCTION(CompileProgram, nvrtcCompileProgram)
FUSEBOX_NVRTC_FUNCTION(GetProgramLogSize, nvrtcGetProgramLogSize)
FUSEBOX_NVRTC_FUNCTION(GetProgramLog, nvrtcGetProgramLog)
FUSEBOX_NVRTC_FUNCTION(GetCubinSize, nvrtcGetCUBINSize)
FUSEBOX_NVRTC_FUNCTION(GetCubin, nvrtcGetCUBIN)

#undef FUSEBOX_NVRTC_FUNCTION
