// Pages that commands write: HTML and SVG that need no other file, in the style of all pages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::page {

// Titles, labels, names and cells may be anybody's text. `body`, `rows` and `inside` are markup.

// A whole page.
std::string html_page(std::string_view title, const std::string& body);

// A part of it under a headline.
std::string card(std::string_view title, const std::string& body);

// The numbers that a page is about.
struct Figure {
  std::string name, value, unit = {};
};
std::string figures(const std::vector<Figure>& all);

std::string preformatted(std::string_view text);

// A table of rows, which scrolls by itself where the page is narrow; `label` says what it shows.
std::string table(std::string_view label, const std::string& rows, std::string_view style = "");
std::string header_row(const std::vector<std::string>& cells);
std::string row(const std::vector<std::string>& cells);
// A cell whose ground is stronger the larger `share` is, from 0 to 1.
enum class Heat { kGood, kBad };
std::string heat_cell(std::string_view text, double share, Heat heat);

// A picture, which scrolls by itself, too; and one in a file of its own, with its colours.
std::string picture(std::string_view label, double width, double height, const std::string& inside);
std::string picture_file(double width, double height, const std::string& inside);

// Parts of pictures. `more` is further attributes, each after a space. Colours are numbered from 1
// to 8 (files/colours.css).
std::string svg_text(double x, double y, std::string_view text, std::string_view more = "");
std::string svg_bar(double x, double y, double width, double height, std::string_view colour,
                    std::string_view title = "");

// One curve of a plot: a number per step.
struct Curve {
  std::string name;
  std::vector<double> points;
};
// At most two curves, one after the other, in a plot from 1 to the last step. REQUIRES: every curve
// has points.
std::string plot(std::string_view title, std::string_view steps, std::span<const Curve> curves);

// A network by cost and accuracy.
struct CostPoint {
  double cost = 0, top1 = 0;
  bool on_front = false;  // no other one is better in both
  std::string name = {};
};

// The points in one picture, those of the front in blue. `unit` is that of the cost. REQUIRES:
// points are not empty.
std::string front_picture(const std::vector<CostPoint>& points, std::string_view unit);

}  // namespace shoal::page
