#include "shoal/shrink/branches/advice.h"

#include "shoal/base/text/number_text.h"

namespace shoal::branch {
namespace {

std::string ms(const plan::Prediction& made) { return fixed(1e3 * made.timeline.seconds, 1); }

}  // namespace

std::vector<std::string> advice(const std::optional<LearnResult>& learned,
                                const std::optional<Comparison>& times) {
  std::vector<std::string> lines;
  if (times && !times->branches_are_faster()) {
    lines.push_back("The ordinary plan of the network as it is takes " + ms(times->ordinary) +
                    " ms, the branches " + ms(times->branches) + " ms: branches do not pay here.");
  }
  const double better = learned ? learned->top1_same_macs - learned->top1 : 0;
  if (better > 0) {
    lines.push_back("A single network of the same work is better by " + fixed(better, 2) +
                    " points.");
  }
  return lines;
}

}  // namespace shoal::branch
