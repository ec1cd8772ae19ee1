// TextMutator makes broken variants of texts that a parser accepts: bytes flipped, cut, repeated,
// and JSON values swapped for awkward ones. Invariant: the same seed gives the same variants, so
// that a failure is repeated by its number. Not thread-safe.
#ifndef FUSEBOX_TESTS_FUZZ_TEXT_MUTATOR_H_
#define FUSEBOX_TESTS_FUZZ_TEXT_MUTATOR_H_

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace fusebox {

class TextMutator {
 public:
  explicit TextMutator(uint64_t seed) : random_(seed) {}

  // One to four mutations of `text`.
  std::string Mutate(std::string text) {
    for (uint64_t count = 1 + Below(4); count > 0; --count) MutateOnce(text);
    return text;
  }

 private:
  static constexpr std::array<std::string_view, 18> kAwkward = {"0",
                                                                "-1",
                                                                "1e12",
                                                                "1000000000000",
                                                                "18446744073709551616",
                                                                "-9223372036854775808",
                                                                "1.5",
                                                                "1e999",
                                                                "NaN",
                                                                "true",
                                                                "null",
                                                                "\"\"",
                                                                "\"4096\"",
                                                                "[]",
                                                                "{}",
                                                                "[[[[[[",
                                                                "\"\\u0000\"",
                                                                "\"\xff\""};

  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void MutateOnce(std::string& text) {
    const size_t at = Below(text.size() + 1);
    const size_t span = Below(8);
    switch (Below(7)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 1:
        text.erase(at, span);
        break;
      case 2:
        text.insert(at, text.substr(Below(text.size() + 1), span));
        break;
      case 3:
        text.resize(at);
        break;
      case 4:
        text.insert(at, std::string(1, static_cast<char>(random_())));
        break;
      default:
        ReplaceValue(text, at);
    }
  }

  // The value after the next colon becomes an awkward one.
  void ReplaceValue(std::string& text, size_t at) {
    const size_t colon = text.find(':', at);
    if (colon == std::string::npos) return;
    const size_t end = text.find_first_of(",}\n", colon);
    text.replace(colon + 1, end == std::string::npos ? end : end - colon - 1,
                 kAwkward[Below(kAwkward.size())]);
  }

  std::mt19937_64 random_;
};

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_FUZZ_TEXT_MUTATOR_H_
