// What happens when a barrier, wait or fence is taken out: see tests/kernels/mutations.h. Each
// mutation, and before it its control, runs in a child process under a time limit; a hang counts as
// shown, as a deadlock of a server would be.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/mutation_probe.h"
#include "tests/kernels/mutations.h"

extern char** environ;

namespace fusebox {
namespace {

std::string program_path;

constexpr int kTimedOut = -1;
constexpr int kDiedOfSignal = -2;
constexpr auto kTimeLimit = std::chrono::seconds(30);

struct ChildResult {
  int code = kProbeFailed;
  std::string line;
};

// Waits at most kTimeLimit, then kills the child, which it started itself.
int WaitFor(pid_t child) {
  const auto deadline = std::chrono::steady_clock::now() + kTimeLimit;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return kTimedOut;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kDiedOfSignal;
}

ChildResult RunChild(std::string_view mutation, ProbeEdits edits) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string role = edits == ProbeEdits::kControl ? "--control=" : "--mutated=";
  role += mutation;
  char* arguments[] = {program_path.data(), role.data(), nullptr};
  pid_t child = 0;
  ChildResult result;
  const int spawned =
      posix_spawn(&child, program_path.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (spawned == 0) {
    result.code = WaitFor(child);
    char text[512] = {};  // one line, which a pipe holds without a reader
    const ssize_t bytes = read(ends[0], text, sizeof(text) - 1);
    if (bytes > 0) result.line.assign(text, strcspn(text, "\n"));
  }
  close(ends[0]);
  if (result.code == kTimedOut) result.line = "no end within the time limit";
  return result;
}

class MutationTest : public GpuTest, public testing::WithParamInterface<std::string> {};

TEST_P(MutationTest, ShowsAsStated) {
  const Mutation& mutation = *FindMutation(GetParam());
  const ChildResult control = RunChild(mutation.name, ProbeEdits::kControl);
  ASSERT_EQ(control.code, kProbeRight) << "control: " << control.line;
  const ChildResult mutated = RunChild(mutation.name, ProbeEdits::kMutated);
  ASSERT_NE(mutated.code, kProbeFailed) << mutated.line;
  const bool is_shown = mutated.code != kProbeRight;
  std::printf("mutation %-22s control %s; mutated: %s%s\n", GetParam().c_str(),
              control.line.c_str(), mutated.line.c_str(),
              mutation.symptom == Symptom::kText ? " (judged by its PTX)" : "");
  if (mutation.symptom == Symptom::kRunTime) {
    EXPECT_TRUE(is_shown) << mutation.removed;
  }
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Mutation& mutation : Mutations()) names.emplace_back(mutation.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, MutationTest, testing::ValuesIn(Names()),
                         [](const auto& tested) { return tested.param; });

int RunAsChild(std::string_view argument) {
  const size_t equals = argument.find('=');
  return RunMutationProbe(argument.substr(equals + 1), argument.starts_with("--control=")
                                                           ? ProbeEdits::kControl
                                                           : ProbeEdits::kMutated);
}

}  // namespace
}  // namespace fusebox

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--control=") || argument.starts_with("--mutated=")) {
      return fusebox::RunAsChild(argument);
    }
  }
  fusebox::program_path = std::filesystem::absolute(argv[0]).string();
  testing::InitGoogleTest(&argc, argv);
  const int code = RUN_ALL_TESTS();
  std::error_code ignored;
  std::filesystem::remove_all(fusebox::ProbeCacheFolder(getpid()), ignored);
  return code;
}
