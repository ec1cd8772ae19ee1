// Every size that a struct had in an earlier version of this major one is still accepted, so that
// the callers of that version are served (runtime/engine/struct_size.h).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "fusebox/fusebox.h"
#include "runtime/engine/struct_size.h"

namespace fusebox {
namespace {

using IsKnown = bool (*)(size_t struct_size);

const std::map<std::string, IsKnown> kStructs = {
    {"fusebox_engine_options", IsKnownSize<fusebox_engine_options>},
    {"fusebox_engine_stats_values", IsKnownSize<fusebox_engine_stats_values>},
    {"fusebox_ffn_desc", IsKnownSize<fusebox_ffn_desc>},
    {"fusebox_ffn_weights", IsKnownSize<fusebox_ffn_weights>},
    {"fusebox_ffn_args", IsKnownSize<fusebox_ffn_args>},
};

TEST(StructSizesTest, EverySizeOfAnEarlierVersionIsKnown) {
  const std::string major = std::to_string(FUSEBOX_VERSION_MAJOR) + ".";
  int num_snapshots = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/abi/snapshots")) {
    const std::string version = entry.path().stem();
    if (version.compare(0, major.size(), major) != 0) continue;
    ++num_snapshots;
    std::ifstream file(entry.path());
    const auto facts = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(facts.is_object()) << entry.path();
    for (const auto& [name, layout] : facts["structs"].items()) {
      const auto known = kStructs.find(name);
      ASSERT_NE(known, kStructs.end())
          << name << " is a struct of version " << version << "; add it to kStructs";
      const size_t bytes = layout["bytes"].get<size_t>();
      EXPECT_TRUE(known->second(bytes))
          << name << " had " << bytes << " bytes in version " << version
          << "; add that size to KnownSizes in runtime/engine/struct_size.h";
    }
  }
  EXPECT_GT(num_snapshots, 0);
}

}  // namespace
}  // namespace fusebox
