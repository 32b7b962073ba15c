// Parts of pages: see page.h.
#include "page.h"

#include <algorithm>

#include "markup.h"
#include "table.h"

namespace shoal::cli {
namespace {

constexpr double kWidth = 480, kHeight = 240, kMargin = 50;
constexpr const char *kLeads = "#4e79a7", *kFollows = "#f28e2b";

std::string number(double x) { return fixed(x, 1); }

}  // namespace

std::string html_page(std::string_view title, const std::string& body) {
  return "<!doctype html>\n<meta charset=\"utf-8\">\n<title>" + escaped(title) +
         "</title>\n<style>body{font-family:sans-serif}td,th{padding:2px 6px;text-align:right}"
         "</style>\n<h1>" +
         escaped(title) + "</h1>\n" + body;
}

std::string html_row(const std::vector<std::string>& cells, const char* cell) {
  std::string text = "<tr>";
  for (const std::string& one : cells) {
    text += "<" + std::string(cell) + ">" + escaped(one) + "</" + cell + ">";
  }
  return text + "</tr>\n";
}

std::string svg(double width, double height, const std::string& inside) {
  return "<svg width=\"" + number(width) + "\" height=\"" + number(height) +
         "\" font-size=\"11\">\n" + inside + "</svg>\n";
}

std::string svg_text(double x, double y, std::string_view text, const char* more) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + more + ">" + escaped(text) +
         "</text>\n";
}

std::string front_picture(const std::vector<CostPoint>& points, std::string_view unit) {
  double most = 1e-9, low = 100, high = 0;
  for (const CostPoint& one : points) {
    most = std::max(most, one.cost);
    low = std::min(low, one.top1);
    high = std::max(high, one.top1);
  }
  const double span = std::max(high - low, 0.01);
  std::string inside = "<path fill=\"none\" stroke=\"#999\" d=\"M" + number(kMargin) + " 10V" +
                       number(kHeight + 10) + "H" + number(kMargin + kWidth) + "\"/>\n";
  for (const CostPoint& one : points) {
    inside += "<circle r=\"5\" cx=\"" + number(kMargin + kWidth * one.cost / most) + "\" cy=\"" +
              number(20 + (kHeight - 20) * (high - one.top1) / span) + "\" fill=\"" +
              (one.on_front ? kLeads : kFollows) + "\"><title>" + escaped(one.name) +
              (one.name.empty() ? "" : ": ") + fixed(one.top1, 2) + " %, " + fixed(one.cost, 4) +
              "</title></circle>\n";
  }
  inside += svg_text(kMargin, kHeight + 26, "0") +
            svg_text(kMargin + kWidth, kHeight + 26, fixed(most, 3) + " " + std::string(unit),
                     " text-anchor=\"end\"") +
            svg_text(2, 24, fixed(high, 2)) + svg_text(2, kHeight + 4, fixed(low, 2));
  return svg(kMargin + kWidth + 20, kHeight + 34, inside);
}

}  // namespace shoal::cli
