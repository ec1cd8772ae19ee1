#include "src/device/device_spec.h"

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/base/strict_json.h"

namespace fusebox {
namespace {

// Reads {"value": ..., "source": "..."} pairs and notes the sources.
class ProfileFields {
 public:
  ProfileFields(StrictJson& json, DeviceSpec& spec) : json_(json), spec_(spec) {}

  void Read(std::string_view path, double* target, double min, double max) {
    *target = json_.Number(absl::StrCat(path, ".value"), min, max);
    NoteSource(path);
  }
  template <typename Integer>
  void Read(std::string_view path, Integer* target, int64_t min, int64_t max) {
    *target = static_cast<Integer>(json_.Integer(absl::StrCat(path, ".value"), min, max));
    NoteSource(path);
  }

 private:
  void NoteSource(std::string_view path) {
    spec_.sources[std::string(path)] = json_.String(absl::StrCat(path, ".source"));
  }
  StrictJson& json_;
  DeviceSpec& spec_;
};

void ReadLimits(ProfileFields& fields, DeviceSpec& spec) {
  fields.Read("num_sms", &spec.num_sms, 1, 1024);
  fields.Read("smem_per_cta_bytes", &spec.smem_per_cta_bytes, 1024, 1 << 20);
  fields.Read("registers_per_sm", &spec.registers_per_sm, 1024, 1 << 20);
  fields.Read("max_registers_per_thread", &spec.max_registers_per_thread, 16, 255);
  fields.Read("max_threads_per_cta", &spec.max_threads_per_cta, 128, 1024);
  fields.Read("l2_bytes", &spec.l2_bytes, 1 << 20, int64_t{1} << 32);
}

void ReadClusters(ProfileFields& fields, DeviceSpec& spec) {
  for (size_t i = 0; i < kClusterSizes.size(); ++i) {
    ClusterCapacity& cluster = spec.clusters[i];
    cluster.cluster_size = kClusterSizes[i];
    const std::string path = absl::StrCat("clusters.", cluster.cluster_size);
    fields.Read(absl::StrCat(path, ".resident_ctas"), &cluster.resident_ctas, 0, 4096);
    fields.Read(absl::StrCat(path, ".dsm_gb_per_s"), &cluster.dsm_gb_per_s, 1.0, 1e6);
    fields.Read(absl::StrCat(path, ".launch_us"), &cluster.launch_us, 0.0, 1e3);
  }
}

void ReadRates(ProfileFields& fields, DeviceSpec& spec) {
  fields.Read("clock_ghz", &spec.clock_ghz, 0.1, 10.0);
  fields.Read("hbm_read_gb_per_s", &spec.hbm_read_gb_per_s, 1.0, 1e6);
  fields.Read("weight_stream_gb_per_s", &spec.weight_stream_gb_per_s, 1.0, 1e6);
  fields.Read("hbm_latency_ns", &spec.hbm_latency_ns, 1.0, 1e6);
  fields.Read("queue_depth", &spec.queue_depth, 0.1, 1e3);
  fields.Read("model_resolution", &spec.model_resolution, 0.0, 1.0);
  fields.Read("queue_cost", &spec.queue_cost, 0.0, 10.0);
  fields.Read("activation_latency_ns", &spec.activation_latency_ns, 1.0, 1e6);
  fields.Read("smem_bytes_per_cycle", &spec.smem_bytes_per_cycle, 1.0, 4096.0);
  fields.Read("partials_l2_share", &spec.partials_l2_share, 0.0, 1.0);
}

void ReadKernelCosts(ProfileFields& fields, DeviceSpec& spec) {
  constexpr double kMaxNs = 1e6;  // a millisecond: far above any of these
  fields.Read("kernel.boundary_plain_us", &spec.boundary_plain_us, 0.0, 1e3);
  fields.Read("kernel.boundary_pdl_us", &spec.boundary_pdl_us, 0.0, 1e3);
  fields.Read("kernel.launch_us", &spec.launch_us, 0.0, 1e3);
  fields.Read("kernel.held_slots", &spec.held_slots, 0.0, 2.0);
  fields.Read("kernel.producer_box_ns", &spec.producer_box_ns, 0.0, kMaxNs);
  fields.Read("kernel.wgmma_ns", &spec.wgmma_ns, 0.0, kMaxNs);
  fields.Read("kernel.wgmma_ns_per_token", &spec.wgmma_ns_per_token, 0.0, kMaxNs);
  fields.Read("kernel.k_exchange_ns", &spec.k_exchange_ns, 0.0, kMaxNs);
  fields.Read("kernel.slot_ns", &spec.slot_ns, 0.0, 1e6);
  fields.Read("kernel.grid_gather_us", &spec.grid_gather_us, 0.0, 1e3);
  fields.Read("kernel.reduce_scatter_us", &spec.reduce_scatter_us, 0.0, 1e3);
  fields.Read("kernel.combine_unit_ns", &spec.combine_unit_ns, 0.0, kMaxNs);
  fields.Read("kernel.combine_pass_ns", &spec.combine_pass_ns, 0.0, kMaxNs);
  fields.Read("kernel.combine_patience_ns", &spec.combine_patience_ns, 0.0, kMaxNs);
  fields.Read("kernel.combine_party_ns", &spec.combine_party_ns, 0.0, kMaxNs);
  fields.Read("kernel.combine_batch", &spec.combine_batch, 1, 1024);
  fields.Read("kernel.registers", &spec.kernel_registers, 0, 255);
}

void ReadUnfusedRates(ProfileFields& fields, UnfusedRates& rates) {
  fields.Read("unfused.gemm_us", &rates.gemm_us, 0.0, 1e3);
  fields.Read("unfused.gemm_gb_per_s", &rates.gemm_gb_per_s, 1.0, 1e6);
  fields.Read("unfused.gemm_tflops", &rates.gemm_tflops, 1.0, 1e6);
  fields.Read("unfused.elementwise_us", &rates.elementwise_us, 0.0, 1e3);
  fields.Read("unfused.elementwise_gb_per_s", &rates.elementwise_gb_per_s, 1.0, 1e6);
}

}  // namespace

const ClusterCapacity* DeviceSpec::FindCluster(int cluster_size) const {
  for (const ClusterCapacity& cluster : clusters) {
    if (cluster.cluster_size == cluster_size) return &cluster;
  }
  return nullptr;
}

absl::StatusOr<DeviceSpec> DeviceSpec::FromJson(std::string_view json) {
  FUSEBOX_ASSIGN_OR_RETURN(StrictJson document, StrictJson::Parse(json, "device profile"));
  DeviceSpec spec;
  spec.name = document.String("name");
  spec.architecture = document.String("architecture");
  ProfileFields fields(document, spec);
  ReadLimits(fields, spec);
  ReadClusters(fields, spec);
  ReadRates(fields, spec);
  ReadKernelCosts(fields, spec);
  ReadUnfusedRates(fields, spec.unfused);
  FUSEBOX_RETURN_IF_ERROR(document.Finish());
  return spec;
}

}  // namespace fusebox
