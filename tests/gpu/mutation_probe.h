// The child half of the mutation test: runs one mutated kernel and says what showed. A mutated
// kernel may fault or hang, and a fault takes the process's context with it, so each runs in a
// process of its own.
#ifndef FUSEBOX_TESTS_GPU_MUTATION_PROBE_H_
#define FUSEBOX_TESTS_GPU_MUTATION_PROBE_H_

#include <sys/types.h>

#include <string>
#include <string_view>

namespace fusebox {

// Exit codes of the child.
constexpr int kProbeRight = 0;
constexpr int kProbeWrong = 10;   // a result differs from the plain kernel's
constexpr int kProbeReport = 11;  // a bounded spin gave up
constexpr int kProbeFault = 12;   // the driver reports an error
constexpr int kProbeFailed = 13;  // the probe itself could not run

enum class ProbeEdits { kControl, kMutated };  // the provocation alone, or with the removal

// Prints one line, "wrong result in run 3"; returns the code.
int RunMutationProbe(std::string_view mutation, ProbeEdits edits);

// Where the probes of one parent keep their kernels.
std::string ProbeCacheFolder(pid_t parent);

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_GPU_MUTATION_PROBE_H_
