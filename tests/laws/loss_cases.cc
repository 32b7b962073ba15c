#include "draws.h"
#include "shoal/model/ops/ops.h"

namespace shoal::laws {
namespace {

// Weights per class, a class that does not count, and targets that are no class, in any mixture; at
// least one sample counts.
Case loss(Rng& rng) {
  static const char* const kReductions[] = {"mean", "sum", "none"};
  Shape scores = random_shape(rng, 2, 4);
  const int64_t classes = random_int(rng, 2, 5);
  scores[1] = classes;
  Shape samples{scores[0]};
  for (size_t d = 2; d < scores.rank(); ++d) samples.push_back(scores[d]);
  const auto count = static_cast<size_t>(samples.count());
  std::vector<int64_t> targets = random_ints(rng, count, toss(rng) ? -1 : 0, classes - 1);
  targets[0] = 0;
  Case c{{random_tensor(rng, scores), Tensor::of<int64_t>(samples, targets)},
         {{"reduction", std::string(kReductions[random_int(rng, 0, 2)])}}};
  if (toss(rng)) c.attributes["ignore_index"] = random_int(rng, -1, classes) | 1;
  if (toss(rng)) c.inputs.push_back(random_tensor(rng, {classes}, 0.5f, 2));
  return c;
}

}  // namespace

std::vector<Source> loss_cases() {
  return {{&ops::negative_log_likelihood_loss, loss}, {&ops::softmax_cross_entropy_loss, loss}};
}

}  // namespace shoal::laws
