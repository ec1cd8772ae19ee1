#include "runtime/tools/table.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_format.h"
#include "src/base/check.h"

namespace fusebox {
namespace {

void AppendCell(std::string& line, std::string_view cell, size_t width, Align align) {
  const size_t padding = width - cell.size();
  if (align == Align::kRight) line.append(padding, ' ');
  line.append(cell);
  if (align == Align::kLeft) line.append(padding, ' ');
}

}  // namespace

void Table::AddRow(std::vector<std::string> cells) {
  FUSEBOX_CHECK(cells.size() == columns_.size(), "a table row has one cell a column");
  rows_.push_back(std::move(cells));
}

std::string Table::ToText() const {
  constexpr std::string_view kGap = "  ";
  std::vector<size_t> widths;
  for (size_t column = 0; column < columns_.size(); ++column) {
    size_t width = columns_[column].heading.size();
    for (const auto& row : rows_) width = std::max(width, row[column].size());
    widths.push_back(width);
  }
  std::string text;
  const auto append_line = [&](const auto& cell_of) {
    std::string line;
    for (size_t column = 0; column < columns_.size(); ++column) {
      if (column > 0) line.append(kGap);
      AppendCell(line, cell_of(column), widths[column], columns_[column].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text.append(line).push_back('\n');
  };
  append_line([&](size_t column) { return columns_[column].heading; });
  append_line([&](size_t column) { return std::string(widths[column], '-'); });
  for (const auto& row : rows_) {
    append_line([&](size_t column) { return std::string_view(row[column]); });
  }
  return text;
}

std::string Fixed(double value, int decimals) { return absl::StrFormat("%.*f", decimals, value); }

std::string BytesText(int64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return absl::StrFormat("%d B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, std::string(kUnits[unit]));
}

}  // namespace fusebox
