#include "shoal/video/keyframe/pipeline.h"

#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "shoal/base/text/printable.h"
#include "shoal/engine/session/session.h"
#include "shoal/video/keyframe/async_features.h"
#include "shoal/video/keyframe/sparse_features.h"
#include "shoal/video/keyframe/warp.h"

namespace shoal::keyframe {
namespace {

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
  // The key frame to answer this frame from.
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
    for (const Tensor& one : features) all.push_back(warp(one, flow));
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
