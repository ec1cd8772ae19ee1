// EmbeddedTemplates gives the device code of kernels_templates/ as it was when the library was
// built. Invariant: sorted by path, each path spelled from the repository root, as in #include.
// Thread-safe: constants only.
#ifndef FUSEBOX_SRC_SOURCE_EMBEDDED_TEMPLATES_H_
#define FUSEBOX_SRC_SOURCE_EMBEDDED_TEMPLATES_H_

#include <span>
#include <string_view>

namespace fusebox {

struct EmbeddedTemplate {
  std::string_view path;  // "kernels_templates/ptx/tma.cuh"
  std::string_view text;  // the file, byte for byte; NUL-terminated after its last byte
};

// Defined in a generated file; see cmake/embed_text.cmake.
std::span<const EmbeddedTemplate> EmbeddedTemplates();

}  // namespace fusebox

#endif  // FUSEBOX_SRC_SOURCE_EMBEDDED_TEMPLATES_H_
