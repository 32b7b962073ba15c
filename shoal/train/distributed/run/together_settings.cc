#include "shoal/train/distributed/run/together_settings.h"

#include <bit>
#include <cstdlib>

#include "shoal/train/distributed/codec/tensor_codec.h"

namespace shoal::learn {
namespace {

Status check_micro_batches(const std::string& text) {
  const auto n = std::strtoll(text.c_str(), nullptr, 10);
  return n >= 1 && n <= 4096 && (n & (n - 1)) == 0 ? Status() : invalid("no power of two");
}

std::vector<std::string> codec_words() {
  std::vector<std::string> words;
  for (const CodecKind kind : all_codecs()) words.emplace_back(name_of(kind));
  words.emplace_back("auto");
  return words;
}

}  // namespace

std::optional<bool> TogetherSettings::fixed_shares() const {
  return fixed || measured ? std::optional(fixed) : std::nullopt;
}

int TogetherSettings::levels() const {
  return std::countr_zero(static_cast<uint64_t>(micro_batches));
}

SettingList settings_of(TogetherSettings& s) {
  const Setting codec =
      Setting("codec", s.codec,
              "How gradients travel, or with --federated what clients learned: f32, f16, int8, "
              "1bit, tern, qsgd, powersgd, topk, drive, or auto")
          .one_of(codec_words());
  const SettingList others = {
      Setting("micro-batches", s.micro_batches,
              "Parts of a batch, of which shares consist: a power of two")
          .checked(check_micro_batches),
      {"all-workers", s.all_workers, "Also where one of them alone is faster"},
      {"measured-shares", s.measured,
       "Follow measured speeds, also where a run with this codec is to be resumed"},
      {"fixed-shares", s.fixed,
       "Of all workers, as planned: codecs learn the same each time; default with checkpoints"},
      Setting("slack", s.slack,
              "A step ends without workers that take so many times as long; 0: it waits")
          .in(0, 1e6),
      Setting("straggler", s.straggler,
              "In each step another emulated worker takes so many times as long")
          .in(1, 1000)
          .hiding_default(),
      {"let-sleep", s.let_sleep, "Do not keep radios awake"}};
  const Setting steps =
      Setting("steps", s.steps, "Steps; 0: as many as the epochs have").not_negative();
  return joined({needing("cluster", {steps}), {codec}, needing("cluster", others)});
}

}  // namespace shoal::learn
