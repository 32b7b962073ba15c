// Pages that commands write: self-contained HTML and SVG, in the style of all pages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::page {

// Titles, labels, names and cells are untrusted text. `body`, `rows` and `inside` are markup.

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

// A table of rows, which scrolls if the page is narrow; `label` describes it.
std::string table(std::string_view label, const std::string& rows, std::string_view style = "");
std::string header_row(const std::vector<std::string>& cells);
std::string row(const std::vector<std::string>& cells);
// A cell with a background that is stronger the larger `share` is, from 0 to 1.
enum class Heat { kGood, kBad };
std::string heat_cell(std::string_view text, double share, Heat heat);

// A picture, which scrolls as well; and one in a separate file, with its colours.
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

// The distance of the lines of a scale of this length: 1, 2 or 5 times a power of ten, so that
// there are 5 to 12. REQUIRES: length > 0.
double scale_step(double length);

// One curve of a plot over time: moments, which ascend, and a number for each.
struct TimeCurve {
  std::string name;
  std::vector<double> seconds, values;
};
// At most three curves over one time, which begins at 0 and is shown in seconds, minutes or hours.
// kFromZero: the scale of numbers begins at 0, too. Numbers beyond a billion are left out.
// REQUIRES: every curve has points.
enum class Scale { kFitting, kFromZero };
std::string time_plot(std::string_view title, std::span<const TimeCurve> curves, Scale scale);
// Parts of a whole over time, one above the other, in colours that repeat after eight. They are
// positive and add up to 1 or less. REQUIRES: curves are not empty and have the same moments.
std::string share_plot(std::string_view title, std::span<const TimeCurve> curves);
// A bar for each name, covering the times of its presence, from 0 to the end.
struct Presence {
  std::string name;
  std::vector<std::pair<double, double>> spans;  // in seconds
};
std::string presence_plot(std::string_view title, std::span<const Presence> all, double seconds);

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
