// FUSEBOX_CHECK stops the process when one of our own invariants does not hold. Never for input.
// No formatting and no allocation on success. Thread-safe.
#ifndef FUSEBOX_SRC_BASE_CHECK_H_
#define FUSEBOX_SRC_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define FUSEBOX_CHECK(condition, sentence)                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "fusebox: %s:%d: %s (%s)\n", __FILE__, __LINE__, sentence, #condition); \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)

#endif  // FUSEBOX_SRC_BASE_CHECK_H_
