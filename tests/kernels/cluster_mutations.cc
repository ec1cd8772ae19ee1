#include "tests/kernels/cluster_mutations.h"

#include <utility>

namespace fusebox {
namespace {

constexpr std::string_view kScatter = "kernels_templates/edges/dsm_reduce_scatter.cuh";
constexpr std::string_view kGridFlow = "kernels_templates/kernels/ffn_grid_gather.cuh";
constexpr std::string_view kProducers = "kernels_templates/copy/ffn_producers.cuh";
constexpr std::string_view kPass = "kernels_templates/mma/phase_pass.cuh";

// Provocations. The first CTA of each cluster is far behind its peers by the end of a phase.
constexpr TemplateEdit kFirstRankReadsLate = {
    kPass, "    WaitBarrier<Plan>(site, report, ring.Full(cursor.index), cursor.parity);\n",
    "    WaitBarrier<Plan>(site, report, ring.Full(cursor.index), cursor.parity);\n"
    "    if (blockIdx.x % Plan::kClusterSize == 0) __nanosleep(4000);\n"};
// In front of each unit's stores, behind all waits.
constexpr TemplateEdit kSecondPartPushesLate = {kScatter, "        ptx::StoreSharedCluster(",
                                                "        if (Part() == 1) __nanosleep(4000);\n"
                                                "        ptx::StoreSharedCluster("};

std::vector<Mutation> SplitMutations() {
  return {
      {.name = "sums_space_wait",
       .removed = "the wait for peers' space: sums are pushed into rings that a late peer still "
                  "multiplies from and fills",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kSplit,
       .removal = {{kScatter,
                    "    SpinUntil<Plan>(SpinSite::kPeersHaveSpace, outputs.params.workspace,\n"
                    "                    [&] { return ptx::MbarrierTryWaitCluster(space, 0); });\n",
                    ""}},
       .provocation = {kFirstRankReadsLate}},
      {.name = "sums_space_early",
       .removed = "the order of multiplying and offering space: a late peer has offered its rings "
                  "before it has multiplied",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kSplit,
       .removal =
           {{kGridFlow,
             "      RunStreamedPass<Plan, Down>(sums, weights, activations, share, report);\n"
             "      if constexpr (Down::kKCtas > 1) scatter.OfferSpace();\n",
             "      if constexpr (Down::kKCtas > 1) scatter.OfferSpace();\n"
             "      RunStreamedPass<Plan, Down>(sums, weights, activations, share, report);\n"}},
       .provocation = {kFirstRankReadsLate}},
      {.name = "sums_received_wait",
       .removed = "the wait for peers' sums: what the rings held is added",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kSplit,
       .removal = {{kScatter,
                    "    SpinUntil<Plan>(SpinSite::kSumsReceived, outputs.params.workspace,\n"
                    "                    [&] { return ptx::MbarrierTryWaitCluster(received + warp "
                    "* 8, 0); });\n",
                    ""}},
       .provocation = {kSecondPartPushesLate}},
      {.name = "sums_arrive_early",
       .removed = "the order of storing and announcing sums: a late peer has announced what it "
                  "has not stored",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kSplit,
       .removal = {{kScatter, "    ArriveAtPeers(received + warp * 8);\n", ""},
                   {kScatter,
                    "                    [&] { return ptx::MbarrierTryWaitCluster(space, 0); });\n",
                    "                    [&] { return ptx::MbarrierTryWaitCluster(space, 0); });\n"
                    "    ArriveAtPeers(received + warp * 8);\n"}},
       .provocation = {kSecondPartPushesLate}},
      {.name = "sums_arrival",
       .removed = "the announcement of sums: their owner waits for ever",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kSplit,
       .removal = {{kScatter, "    ArriveAtPeers(received + warp * 8);\n", ""}},
       .provocation = {}},
      {.name = "sums_release",
       .removed = "release of the arrivals at peers: sums may be announced before they are there; "
                  "rare on hardware, so the text is judged",
       .symptom = Symptom::kText,
       .op = MutatedOp::kSplit,
       .removal = {{kScatter,
                    "ptx::MbarrierArriveCluster(ptx::MapToPeer(barrier, rank - Part() + "
                    "outputs.lane));",
                    "ptx::MbarrierArriveRelaxed(ptx::MapToPeer(barrier, rank - Part() + "
                    "outputs.lane), 1);"}},
       .provocation = {}},
      {.name = "sums_acquire",
       .removed = "acquire at cluster scope of peers' sums: they may be read before they are "
                  "there; rare on hardware, so the text is judged",
       .symptom = Symptom::kText,
       .op = MutatedOp::kSplit,
       .removal = {{kScatter, "ptx::MbarrierTryWaitCluster(received",
                    "ptx::MbarrierTryWait(received"}},
       .provocation = {}},
      {.name = "sums_order",
       .removed = "the order of k: each owner begins with its own part, so that the bits depend on "
                  "who owns an output",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kSplitTokens,
       .removal = {{kScatter, "      if (slot == Part()) Add(sum, own);\n",
                    "      if (slot == 0) Add(sum, own);\n"}},
       .provocation = {}},
      {.name = "split_k_range",
       .removed = "the part of k that a CTA has: all multiply their weights with h's first part",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kSplitTokens,
       .removal = {{kGridFlow, "cta.rank % Down::kKCtas * Down::kK, cta.rank);", "0, cta.rank);"}},
       .provocation = {}},
  };
}

std::vector<Mutation> MulticastMutations() {
  return {
      {.name = "multicast_mask",
       .removed = "the peers that a part of the activation is copied to: each CTA waits for ever "
                  "for the others'",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kSplit,
       .removal = {{kProducers, "    const u32 peers = kSharerBits << (rank % Phase::kKCtas);\n",
                    "    const u32 peers = 1u << rank;\n"}},
       .provocation = {}},
      {.name = "multicast_release",
       .removed = "peers' releases of a slot: a CTA counts its own alone, and fills a slot that a "
                  "late peer still reads",
       .symptom = Symptom::kRunTime,
       .op = MutatedOp::kSplit,
       .removal = {{kPass,
                    "        const u32 peer = lane * Phase::kKCtas + rank % Phase::kKCtas;\n",
                    "        const u32 peer = rank;\n"}},
       .provocation = {kFirstRankReadsLate}},
      {.name = "multicast_exit",
       .removed = "the cluster barrier behind a phase 2 that is multicast: a CTA may leave while "
                  "peers still release slots to it; such arrivals are mostly too early to show, so "
                  "the text is judged",
       .symptom = Symptom::kText,
       .op = MutatedOp::kSplit,
       .removal = {{kGridFlow, "  static constexpr bool kLeavesTogether = Down::kMulticasts;\n",
                    "  static constexpr bool kLeavesTogether = false;\n"}},
       .provocation = {}},
  };
}

}  // namespace

std::vector<Mutation> ClusterMutations() {
  std::vector<Mutation> mutations = SplitMutations();
  for (Mutation& mutation : MulticastMutations()) mutations.push_back(std::move(mutation));
  return mutations;
}

}  // namespace fusebox
