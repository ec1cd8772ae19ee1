// The engine's counters: the fields of fusebox_engine_stats_values, with their Prometheus names and
// help. Include with FUSEBOX_COUNTER(field, prometheus_name, help) defined.
//
// No include guard: the table is included once for each use of its rows.
#ifndef FUSEBOX_COUNTER
#error "define FUSEBOX_COUNTER(field, prometheus_name, help) before including the table"
#endif

FUSEBOX_COUNTER(launches, "fusebox_launches_total", "Kernels enqueued")
FUSEBOX_COUNTER(launches_not_ready, "fusebox_launches_not_ready_total",
                "Launches answered NOT_READY")
FUSEBOX_COUNTER(launches_declined, "fusebox_launches_declined_total", "Launches answered DECLINED")
FUSEBOX_COUNTER(launches_failed, "fusebox_launches_failed_total", "Launches answered otherwise")
FUSEBOX_COUNTER(ops_created, "fusebox_ops_created_total", "Ops made")
FUSEBOX_COUNTER(ops_declined, "fusebox_ops_declined_total", "Ops answered DECLINED")
FUSEBOX_COUNTER(kernels_ready, "fusebox_kernels_ready_total", "Kernels made ready")
FUSEBOX_COUNTER(kernels_failed, "fusebox_kernels_failed_total",
                "Kernels that failed to compile or to load")
FUSEBOX_COUNTER(cache_memory_hits, "fusebox_cache_memory_hits_total", "Kernels found in memory")
FUSEBOX_COUNTER(cache_disk_hits, "fusebox_cache_disk_hits_total", "Kernels found on disk")
FUSEBOX_COUNTER(cache_misses, "fusebox_cache_misses_total", "Kernels found in no cache")
FUSEBOX_COUNTER(cache_bad_entries, "fusebox_cache_bad_entries_total", "Cache entries found bad")
FUSEBOX_COUNTER(cache_write_failures, "fusebox_cache_write_failures_total",
                "Kernels that could not be written to disk")
FUSEBOX_COUNTER(compiles, "fusebox_compiles_total", "Kernels compiled")
FUSEBOX_COUNTER(compile_microseconds, "fusebox_compile_microseconds_total", "Time in NVRTC")
FUSEBOX_COUNTER(shadow_launches, "fusebox_shadow_launches_total",
                "Launches compared with the reference")
FUSEBOX_COUNTER(shadow_wrong, "fusebox_shadow_wrong_total",
                "Launches that the reference found wrong")

#undef FUSEBOX_COUNTER
