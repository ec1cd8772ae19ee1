#include "runtime/tools/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_format.h"

namespace fusebox {
namespace {

constexpr int kDefaultColumns = 80;

int TerminalColumns(std::FILE* stream) {
  winsize size = {};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefaultColumns;
  return size.ws_col;
}

}  // namespace

Progress::Style Progress::StyleFor(std::FILE* stream) {
  return isatty(fileno(stream)) == 1 ? Style::kBar : Style::kLines;
}

Progress::~Progress() {
  if (style_ != Style::kBar) return;
  std::fputs("\r\x1b[K", stream_);  // ECMA-48 EL: erase to the end of the line
  std::fflush(stream_);
}

void Progress::Finished(std::string_view piece, std::string_view outcome) {
  if (style_ == Style::kSilent) return;
  absl::MutexLock lock(&mutex_);
  ++done_;
  if (style_ == Style::kLines) {
    absl::FPrintF(stream_, "[%d/%d] %s: %s\n", done_, total_, std::string(piece),
                  std::string(outcome));
  } else {
    absl::FPrintF(stream_, "\r\x1b[K%s",
                  BarText(done_, total_, piece, outcome, TerminalColumns(stream_) - 1));
  }
  std::fflush(stream_);
}

std::string Progress::BarText(int done, int total, std::string_view piece, std::string_view outcome,
                              int columns) {
  constexpr int kBarWidth = 20;
  const int filled = total > 0 ? std::min(done, total) * kBarWidth / total : kBarWidth;
  std::string text = absl::StrFormat("[%s%s] %d/%d  %s: %s", std::string(filled, '#'),
                                     std::string(kBarWidth - filled, '.'), done, total,
                                     std::string(piece), std::string(outcome));
  text.resize(std::min(text.size(), static_cast<size_t>(std::max(columns, 0))));
  return text;
}

}  // namespace fusebox
