// Parts of the pages that commands write: HTML and SVG that need no other file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shoal::cli {

// A whole page. The title may be anybody's text; `body` is HTML.
std::string html_page(std::string_view title, const std::string& body);

// A row of a table. Cells may be anybody's text.
std::string html_row(const std::vector<std::string>& cells, const char* cell = "td");

// A picture, and a text in it, which may be anybody's.
std::string svg(double width, double height, const std::string& inside);
std::string svg_text(double x, double y, std::string_view text, const char* more = "");

// A network by cost and accuracy.
struct CostPoint {
  double cost = 0, top1 = 0;
  bool on_front = false;  // no other one is better in both
  std::string name = {};  // may be anybody's text
};

// The points in one picture, those of the front in blue. `unit` is that of the cost. REQUIRES:
// points are not empty.
std::string front_picture(const std::vector<CostPoint>& points, std::string_view unit);

}  // namespace shoal::cli
