// Budget: all costs of something that may answer early stay within a slack of those of the sure way
// alone, whatever early answers are worth.
//
// Something that may cost more than the sure way is tried only if, with sums over all requests so
// far that fade with g < 1,
//
//   g S + cost <= (1 + slack) (g B + alone)
//
// for the costs S and those B of the sure way alone. The sum over all requests of
// cost - (1 + slack) alone is then at most 0, too: it is D + (1 - g) sum(D) for
// D = S - (1 + slack) B <= 0.
#pragma once

#pragma GCC visibility push(default)

namespace shoal::exits {

// A value. Costs are in any one unit.
class Budget {
 public:
  // Nothing is spent yet.
  explicit Budget(double slack = 0.02) : slack_(slack) {}

  // Whether a request may cost so much, where the sure way costs `alone`.
  bool affordable(double cost, double alone) const {
    return kFade * spent_ + cost <= (1 + slack_) * (kFade * alone_ + alone);
  }
  // A request has cost so much.
  void spend(double cost, double alone) {
    spent_ = kFade * spent_ + cost;
    alone_ = kFade * alone_ + alone;
  }

 private:
  static constexpr double kFade = 0.999;
  double slack_, spent_ = 0, alone_ = 0;
};

}  // namespace shoal::exits

#pragma GCC visibility pop
