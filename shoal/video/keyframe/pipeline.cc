#include "shoal/video/keyframe/pipeline.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "shoal/base/text/printable.h"
#include "shoal/engine/delta/changes.h"
#include "shoal/engine/session/session.h"
#include "shoal/video/keyframe/async_features.h"
#include "shoal/video/keyframe/sparse_network.h"

namespace shoal::keyframe {
namespace {

// Features of key frames that are computed only where the image has changed (SSI [Mao 2019], with
// its brightness mask). Elsewhere they are those of the key frame before, moved by the flow.
//
//   changed  = tiles of 16 pixels with one that differs by 15 levels or more from the image the
//              features there were computed from, so that slow changes add up until they count
//   taken    = changed, and 32 pixels around it: features see what is beside them
//   computed = taken, and 64 pixels around it, since layers see zeros beyond (sparse_network.h)
//
// What deep features see beyond these margins is taken to be as it was.

// For one stream. Thread-compatible.
class SparseFeatures {
 public:
  // Fails as SparseNetwork::compile().
  static Result<SparseFeatures> compile(const Graph& features, Device& device);

  // Everything. Fails as the device does, and as luma_of(). REQUIRES: the input has the graph's
  // type.
  Result<std::vector<Tensor>> compute(const Tensor& input);
  // The features of the next key frame; `moved` are those of the one before, where the image is
  // now. REQUIRES: compute() was called, and `moved` has the types of its result.
  Result<std::vector<Tensor>> update(const Tensor& input, std::vector<Tensor> moved);

  // The share of the image that the last call computed.
  double computed_share() const { return share_; }

 private:
  explicit SparseFeatures(SparseNetwork network) : network_(std::move(network)) {}

  SparseNetwork network_;
  GreyRange range_ = {};  // of the first image
  Plane seen_;            // what the features were computed from
  double share_ = 1;
};

using delta::Grid;
using delta::TileMask;

constexpr int kLeastChange = 15;  // levels of 255
constexpr int64_t kTaken = 32, kComputed = 96;
constexpr double kMostTaken = 0.6;  // of the image: beyond, it is computed whole

Grid tiles_of_image(const Plane& plane) {
  return {
      .height = plane.height, .width = plane.width, .tile_height = kBlock, .tile_width = kBlock};
}

Result<SparseFeatures> SparseFeatures::compile(const Graph& features, Device& device) {
  SHOAL_ASSIGN(SparseNetwork network, SparseNetwork::compile(features, device));
  return SparseFeatures(std::move(network));
}

Result<std::vector<Tensor>> SparseFeatures::compute(const Tensor& input) {
  range_ = range_of(input);
  SHOAL_ASSIGN(Luma luma, luma_of(input, range_));
  seen_ = std::move(luma.levels.front());
  share_ = 1;
  TileMask all(tiles_of_image(seen_));
  all.fill(true);
  std::vector<Tensor> outputs(network_.outputs());
  SHOAL_TRY(network_.run(input, all, outputs));
  return outputs;
}

Result<std::vector<Tensor>> SparseFeatures::update(const Tensor& input, std::vector<Tensor> moved) {
  SHOAL_ASSIGN(const Luma luma, luma_of(input, range_));
  const Grid grid = tiles_of_image(luma.whole());
  const auto changed = brightness_mask(grid, seen_, luma.whole(), kLeastChange).rectangles();
  const TileMask taken = box_mask(grid, changed, kTaken);
  if (taken.share() > kMostTaken) return compute(input);
  const TileMask computed = box_mask(grid, changed, kComputed);
  share_ = computed.share();
  if (changed.empty()) return moved;
  std::vector<Tensor> fresh(network_.outputs());
  SHOAL_TRY(network_.run(input, computed, fresh));
  for (size_t i = 0; i < moved.size(); ++i) {
    const TileMask there = regridded(taken, delta::plane_of(moved[i].shape()));
    for (const cpu::Rectangle& rectangle : there.rectangles()) {
      delta::copy_pixels(fresh[i], rectangle, moved[i]);
    }
  }
  for (const cpu::Rectangle& one : taken.rectangles()) {
    for (int64_t y = one.rows.begin; y < one.rows.end; ++y) {
      std::copy(luma.whole().row(y) + one.columns.begin, luma.whole().row(y) + one.columns.end,
                seen_.pixels.begin() + y * seen_.width + one.columns.begin);
    }
  }
  return moved;
}

Result<std::vector<Tensor>> run_session(Session& session, std::span<const Tensor> inputs) {
  std::vector<Tensor> outputs(session.outputs().size());
  SHOAL_TRY(session.run(inputs, outputs));
  return outputs;
}

class SplitPipeline final : public Pipeline {
 public:
  SplitPipeline(const SplitNetwork& split, Session features, Session task,
                std::optional<SparseFeatures> sparse, const PipelineOptions& options)
      : features_macs_(split.features_macs),
        task_macs_(split.task_macs),
        type_(split.features[split.features.inputs()[0]].type),
        features_(std::move(features)),
        task_(std::move(task)),
        sparse_(std::move(sparse)),
        schedule_(options.schedule) {
    const auto compute = [this](const Tensor& input) {
      return run_session(features_, std::span(&input, 1));
    };
    if (options.asynchronous) async_.emplace(compute);
  }

  Result<Answer> run(const Tensor& input, const Flow* motion) override {
    if (input.type() != type_) {
      return invalid("a frame is " + to_string(input.type()) + ", should be " + to_string(type_));
    }
    if (motion != nullptr &&
        (motion->height != type_.shape[2] || motion->width != type_.shape[3])) {
      return invalid("the motion is of an image of another size");
    }
    const bool is_first = matched_.luma.levels.empty();
    KeyImage now{frames_++, matched_.range, {}};
    Answer answer;
    if (!is_first) {
      if (motion != nullptr) {
        flow_ = composed(flow_, *motion);
      } else {
        SHOAL_ASSIGN(now.luma, luma_of(input, now.range));
        flow_ = estimate_flow(matched_.luma, now.luma, &flow_);
      }
      answer.motion = {flow_.mean_length(), flow_.residual};
    }
    answer.is_key = schedule_.next(answer.motion) || is_first;
    if (answer.is_key) {
      computed_ += 1;
      now.range = range_of(input);
      SHOAL_ASSIGN(now.luma, luma_of(input, now.range));
    }
    SHOAL_ASSIGN(const auto key, reference(now, answer.is_key, input));
    answer.key = key->image.frame;
    SHOAL_ASSIGN(answer.outputs, answer_from(*key, now.frame, input));
    if (answer.is_key) {
      matched_ = std::move(now);
      flow_ = no_flow(type_.shape[2], type_.shape[3]);
    }
    return answer;
  }

  int64_t features_macs() const override { return features_macs_; }
  int64_t task_macs() const override { return task_macs_; }
  double macs_share() const override {
    const auto features = static_cast<double>(features_macs_);
    const auto task = static_cast<double>(task_macs_), frames = static_cast<double>(frames_);
    const double computed = computed_ * features + frames * task;
    return frames_ > 0 && features + task > 0 ? computed / (frames * (features + task)) : 1;
  }

 private:
  Result<std::shared_ptr<const Key>> reference(const KeyImage& now, bool is_key,
                                               const Tensor& input) {
    if (async_) return async_->next(now, is_key, input);
    if (!is_key) return key_;
    SHOAL_ASSIGN(auto features, features_of(input));
    key_ = std::make_shared<const Key>(Key{now, std::move(features)});
    return key_;
  }

  Result<std::vector<Tensor>> features_of(const Tensor& input) {
    if (!sparse_) return run_session(features_, std::span(&input, 1));
    if (key_ == nullptr) return sparse_->compute(input);
    auto features = sparse_->update(input, warped(key_->features, flow_));
    computed_ += sparse_->computed_share() - 1;
    return features;
  }

  static std::vector<Tensor> warped(const std::vector<Tensor>& features, const Flow& flow) {
    std::vector<Tensor> all;
    for (const Tensor& feature : features) all.push_back(warp(feature, flow));
    return all;
  }

  Result<std::vector<Tensor>> answer_from(const Key& key, size_t frame, const Tensor& input) {
    if (key.image.frame == frame) return run_session(task_, key.features);
    Flow flow = flow_;
    if (key.image.frame != matched_.frame) {  // features of that one are not complete yet
      SHOAL_ASSIGN(const Luma luma, luma_of(input, key.image.range));
      flow = estimate_flow(key.image.luma, luma, &flow_);
    }
    return run_session(task_, warped(key.features, flow));
  }

  const int64_t features_macs_, task_macs_;
  const TensorType type_;
  Session features_, task_;
  std::optional<SparseFeatures> sparse_;
  KeySchedule schedule_;
  size_t frames_ = 0;                   // so far
  double computed_ = 0;                 // key frames, or parts of them
  KeyImage matched_;                    // the key frame that was scheduled last
  Flow flow_;                           // from there to the last frame
  std::shared_ptr<const Key> key_;      // in sequential order
  std::optional<AsyncFeatures> async_;  // last: its thread uses the rest
};

}  // namespace

Status check(const KeyScheduleOptions& options) {
  if (options.least < 1 || options.least > options.most) {
    return invalid("the least interval between key frames is from 1 to the longest");
  }
  if (!(options.low >= 0) || !(options.low < options.high)) {
    return invalid("motion between key frames goes from one that is not negative to a larger one");
  }
  return {};
}

size_t interval_for(double motion, const KeyScheduleOptions& options) {
  const double t = std::clamp((motion - options.low) / (options.high - options.low), 0.0, 1.0);
  const auto most = static_cast<double>(options.most), least = static_cast<double>(options.least);
  return static_cast<size_t>(std::lround(most - t * (most - least)));
}

bool KeySchedule::next(const Motion& motion) {
  const bool is_key = since_key_ == 0 || since_key_ >= interval_for(motion.mean, options_) ||
                      motion.residual >= options_.cut_residual;
  since_key_ = is_key ? 1 : since_key_ + 1;
  return is_key;
}

void MotionSum::add(const Flow& flow) {
  if (sum_.height != flow.height || sum_.width != flow.width) {
    sum_ = flow;
    return;
  }
  for (size_t i = 0; i < sum_.vectors.size(); ++i) {
    sum_.vectors[i].x += flow.vectors[i].x;
    sum_.vectors[i].y += flow.vectors[i].y;
  }
  sum_.residual = flow.residual;
}

Result<std::optional<PipelineOptions>> parse_key_frames(std::string_view text) {
  if (text == "off") return std::optional<PipelineOptions>();
  constexpr std::string_view kAsync = ":async", kSparse = ":sparse";
  PipelineOptions options;
  options.asynchronous = text.ends_with(kAsync);
  options.sparse = text.ends_with(kSparse);
  const size_t suffix = options.asynchronous ? kAsync.size() : options.sparse ? kSparse.size() : 0;
  const std::string_view kind = text.substr(0, text.size() - suffix);
  // A fixed camera sees little move in the mean; see docs/measurements/streams.md.
  options.schedule = {.least = 2, .most = 10, .low = 0, .high = 2};
  if (kind == "auto") return std::optional(options);
  size_t interval = 0;
  const auto [end, error] = std::from_chars(kind.data(), kind.data() + kind.size(), interval);
  if (error != std::errc() || end != kind.data() + kind.size() || interval < 1) {
    return invalid("key frames are " + printable(text) +
                   ", should be off, auto or a number of frames, the last two with :async, :sparse "
                   "or nothing");
  }
  options.schedule.least = options.schedule.most = interval;
  return std::optional(options);
}

Result<std::unique_ptr<Pipeline>> Pipeline::open(const Graph& network, Device& device,
                                                 const PipelineOptions& options) {
  SHOAL_TRY(check(options.schedule));
  if (options.sparse && options.asynchronous) {
    return invalid("sparse features are computed in sequential order");
  }
  std::vector<ValueId> at = options.at;
  if (at.empty()) {
    SHOAL_ASSIGN(at, find_cut(network, options.cut));
  }
  SHOAL_ASSIGN(const SplitNetwork split, split_at(network, at));
  const auto inputs = network.inputs();
  const auto fits = [](const TensorType& type) {
    return type.dtype == DType::kF32 && type.shape.rank() == 4 && type.shape[0] == 1 &&
           type.shape[1] > 0 && type.shape[2] >= kLeastSide && type.shape[3] >= kLeastSide;
  };
  if (inputs.size() != 1 || !fits(network[inputs[0]].type)) {
    return Status(Code::kUnsupported, "key frames need a network of one image f32 [1,c,h,w]");
  }
  for (const ValueId id : at) {
    const TensorType& type = network[id].type;
    if (type.dtype == DType::kF32 && type.shape.rank() == 4) continue;
    return Status(Code::kUnsupported, "features are f32 [n,c,h,w], not " + to_string(type));
  }
  SHOAL_ASSIGN(Session features, Session::open(split.features, device));
  SHOAL_ASSIGN(Session task, Session::open(split.task, device));
  std::optional<SparseFeatures> sparse;
  if (options.sparse) {
    SHOAL_ASSIGN(sparse, SparseFeatures::compile(split.features, device));
  }
  return std::unique_ptr<Pipeline>(std::make_unique<SplitPipeline>(
      split, std::move(features), std::move(task), std::move(sparse), options));
}

}  // namespace shoal::keyframe
