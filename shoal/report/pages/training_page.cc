// The page about training: SVG curves, a table of confusions, pictures of mistakes as SVG
// rectangles.
#include "shoal/report/pages/training_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "shoal/base/text/number_text.h"
#include "shoal/report/html/page.h"

namespace shoal::report {
namespace {

using fit::EpochResult;
using fit::TrainingProgress;

std::string curves(const TrainingProgress& progress) {
  const auto plot = [&](const char* title, double EpochResult::*learned,
                        double EpochResult::*held_out) {
    std::vector<page::Curve> both = {{"learned from", {}}, {"held out", {}}};
    for (const EpochResult& epoch : progress.results) {
      both[0].points.push_back(epoch.*learned);
      both[1].points.push_back(epoch.*held_out);
    }
    return page::plot(title, "epochs", both);
  };
  return page::card(
      "Epochs", "<div class=\"plots\">\n" +
                    plot("loss", &EpochResult::loss, &EpochResult::held_out_loss) +
                    plot("top-1, %", &EpochResult::top1, &EpochResult::held_out_top1) + "</div>\n");
}

// Rows are labels, columns answers; a thousand classes would be a page of nothing.
std::string confusions(const fit::Evaluation& evaluation) {
  constexpr size_t kMostClasses = 40;
  const size_t classes = evaluation.classes();
  if (classes > kMostClasses) return "";
  std::string rows = "<tr><th scope=\"col\">label \\ answer</th>";
  for (size_t c = 0; c < classes; ++c) rows += "<th scope=\"col\">" + std::to_string(c) + "</th>";
  for (size_t label = 0; label < classes; ++label) {
    size_t total = 0;
    for (size_t c = 0; c < classes; ++c) total += evaluation.confusions(label, c);
    rows += "</tr>\n<tr><th scope=\"row\">" + std::to_string(label) + "</th>";
    for (size_t c = 0; c < classes; ++c) {
      const size_t count = evaluation.confusions(label, c);
      const double share =
          static_cast<double>(count) / static_cast<double>(std::max<size_t>(total, 1));
      rows += page::heat_cell(std::to_string(count), std::sqrt(share),
                              c == label ? page::Heat::kGood : page::Heat::kBad);
    }
  }
  return page::card("Confusions", page::table("Confusions", rows + "</tr>\n", "matrix"));
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
  std::string svg = "<svg aria-hidden=\"true\" shape-rendering=\"crispEdges\" viewBox=\"0 0 " +
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
  std::string text;
  for (const fit::Mistake& mistake : report.evaluation.mistakes()) {
    const auto example = report.held_out.at(mistake.example);
    if (!example.ok()) continue;
    text += "<figure>" + picture(example->image) + "<figcaption>" + std::to_string(mistake.label) +
            " taken for " + std::to_string(mistake.answer) + ", " +
            fixed(100 * mistake.probability, 1) + " %</figcaption></figure>\n";
  }
  if (text.empty()) return text;
  return page::card("Mistakes it is sure of", "<div class=\"pictures\">\n" + text + "</div>\n");
}

}  // namespace

std::string training_page(const std::string& title, const fit::EpochReport& report) {
  const TrainingProgress& progress = report.progress;
  std::string body = page::figures({{"epochs", std::to_string(progress.results.size())},
                                    {"time", fixed(progress.seconds, 0), "s"},
                                    {"held out: top-1", fixed(report.evaluation.top1(), 2), "%"},
                                    {"held out: loss", fixed(report.evaluation.loss(), 4)}});
  if (!progress.results.empty()) body += curves(progress);
  body += confusions(report.evaluation) + mistakes(report);
  return page::html_page(title, body);
}

}  // namespace shoal::report
