#include "shoal/video/keyframe/async_features.h"

#include <new>
#include <utility>

#include "shoal/base/round_up.h"

namespace shoal::keyframe {
namespace {

Result<std::shared_ptr<const Key>> make_key(const Compute& compute, const KeyImage& image,
                                            const Tensor& input) try {
  SHOAL_ASSIGN(std::vector<Tensor> features, compute(input));
  return std::make_shared<const Key>(Key{image, std::move(features)});
} catch (const std::bad_alloc&) {
  return Status(Code::kExhausted, "out of memory");
}

}  // namespace

int64_t feature_delay(int64_t features_us, int64_t frame_us) {
  return ceil_div(features_us, frame_us);
}

// A stream without a reference begins with a key frame.
AsyncKeys::Decision AsyncKeys::on_frame(size_t frame, bool is_key) {
  Decision decision{.start = false, .reference = published_};
  if (!is_key && published_) return decision;
  if (computing_) {
    waiting_ = frame;
  } else {
    computing_ = frame;
    decision.start = true;
  }
  return decision;
}

std::optional<size_t> AsyncKeys::on_features(bool complete) {
  SHOAL_CHECK(computing_.has_value());
  if (complete) published_ = computing_;
  computing_ = std::exchange(waiting_, std::nullopt);
  return computing_;
}

AsyncFeatures::AsyncFeatures(Compute compute) : compute_(std::move(compute)) {}

std::shared_ptr<const Key> AsyncFeatures::latest() const {
  const std::scoped_lock lock(mutex_);
  return latest_;
}

Result<std::shared_ptr<const Key>> AsyncFeatures::next(const KeyImage& image, bool is_key,
                                                       const Tensor& input) {
  std::unique_lock lock(mutex_);
  if (!failure_.ok()) return std::exchange(failure_, Status());
  const AsyncKeys::Decision decision = keys_.on_frame(image.frame, is_key);
  // One that waited is older, and not wanted any more.
  if (decision.start || is_key) wanted_ = Wanted{image, input.clone()};
  if (decision.start) start();
  if (decision.reference) return latest_;
  changed_.wait(lock, [&] { return latest_ != nullptr || !failure_.ok(); });
  if (!failure_.ok()) return std::exchange(failure_, Status());
  return latest_;
}

// REQUIRES: mutex_ is held.
void AsyncFeatures::start() {
  thread_.post([this, wanted = std::make_shared<Wanted>(*std::exchange(wanted_, std::nullopt))] {
    run(*wanted);
  });
}

void AsyncFeatures::run(const Wanted& wanted) {
  auto key = make_key(compute_, wanted.image, wanted.input);
  const std::scoped_lock lock(mutex_);
  if (key.ok()) {
    latest_ = *std::move(key);
  } else {
    failure_ = key.status();
  }
  if (keys_.on_features(key.ok())) start();
  changed_.notify_all();
}

}  // namespace shoal::keyframe
