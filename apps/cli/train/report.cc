// The page about training: SVG curves, a table of confusions, pictures of mistakes as SVG
// rectangles. It is replaced as a whole after every epoch.
#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../page.h"
#include "../table.h"
#include "shoal/base/atomic_file.h"

namespace shoal::cli {
namespace {

using fit::EpochResult;
using fit::TrainingProgress;

constexpr double kWidth = 460, kHeight = 240, kLeft = 50, kBottom = 30, kTop = 12;
constexpr const char* kLearned = "#4e79a7";
constexpr const char* kHeldOut = "#f28e2b";

std::string number(double x) { return fixed(x, 1); }

// One curve of a plot: a number per epoch.
struct Curve {
  const char* colour;
  std::vector<double> points;
};

struct Range {
  double low, high;
};

Range range_of(std::span<const Curve> curves) {
  Range range{curves[0].points[0], curves[0].points[0]};
  for (const Curve& curve : curves) {
    for (double y : curve.points) {
      range.low = std::min(range.low, y);
      range.high = std::max(range.high, y);
    }
  }
  if (range.high - range.low < 1e-9) range.high = range.low + 1;
  return range;
}

std::string polyline(const Curve& curve, const Range& range) {
  const auto last = static_cast<double>(std::max<size_t>(curve.points.size() - 1, 1));
  std::string points;
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const double x = kLeft + kWidth * static_cast<double>(i) / last;
    const double y = kTop + kHeight * (range.high - curve.points[i]) / (range.high - range.low);
    points += number(x) + "," + number(y) + " ";
  }
  return "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"" + std::string(curve.colour) +
         "\" points=\"" + points + "\"/>\n";
}

std::string plot(const std::string& title, std::span<const Curve> curves) {
  const Range range = range_of(curves);
  std::string svg = "<svg width=\"" + number(kLeft + kWidth + 20) + "\" height=\"" +
                    number(kTop + kHeight + kBottom) + "\" font-size=\"11\">\n";
  constexpr int kLines = 4;
  for (int i = 0; i <= kLines; ++i) {
    const double y = kTop + kHeight * i / kLines;
    const double value = range.high - (range.high - range.low) * i / kLines;
    svg += "<line stroke=\"#ddd\" x1=\"" + number(kLeft) + "\" x2=\"" + number(kLeft + kWidth) +
           "\" y1=\"" + number(y) + "\" y2=\"" + number(y) + "\"/><text text-anchor=\"end\" x=\"" +
           number(kLeft - 4) + "\" y=\"" + number(y + 4) + "\">" + fixed(value, 3) + "</text>\n";
  }
  for (const Curve& curve : curves) svg += polyline(curve, range);
  return svg + "<text x=\"" + number(kLeft) + "\" y=\"" + number(kTop + kHeight + 20) + "\">" +
         title + ", epochs 1 to " + std::to_string(curves[0].points.size()) + "</text></svg>\n";
}

std::string curves(const TrainingProgress& progress) {
  const auto curve = [&](const char* colour, double EpochResult::*member) {
    Curve result{colour, {}};
    for (const EpochResult& epoch : progress.results) result.points.push_back(epoch.*member);
    return result;
  };
  return plot("loss", std::vector{curve(kLearned, &EpochResult::loss),
                                  curve(kHeldOut, &EpochResult::held_out_loss)}) +
         plot("top-1, %", std::vector{curve(kLearned, &EpochResult::top1),
                                      curve(kHeldOut, &EpochResult::held_out_top1)}) +
         "<p><b style=\"color:" + kLearned + "\">learned from</b>, <b style=\"color:" + kHeldOut +
         "\">held out</b></p>\n";
}

// Rows are labels, columns answers; a thousand classes would be a page of nothing.
std::string confusions(const fit::Evaluation& evaluation) {
  constexpr size_t kMostClasses = 40;
  const size_t classes = evaluation.classes();
  if (classes > kMostClasses) return "";
  std::string table = "<h2>Confusions</h2><table><tr><th>label \\ answer</th>";
  for (size_t c = 0; c < classes; ++c) table += "<th>" + std::to_string(c) + "</th>";
  for (size_t label = 0; label < classes; ++label) {
    size_t total = 0;
    for (size_t c = 0; c < classes; ++c) total += evaluation.confusions(label, c);
    table += "</tr><tr><th>" + std::to_string(label) + "</th>";
    for (size_t c = 0; c < classes; ++c) {
      const size_t count = evaluation.confusions(label, c);
      const double share =
          static_cast<double>(count) / static_cast<double>(std::max<size_t>(total, 1));
      const char* colour = c == label ? "89,161,79" : "225,87,89";
      table += "<td style=\"background:rgba(" + std::string(colour) + "," +
               fixed(std::sqrt(share), 2) + ")\">" + std::to_string(count) + "</td>";
    }
  }
  return table + "</tr></table>\n";
}

// An image as rectangles, so that no format needs to be encoded: runs of one colour in a row are
// one. Large images are thinned out.
std::string picture(const Tensor& image) {
  constexpr int64_t kMostPixels = 48;
  const int64_t h = image.shape()[0], w = image.shape()[1], c = image.shape()[2];
  const int64_t step = (std::max(h, w) + kMostPixels - 1) / kMostPixels;
  const auto colour = [&](int64_t y, int64_t x) {
    const uint8_t* pixel = image.data<uint8_t>().data() + (y * w + x) * c;
    char text[8];
    std::snprintf(text, sizeof text, "#%02x%02x%02x", pixel[0], pixel[c == 3 ? 1 : 0],
                  pixel[c == 3 ? 2 : 0]);
    return std::string(text);
  };
  std::string svg =
      "<svg width=\"96\" height=\"96\" shape-rendering=\"crispEdges\" viewBox=\"0 0 " +
      std::to_string(w) + " " + std::to_string(h) + "\">";
  for (int64_t y = 0; y < h; y += step) {
    for (int64_t x = 0; x < w;) {
      const std::string own = colour(y, x);
      int64_t end = x + step;
      while (end < w && colour(y, end) == own) end += step;
      svg += "<path fill=\"" + own + "\" d=\"M" + std::to_string(x) + " " + std::to_string(y) +
             "h" + std::to_string(end - x) + "v" + std::to_string(step) + "h-" +
             std::to_string(end - x) + "\"/>";
      x = end;
    }
  }
  return svg + "</svg>";
}

std::string mistakes(const fit::EpochReport& report) {
  std::string text = "<h2>Mistakes it is sure of</h2>\n";
  for (const fit::Mistake& mistake : report.evaluation.mistakes()) {
    const auto example = report.held_out.at(mistake.example);
    if (!example.ok()) continue;
    text += "<figure>" + picture(example->image) + "<figcaption>" + std::to_string(mistake.label) +
            " taken for " + std::to_string(mistake.answer) + ", " +
            fixed(100 * mistake.probability, 1) + " %</figcaption></figure>\n";
  }
  return text;
}

}  // namespace

Status write_report(const std::filesystem::path& path, const std::string& title,
                    const fit::EpochReport& report) {
  const TrainingProgress& progress = report.progress;
  std::string page = "<style>figure{display:inline-block;margin:4px;font-size:11px}</style>\n<p>" +
                     std::to_string(progress.results.size()) + " epochs in " +
                     fixed(progress.seconds, 0) + " s; held out: top-1 " +
                     fixed(report.evaluation.top1(), 2) + " %, loss " +
                     fixed(report.evaluation.loss(), 4) + "</p>\n";
  if (!progress.results.empty()) page += curves(progress);
  page += confusions(report.evaluation) + mistakes(report);
  return write_file(path, html_page(title, page));
}

}  // namespace shoal::cli
