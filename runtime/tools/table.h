// Table lays out rows under headings, in columns as wide as their widest cell.
// Invariant: every row has as many cells as there are headings.
// A value; no threads.
#ifndef FUSEBOX_RUNTIME_TOOLS_TABLE_H_
#define FUSEBOX_RUNTIME_TOOLS_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

namespace fusebox {

enum class Align { kLeft, kRight };  // text left, figures right

class Table {
 public:
  struct Column {
    std::string_view heading;
    Align align = Align::kLeft;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void AddRow(std::vector<std::string> cells);
  std::string ToText()
      const;  // with a rule under the headings; no trailing spaces; ends in a newline

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Cells. A figure that is not there is "-".
std::string Fixed(double value, int decimals);
std::string BytesText(int64_t bytes);  // "0 B", "1023 B", "1.5 KiB", "44.3 MiB"

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_TABLE_H_
