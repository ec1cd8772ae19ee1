#include "tests/kernels/mutations.h"

#include "src/base/status.h"
#include "tests/kernels/cluster_mutations.h"

namespace fusebox {
namespace {

constexpr std::string_view kKernel = "kernels_templates/kernels/ffn.cuh";
constexpr std::string_view kCta = "kernels_templates/kernels/ffn_cta.cuh";
constexpr std::string_view kDsmFlow = "kernels_templates/kernels/ffn_dsm_gather.cuh";
constexpr std::string_view kGridFlow = "kernels_templates/kernels/ffn_grid_gather.cuh";
constexpr std::string_view kGridGather = "kernels_templates/edges/grid_gather.cuh";
constexpr std::string_view kGather = "kernels_templates/edges/dsm_gather.cuh";
constexpr std::string_view kPartials = "kernels_templates/edges/ordered_partials.cuh";
constexpr std::string_view kProducers = "kernels_templates/copy/ffn_producers.cuh";
constexpr std::string_view kPass = "kernels_templates/mma/phase_pass.cuh";
constexpr std::string_view kGroupSum = "kernels_templates/mma/k_group_sum.cuh";
constexpr std::string_view kIntermediateStore = "kernels_templates/epilogue/intermediate.cuh";
constexpr std::string_view kRows = "kernels_templates/prologue/normalized_rows.cuh";
constexpr std::string_view kGlobalMemory = "kernels_templates/ptx/global_memory.cuh";

// Provocations. A sleep lasts up to twice its time and is cut at 1 ms; 40 us outlast the phases of
// MutatedPlan.
constexpr TemplateEdit kRankZeroStartsLate = {
    kKernel, "  if (threadIdx.x == 0) {\n    cta.InitBarriers();\n",
    "  if (threadIdx.x == 0) {\n    if (cta.rank == 0) __nanosleep(40000);\n"
    "    cta.InitBarriers();\n"};
constexpr TemplateEdit kRankZeroPushesLate = {
    kGather, "  __device__ __forceinline__ void Push(u32 rank, u32 row_group) const {\n",
    "  __device__ __forceinline__ void Push(u32 rank, u32 row_group) const {\n"
    "    if (rank == 0) __nanosleep(40000);\n"};
constexpr TemplateEdit kLastWarpStoresLate = {
    kIntermediateStore,
    "  using Smem = FfnSmem<Plan>;\n  using Phase = UpPhase<Plan>;\n"
    "  const u32 warp = threadIdx.x % kWarpgroupThreads / kWarpThreads;\n",
    "  using Smem = FfnSmem<Plan>;\n  using Phase = UpPhase<Plan>;\n"
    "  const u32 warp = threadIdx.x % kWarpgroupThreads / kWarpThreads;\n"
    "  if (warp == 3) __nanosleep(40000);\n"};
constexpr TemplateEdit kConsumersReadLate = {
    kPass, "    WaitBarrier<Plan>(site, report, ring.Full(cursor.index), cursor.parity);\n",
    "    WaitBarrier<Plan>(site, report, ring.Full(cursor.index), cursor.parity);\n"
    "    __nanosleep(4000);\n"};
constexpr TemplateEdit kOtherKGroupStoresLate = {kGroupSum, "    if (share.k_group > 0) {\n",
                                                 "    if (share.k_group > 0) {\n"
                                                 "      __nanosleep(40000);\n"};

constexpr TemplateEdit kFirstCtaStoresLate = {kGridGather,
                                              "StorePass(u32 first_row, u32 row_group) const {\n",
                                              "StorePass(u32 first_row, u32 row_group) const {\n"
                                              "    if (blockIdx.x == 0) __nanosleep(40000);\n"};
constexpr TemplateEdit kSecondWarpgroupStoresLate = {
    kGridGather, "StorePass(u32 first_row, u32 row_group) const {\n",
    "StorePass(u32 first_row, u32 row_group) const {\n"
    "    if (row_group == 1) __nanosleep(40000);\n"};
constexpr TemplateEdit kFirstKGroupAddsLate = {kGroupSum, "    if (share.k_group == 0) {\n",
                                               "    if (share.k_group == 0) {\n"
                                               "      __nanosleep(40000);\n"};

// Of other clusters too: those that read the late one's rows instead of their own show as well.
constexpr TemplateEdit kRankZeroNormalizesLate = {
    kRows, "  __device__ __forceinline__ void Produce(u32 thread) const {\n",
    "  __device__ __forceinline__ void Produce(u32 thread) const {\n"
    "    if (rank == 0) __nanosleep(cluster == 0 ? 80000 : 40000);\n"};
constexpr TemplateEdit kSecondWarpNormalizesLate = {
    kRows,
    "    const float scale = ptx::ReciprocalSquareRoot(squares / Plan::kHidden + params.eps);\n",
    "    const float scale = ptx::ReciprocalSquareRoot(squares / Plan::kHidden + params.eps);\n"
    "    if (thread / kWarpThreads == 1) __nanosleep(40000);\n"};

std::vector<Mutation> MakeMutations() {
  return {
      {.name = "start_barrier",
       .removed = "cluster barrier at the start: only a CTA's own barriers are known to be "
                  "initialised; a peer's push into a late CTA is lost",
       .symptom = Symptom::kRunTime,
       .removal = {{kKernel,
                    "  ptx::ClusterArrive();  // thread 0's inits are released to the cluster\n",
                    "  __syncthreads();\n"},
                   {kKernel, "    ptx::ClusterWait();  // peers' barriers are initialised\n", ""},
                   {kKernel, "  ptx::ClusterWait();\n  if (role == WarpRole::kActivation",
                    "  if (role == WarpRole::kActivation"}},
       .provocation = {kRankZeroStartsLate}},
      {.name = "exit_wait",
       .removed = "cluster barrier at the end: a CTA leaves while its slice is still read; copies "
                  "are mostly faster than phase 2, so the text is judged",
       .symptom = Symptom::kText,
       .removal = {{kDsmFlow,
                    "    ptx::ClusterArrive();       // all slices have come: peers may leave\n",
                    ""},
                   {kKernel, "  if constexpr (Flow::kLeavesTogether) ptx::ClusterArrive();\n", ""},
                   {kKernel, "  if constexpr (Flow::kLeavesTogether) ptx::ClusterWait();\n", ""}},
       .provocation = {kRankZeroPushesLate}},
      {.name = "proxy_fence",
       .removed = "fence.proxy.async before the push: copies and wgmma may read h before it is "
                  "there; hardware mostly orders them, so the text is judged",
       .symptom = Symptom::kText,
       .removal = {{kGather, "    ptx::FenceProxyAsyncShared();\n", ""}},
       .provocation = {}},
      {.name = "push_barrier",
       .removed =
           "named barrier of the pushing warpgroup: rows of its late warps are pushed before "
           "they are stored",
       .symptom = Symptom::kRunTime,
       .removal = {{kGather,
                    "    ptx::NamedBarrier(kPushBarrier + row_group, kWarpgroupThreads);\n", ""}},
       .provocation = {kLastWarpStoresLate}},
      {.name = "gather_wait",
       .removed = "wait for the peers' slices: phase 2 reads what an earlier launch left",
       .symptom = Symptom::kRunTime,
       .removal = {{kDsmFlow, "    gather.Wait(report);\n", ""}},
       .provocation = {kRankZeroPushesLate}},
      {.name = "k_group_barrier",
       .removed = "named barrier between the warpgroups that split k: sums are added before they "
                  "are stored",
       .symptom = Symptom::kRunTime,
       .removal = {{kGroupSum,
                    "    ptx::NamedBarrier(kKGroupBarrier, kThreads);\n    if (share.k_group == 0)",
                    "    if (share.k_group == 0)"}},
       .provocation = {kOtherKGroupStoresLate}},
      {.name = "weight_empty_wait",
       .removed = "the weight producer's wait for a free slot: slots are overwritten while read",
       .symptom = Symptom::kRunTime,
       .removal = {{kProducers,
                    "    WaitBarrier<Plan>(SpinSite::kWeightEmpty, params.workspace, "
                    "ring.Empty(next.index),\n                      next.parity ^ 1);\n",
                    ""}},
       .provocation = {kConsumersReadLate}},
      {.name = "activation_empty_wait",
       .removed =
           "the activation producer's wait for a free slot: slots are overwritten while read",
       .symptom = Symptom::kRunTime,
       .removal = {{kProducers,
                    "      WaitBarrier<Plan>(SpinSite::kActivationEmpty, params.workspace, "
                    "ring.Empty(cursor.index),\n                        cursor.parity ^ 1);\n",
                    ""}},
       .provocation = {kConsumersReadLate}},
      {.name = "full_wait",
       .removed = "the consumers' wait for a full slot: slots are read before they land",
       .symptom = Symptom::kRunTime,
       .removal = {{kPass,
                    "    WaitBarrier<Plan>(site, report, ring.Full(cursor.index), "
                    "cursor.parity);\n",
                    ""}},
       .provocation = {}},
      {.name = "activation_dependency",
       .removed = "griddepcontrol.wait before x is read: the previous kernel's y is not there yet",
       .symptom = Symptom::kRunTime,
       .removal = {{kCta,
                    "    } else {\n"
                    "      ptx::GridDependencyWait();  // x is the previous kernel's output\n",
                    "    } else {\n"}},
       .provocation = {kRankZeroPushesLate}},
      {.name = "rows_ready_wait",
       .removed = "the activation producer's wait for the cluster's normalised rows: what the "
                  "workspace held before is streamed",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kNormed,
       .removal = {{kRows, "    Wait();\n    ptx::FenceProxyAsync();\n",
                    "    ptx::FenceProxyAsync();\n"}},
       .provocation = {kRankZeroNormalizesLate}},
      {.name = "rows_writers_barrier",
       .removed = "named barrier of the warps that write rows: rows of late warps are announced "
                  "before they are stored; a warp 40 us late did not show in 60 runs, so the text "
                  "is judged",
       .symptom = Symptom::kText,
       .op = MutatedOp::kNormed,
       .removal = {{kRows, "    ptx::NamedBarrier(kRowsBarrier, kThreads);\n    Jitter<Plan>();\n",
                    "    Jitter<Plan>();\n"}},
       .provocation = {kSecondWarpNormalizesLate}},
      {.name = "rows_proxy_fence",
       .removed = "fence.proxy.async on both sides of the normalised rows: copies may read them "
                  "before they are there; hardware mostly orders them, so the text is judged",
       .symptom = Symptom::kText,
       .op = MutatedOp::kNormed,
       .removal = {{kRows, "    }\n    ptx::FenceProxyAsync();\n", "    }\n"},
                   {kRows, "    Wait();\n    ptx::FenceProxyAsync();\n", "    Wait();\n"}},
       .provocation = {}},
      {.name = "partials_stored_wait",
       .removed = "the combiners' wait for the consumers' partial sums: others' old ones are added",
       .symptom = Symptom::kRunTime,
       .removal = {{kPartials,
                    "      WaitBarrier<Plan>(SpinSite::kPartialsStored, params.workspace, stored + "
                    "pass * 8, 0);\n",
                    ""}},
       .provocation = {}},
      {.name = "counter_order",
       .removed =
           "acquire and release of the units' counters: partial sums may be read before they "
           "are written; rare on hardware, so the text is judged",
       .symptom = Symptom::kText,
       .removal = {{kGlobalMemory, "atom.acq_rel.gpu.global.add.u32",
                    "atom.relaxed.gpu.global.add.u32"}},
       .provocation = {}},
      {.name = "grid_arrived_wait",
       .removed = "the wait for all CTAs' slices: h is read before it is there",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kGrid,
       .removal = {{kGridGather,
                    "    SpinUntil<Plan>(SpinSite::kGridArrived, params.workspace,\n"
                    "                    [&] { return ptx::LoadAcquire(Arrived()) == kGridCtas; "
                    "});\n",
                    ""}},
       .provocation = {kFirstCtaStoresLate}},
      {.name = "grid_writers_barrier",
       .removed = "named barrier of all consumers before the arrival: the other warpgroup's rows "
                  "are announced before they are stored",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kGridRows,
       .removal = {{kGridGather,
                    "    ptx::NamedBarrier(kGatherBarrier, Plan::kConsumerWarpgroups * "
                    "kWarpgroupThreads);\n",
                    ""}},
       .provocation = {kSecondWarpgroupStoresLate}},
      {.name = "grid_slice_barrier",
       .removed = "named barrier between a slice's stores to shared memory and their copy: a late "
                  "warp's rows are copied before they are stored",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kGrid,
       .removal = {{kGridGather,
                    "    ptx::NamedBarrier(kSliceBarrier + row_group, kWarpgroupThreads);\n"
                    "    if constexpr (Phase::kTokensAreRows) {",
                    "    if constexpr (Phase::kTokensAreRows) {"}},
       .provocation = {kLastWarpStoresLate}},
      {.name = "grid_slice_reuse",
       .removed = "named barrier between a slice's copy and the next pass's stores: wgmma keeps a "
                  "warpgroup together in between, so the text is judged",
       .symptom = Symptom::kText,
       .op = MutatedOp::kGrid,
       .removal = {{kGridGather,
                    "    }\n    ptx::NamedBarrier(kSliceBarrier + row_group, kWarpgroupThreads);\n",
                    "    }\n"}},
       .provocation = {}},
      {.name = "grid_k_group_reuse",
       .removed = "named barrier before sums are handed over again: they are overwritten while the "
                  "other group still reads",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kGrid,
       .removal = {{kGroupSum,
                    "    if constexpr (Plan::kEdge == Edge::kGridGather) "
                    "ptx::NamedBarrier(kKGroupBarrier, kThreads);\n",
                    ""}},
       .provocation = {kFirstKGroupAddsLate}},
      {.name = "grid_proxy_fence",
       .removed = "fence.proxy.async on both sides of h: copies may read it before it is there; "
                  "hardware mostly orders them, so the text is judged",
       .symptom = Symptom::kText,
       .op = MutatedOp::kGrid,
       .removal = {{kGridGather, "    ptx::FenceProxyAsync();\n    ptx::NamedBarrier(kGather",
                    "    ptx::NamedBarrier(kGather"},
                   {kGridGather, "    }\n    ptx::FenceProxyAsync();\n  }\n", "    }\n  }\n"}},
       .provocation = {}},
      {.name = "grid_order",
       .removed = "acquire of the arrivals: h may be read before it is written; rare on hardware, "
                  "so the text is judged",
       .symptom = Symptom::kText,
       .op = MutatedOp::kGrid,
       .removal = {{kGlobalMemory, "ld.acquire.gpu.global.u32", "ld.relaxed.gpu.global.u32"}},
       .provocation = {}},
      {.name = "grid_dependency",
       .removed = "griddepcontrol.wait before h is stored: x comes after one too, so that it holds "
                  "by itself on hardware, and the text is judged",
       .symptom = Symptom::kText,
       .op = MutatedOp::kGrid,
       .removal = {{kGridFlow,
                    "      if (pass == 0) ptx::GridDependencyWait();  // the workspace and y are "
                    "ours from here\n",
                    ""}},
       .provocation = {}},
      {.name = "grid_reset",
       .removed = "setting the arrivals back: the second launch on a workspace waits for ever",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kGrid,
       .removal = {{kGridGather, "      *Arrived() = 0;\n", ""}},
       .provocation = {}},
      {.name = "counter_reset",
       .removed = "setting a unit's counter back: the second launch on a workspace writes nothing",
       .symptom = Symptom::kRunTime,
       .removal = {{kPartials, "    if (last) *counter = 0;\n", ""}},
       .provocation = {}},
  };
}

}  // namespace

const std::vector<Mutation>& Mutations() {
  static const auto* const kMutations = [] {
    auto* const all = new std::vector<Mutation>(MakeMutations());
    const std::vector<Mutation> shared = ClusterMutations();
    all->insert(all->end(), shared.begin(), shared.end());
    return all;
  }();
  return *kMutations;
}

const Mutation* FindMutation(std::string_view name) {
  for (const Mutation& mutation : Mutations()) {
    if (mutation.name == name) return &mutation;
  }
  return nullptr;
}

absl::StatusOr<TemplateSet> Edited(const std::vector<TemplateEdit>& edits) {
  TemplateSet templates = TemplateSet::Embedded();
  for (const TemplateEdit& edit : edits) {
    FUSEBOX_ASSIGN_OR_RETURN(templates, templates.Replaced(edit.path, edit.from, edit.to));
  }
  return templates;
}

std::vector<TemplateEdit> RemovalAndProvocation(const Mutation& mutation) {
  std::vector<TemplateEdit> edits = mutation.provocation;  // first: a removal may take its anchor
  edits.insert(edits.end(), mutation.removal.begin(), mutation.removal.end());
  return edits;
}

namespace {

FusionPlan DsmPlan(const FfnProblem& problem) {
  return {.problem = problem,
          .token_tile = 8,
          .cluster_size = 4,
          .num_clusters = 4,
          .consumer_warpgroups = 2,
          .ring_slots = 4,
          .slots_in_flight = 4,
          .activation_slots = 3,
          .up = {.rows_per_pass = 128, .k_per_slot = 64, .k_warpgroups = 2},
          .down = {.rows_per_pass = 64, .passes = 2, .k_per_slot = 64}};
}

FusionPlan GridPlan(const FfnProblem& problem, const PhasePartition& up,
                    const PhasePartition& down) {
  return {.problem = problem,
          .token_tile = 8,
          .cluster_size = 1,
          .num_clusters = 16,
          .consumer_warpgroups = 2,
          .ring_slots = 3,
          .slots_in_flight = 3,
          .activation_slots = 3,
          .up = up,
          .down = down,
          .edge_scope = Scope::kGrid,
          .combine = Combine::kNone};
}

FusionPlan SplitPlan(const FfnProblem& problem, MmaRows mma_rows, int token_tile, int num_clusters,
                     const PhasePartition& up, const PhasePartition& down) {
  return {.problem = problem,
          .token_tile = token_tile,
          .cluster_size = 4,
          .num_clusters = num_clusters,
          .consumer_warpgroups = 2,
          .mma_rows = mma_rows,
          .ring_slots = 3,
          .slots_in_flight = 3,
          .activation_slots = 3,
          .up = up,
          .down = down,
          .edge_scope = Scope::kGrid,
          .combine = Combine::kDsmReduceScatter,
          .activation_multicast = true};
}

}  // namespace

FusionPlan MutatedPlan(MutatedOp op) {
  FfnProblem problem{.hidden = DimK(512), .intermediate = DimN(2048)};
  switch (op) {
    case MutatedOp::kBare:
      return DsmPlan(problem);
    case MutatedOp::kNormed:
      problem.norm = Norm::kRms;
      problem.residual_mode = ResidualMode::kAddBeforeNorm;
      return DsmPlan(problem);
    case MutatedOp::kGrid:
      return GridPlan(problem,
                      {.rows_per_pass = 64, .passes = 2, .k_per_slot = 256, .k_warpgroups = 2},
                      {.rows_per_pass = 32, .passes = 1, .k_per_slot = 256, .k_warpgroups = 2});
    case MutatedOp::kGridRows:
      return GridPlan(problem, {.rows_per_pass = 128, .k_per_slot = 64},
                      {.rows_per_pass = 32, .k_per_slot = 64, .k_warpgroups = 2});
    case MutatedOp::kSplit:
      return SplitPlan(problem, MmaRows::kWeights, 32, 4, {.rows_per_pass = 128, .k_per_slot = 64},
                       {.rows_per_pass = 64, .k_per_slot = 64, .k_warpgroups = 2, .k_ctas = 2});
    case MutatedOp::kSplitTokens:
      return SplitPlan(problem, MmaRows::kTokens, 64, 8,
                       {.rows_per_pass = 64, .k_per_slot = 64, .k_warpgroups = 2},
                       {.rows_per_pass = 64, .k_per_slot = 64, .k_warpgroups = 2, .k_ctas = 4});
  }
  return {};
}

}  // namespace fusebox
