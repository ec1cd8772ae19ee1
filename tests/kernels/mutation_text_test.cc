// Mutations apply and compile, and those that hardware forgives are missed in the PTX: each check
// holds for every kind of shipped kernel and fails for the mutated one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "src/device/device_profiles.h"
#include "src/plan/legality.h"
#include "src/source/emit.h"
#include "tests/kernels/kernel_compiler.h"
#include "tests/kernels/mutations.h"
#include "tests/source/sample_plans.h"

namespace fusebox {
namespace {

constexpr size_t kNone = std::string::npos;
constexpr char kPushCopy[] = "cp.async.bulk.shared::cluster.shared::cta";

int Count(const std::string& text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != kNone; at = text.find(part, at + 1)) ++count;
  return count;
}

// h is stored, then fenced for the async proxy, then the warpgroup meets, then it is pushed.
bool FencesBetweenStoreAndPush(const FusionPlan& plan, const std::string& ptx) {
  if (plan.gathers_over_grid()) return true;  // pushes nothing
  const size_t store = ptx.rfind("stmatrix.sync");
  const size_t fence = ptx.find("fence.proxy.async.shared::cta", store);
  const size_t meet = ptx.find("bar.sync", fence);
  const size_t push = ptx.find(kPushCopy);
  return store != kNone && fence != kNone && meet != kNone && (push == kNone || meet < push);
}

// A grid-gather kernel whose phase 2 is multicast: others of that dataflow meet the cluster at the
// start alone.
bool MulticastsPhase2(const FusionPlan& plan) {
  return plan.activation_multicast && plan.gathers_over_grid() &&
         plan.down.k_ctas < plan.cluster_size;
}

// Every thread arrives twice and waits twice, the second time last of all.
bool LeavesTogether(const FusionPlan& plan, const std::string& ptx) {
  const size_t last_wait = ptx.rfind("barrier.cluster.wait.acquire");
  if (plan.gathers_over_grid() && !MulticastsPhase2(plan)) {
    return Count(ptx, "barrier.cluster.arrive.release") == 1 &&
           Count(ptx, "barrier.cluster.wait.acquire") == 2;
  }
  return Count(ptx, "barrier.cluster.arrive.release") == 3 &&
         Count(ptx, "barrier.cluster.wait.acquire") == 3 && last_wait != kNone &&
         ptx.find("cp.async.bulk", last_wait) == kNone && ptx.find("st.global", last_wait) == kNone;
}

// The counters order what was stored before and is loaded after them.
bool OrdersByCounters(const FusionPlan&, const std::string& ptx) {
  return Count(ptx, "atom.acq_rel.gpu.global.add.u32") > 0 &&
         Count(ptx, "atom.relaxed.gpu.global.add.u32") == 0;
}

constexpr std::string_view kFence = "fence.proxy.async;";
constexpr std::string_view kStoreH = "st.global.cg.v4.f32";

// Grid gather: once a pass's h is stored to L2 the warpgroup meets, before the next pass's begins.
bool MeetsBetweenPasses(const FusionPlan& plan, const std::string& ptx) {
  if (!plan.gathers_over_grid()) return true;
  const size_t stored = ptx.rfind(kStoreH);
  const size_t meet = ptx.find("bar.sync", stored);
  return stored != kNone && meet < ptx.find(kFence, stored);
}

// Grid gather: h is stored, fenced for the async proxy, and announced once the warps have met;
// whoever copies it fences again once it has seen all announced.
bool FencesGatheredRows(const FusionPlan& plan, const std::string& ptx) {
  if (!plan.gathers_over_grid()) return true;
  const size_t fence = ptx.find(kFence, ptx.rfind(kStoreH));
  const size_t meet = ptx.find("bar.sync", fence);
  const size_t announce = ptx.find("atom.acq_rel.gpu", meet);
  const size_t seen = ptx.rfind("atom.acq_rel.gpu", ptx.rfind(kFence));
  return fence != kNone && meet != kNone && announce != kNone && seen != kNone &&
         Count(ptx, kFence) == (plan.problem.norm == Norm::kNone ? 2 : 4);
}

// Grid gather: what the arrivals announce is acquired.
bool AcquiresArrivals(const FusionPlan& plan, const std::string& ptx) {
  return Count(ptx, "ld.acquire.gpu.global.u32") == (plan.gathers_over_grid() ? 1 : 0);
}

// Grid gather: between the sums and h's first store the previous kernel is waited for.
bool WaitsBeforeStoringRows(const FusionPlan& plan, const std::string& ptx) {
  if (!plan.gathers_over_grid()) return true;
  const size_t stored = ptx.find(kStoreH);
  const size_t summed = ptx.rfind("wgmma.wait_group", stored);
  return stored != kNone && summed != kNone && ptx.find("griddepcontrol.wait", summed) < stored;
}

constexpr std::string_view kArriveAtPeer = "mbarrier.arrive.release.cluster.shared::cluster";

// Where CTAs split k: each warp offers space and announces sums with a release; a norm's rows are
// announced so too.
bool ReleasesToPeers(const FusionPlan& plan, const std::string& ptx) {
  const int of_rows = plan.problem.norm == Norm::kNone ? 0 : 1;
  return Count(ptx, kArriveAtPeer) == of_rows + (plan.down.k_ctas > 1 ? 2 : 0);
}

// Where CTAs split k: whoever stores sums at peers has acquired their space, and whoever adds sums
// has acquired those that were announced.
bool AcquiresFromPeers(const FusionPlan& plan, const std::string& ptx) {
  if (plan.down.k_ctas == 1) return true;
  const size_t store = ptx.find("st.shared::cluster.v4");
  const size_t wait = ptx.find("mbarrier.try_wait.parity.acquire.cluster", store);
  const size_t arrive = ptx.find(kArriveAtPeer, store);
  return store != kNone && arrive != kNone && arrive < wait && wait != kNone &&
         ptx.rfind("mbarrier.try_wait.parity.acquire.cluster", store) != kNone;
}

// A consumer tells the cluster that it may leave after its last arrival at a peer's ring.
bool ReleasesRingsBeforeLeaving(const FusionPlan& plan, const std::string& ptx) {
  if (!MulticastsPhase2(plan)) return true;
  const size_t first = ptx.find("wgmma.mma_async");
  const size_t last_release = ptx.rfind("mbarrier.arrive.relaxed.cluster");
  return first != kNone && last_release != kNone && first < last_release &&
         ptx.find("barrier.cluster.arrive", last_release) != kNone &&
         ptx.find("barrier.cluster.arrive", first) > last_release;
}

struct TextCheck {
  const char* mutation;
  bool (*holds)(const FusionPlan& plan, const std::string& ptx);
};

// Normalised rows are stored, fenced for the async proxy, and announced once the warps have met;
// the second fence is the reader's. A kernel without a norm announces none; grid gather has two
// fences more.
bool FencesRows(const FusionPlan& plan, const std::string& ptx) {
  const size_t announce = ptx.find(kArriveAtPeer);
  if (plan.problem.norm == Norm::kNone) return announce == kNone || plan.down.k_ctas > 1;
  const size_t store = ptx.rfind("st.global.cg.v4.u32", announce);
  const size_t fence = ptx.find(kFence, store);
  const size_t meet = ptx.find("bar.sync", fence);
  return store != kNone && fence < meet && meet < announce &&
         Count(ptx, kFence) == (plan.gathers_over_grid() ? 4 : 2);
}

constexpr TextCheck kTextChecks[] = {
    {"proxy_fence", FencesBetweenStoreAndPush}, {"rows_proxy_fence", FencesRows},
    {"rows_writers_barrier", FencesRows},       {"exit_wait", LeavesTogether},
    {"grid_slice_reuse", MeetsBetweenPasses},   {"grid_proxy_fence", FencesGatheredRows},
    {"grid_order", AcquiresArrivals},           {"grid_dependency", WaitsBeforeStoringRows},
    {"counter_order", OrdersByCounters},        {"sums_release", ReleasesToPeers},
    {"sums_acquire", AcquiresFromPeers},        {"multicast_exit", ReleasesRingsBeforeLeaving}};

std::string PtxOf(const FusionPlan& plan, const TemplateSet& templates) {
  const auto ptx = CompileToPtx(Emit(plan, templates).value());
  EXPECT_TRUE(ptx.ok()) << ptx.status();
  return ptx.ok() ? *ptx : "";
}

TEST(MutationTextTest, PlansAreLegal) {
  for (const MutatedOp op : kMutatedOps) {
    const absl::Status legal = CheckLegal(MutatedPlan(op), FindDeviceProfile("h200-sxm").value());
    EXPECT_TRUE(legal.ok()) << legal;
  }
}

TEST(MutationTextTest, EveryMutationAndItsControlCompile) {
  const EmitOptions debug = {.bounded_spins = true, .jitter_seed = 1};
  for (const Mutation& mutation : Mutations()) {
    for (const auto& edits : {mutation.provocation, RemovalAndProvocation(mutation)}) {
      const auto templates = Edited(edits);
      ASSERT_TRUE(templates.ok()) << mutation.name << ": " << templates.status();
      const auto compiled =
          TestCompiler().Compile(Emit(MutatedPlan(mutation.op), *templates, debug).value());
      ASSERT_TRUE(compiled.ok()) << mutation.name << ": " << compiled.status();
      EXPECT_FALSE(compiled->resources.Spills()) << mutation.name;
    }
  }
}

TEST(MutationTextTest, EveryMutationForTheTextHasACheck) {
  for (const Mutation& mutation : Mutations()) {
    bool is_checked = false;
    for (const TextCheck& check : kTextChecks) is_checked |= mutation.name == check.mutation;
    EXPECT_EQ(is_checked, mutation.symptom == Symptom::kText) << mutation.name;
  }
}

TEST(MutationTextTest, ShippedKernelsPassTheChecks) {
  std::vector<FusionPlan> plans;
  for (const MutatedOp op : kMutatedOps) plans.push_back(MutatedPlan(op));
  for (const SamplePlan& sample : SamplePlans()) plans.push_back(sample.plan);
  for (const FusionPlan& plan : plans) {
    const std::string ptx = PtxOf(plan, TemplateSet::Embedded());
    for (const TextCheck& check : kTextChecks) {
      EXPECT_TRUE(check.holds(plan, ptx)) << check.mutation << " on " << plan.Summary();
    }
  }
}

TEST(MutationTextTest, MutatedKernelsFailTheirCheck) {
  for (const TextCheck& check : kTextChecks) {
    const Mutation& mutation = *FindMutation(check.mutation);
    const TemplateSet templates = Edited(mutation.removal).value();
    const FusionPlan plan = MutatedPlan(mutation.op);
    EXPECT_FALSE(check.holds(plan, PtxOf(plan, templates))) << check.mutation;
  }
}

// Initialised barriers are fenced before the cluster is told.
TEST(MutationTextTest, BarrierInitsAreFencedBeforeTheClusterArrives) {
  const std::string ptx = PtxOf(MutatedPlan(MutatedOp::kBare), TemplateSet::Embedded());
  const size_t init = ptx.rfind("mbarrier.init");
  const size_t fence = ptx.find("fence.mbarrier_init.release.cluster", init);
  ASSERT_NE(init, kNone);
  ASSERT_NE(fence, kNone);
  EXPECT_LT(fence, ptx.find("barrier.cluster.arrive"));
}

}  // namespace
}  // namespace fusebox
