// The knobs: every environment variable that Fusebox reads for itself. README's table equals this
// one (a test compares). Invariant: a row here has an effect in this version. Include with
// FUSEBOX_KNOB(name, default, description) defined.
//
// No include guard: the table is included once for each use of its rows.
#ifndef FUSEBOX_KNOB
#error "define FUSEBOX_KNOB(name, default, description) before including the table"
#endif

FUSEBOX_KNOB(ENABLE, "1",
             "0 declines every op; 1 serves all; or a comma list of ops to serve (ffn)")
FUSEBOX_KNOB(DECLINE_SLOWER, "1",
             "decline a token tile that is predicted to be slower fused (rule fusion_pays); 0 "
             "serves it anyway")
FUSEBOX_KNOB(CACHE_DIR, "$XDG_CACHE_HOME/fusebox",
             "colon list of kernel cache roots: all are searched, only the first is written")
FUSEBOX_KNOB(COMPILE, "background",
             "background: a thread pool compiles; block: prepare waits; never: caches only")
FUSEBOX_KNOB(COMPILE_THREADS, "2", "threads of background compilation, 1 to 64")
FUSEBOX_KNOB(NVRTC_PATH, "", "NVRTC's file or its folder; when set, no other place is searched")
FUSEBOX_KNOB(DEVICE_PROFILE, "", "name of the GPU profile to plan for; empty: by the GPU's name")
FUSEBOX_KNOB(LOG_LEVEL, "warn", "trace, debug, info, warn, error or off")
FUSEBOX_KNOB(LOG_FILE, "", "file to append the log to; empty: standard error")
FUSEBOX_KNOB(PDL, "1", "programmatic dependent launch: 0, false, off or no; 1, true, on or yes")
FUSEBOX_KNOB(SHADOW, "0",
             "N: every N-th launch of a binding is compared with a slow reference on the GPU, for "
             "debugging; 0: none")
FUSEBOX_KNOB(
    DUMP_DIR, "",
    "folder that gets plan, source, cubin, log and a reproduce script of each kernel compiled")
FUSEBOX_KNOB(RECORD, "",
             "file that gets a line for each op and token tile asked for, for warm --manifest")
FUSEBOX_KNOB(FORCE_PLAN, "",
             "plan to use for its op and token tile, as JSON; or @FILE with one plan a line")
FUSEBOX_KNOB(TEMPLATE_DIR, "",
             "folder with a copy of kernels_templates to use instead of what is built in")

#undef FUSEBOX_KNOB
