#include "shoal/train/federated/federated_options.h"

namespace shoal::federated {

Status check(const Options& options) {
  SHOAL_TRY(fit::check(options.fit));
  SHOAL_TRY(check(options.strategy));
  SHOAL_TRY(check(options.population));
  if (options.rounds < 1 || options.per_round < 1 || options.evaluate_every < 1 ||
      options.local_steps < 0 || options.threads < 1) {
    return invalid("rounds, clients of a round, and threads are at least one");
  }
  if (options.merge_secretly) {
    SHOAL_TRY(check_secret(options.strategy, options.codec, options.per_round));
  }
  const bool is_possible =
      options.fit.teacher.empty() && options.fit.patience == 0 && !options.fit.resume;
  if (is_possible) return {};
  return Status(Code::kUnsupported,
                "federated training has no teacher, no patience and no resuming");
}

Status check_secret(const Strategy& strategy, learn::CodecKind codec, size_t per_round) {
  constexpr size_t kFewest = 3;
  if (strategy.merge != Strategy::Merge::kMean) {
    return Status(Code::kUnsupported,
                  "a secure sum hides what each client sends, which a median or a trimmed mean "
                  "compares");
  }
  if (codec != learn::CodecKind::kF32) {
    return Status(Code::kUnsupported, "a secure sum has a code of its own: no codec goes with it");
  }
  return per_round >= kFewest ? Status() : invalid("a secure sum needs 3 clients of a round");
}

double bytes_of(const Weights& weights) {
  double bytes = 0;
  for (const auto& [name, tensor] : weights) bytes += static_cast<double>(tensor.bytes().size());
  return bytes;
}

}  // namespace shoal::federated
