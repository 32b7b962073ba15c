#include "shoal/video/watch/run/looks.h"

#include <algorithm>
#include <utility>

#include "shoal/video/watch/frames/key_frames.h"

namespace shoal::watch {

Result<Looks> Looks::open(const Model& model, std::vector<std::unique_ptr<Device>> devices,
                          size_t streams, const LookOptions& options) {
  Looks looks;
  looks.motion_ = options.motion;
  looks.devices_ = std::move(devices);
  if (options.delta) {
    auto result = std::make_unique<DeltaDevice>(std::move(looks.devices_.front()),
                                                DeltaOptions{*options.delta});
    looks.delta_ = result.get();
    looks.devices_.front() = std::move(result);
  }
  // What a delta device has accumulated, and key frames, are of one stream: each has a detector of
  // its own there.
  const bool one_each = options.delta || options.key_frames || looks.devices_.size() > 1;
  for (size_t i = 0; i < (one_each ? streams : 1); ++i) {
    Device& device = *looks.devices_[std::min(i, looks.devices_.size() - 1)];
    SHOAL_TRY(looks.add_detector(model, device, options));
  }
  return looks;
}

Status Looks::add_detector(const Model& model, Device& device, const LookOptions& options) {
  if (options.key_frames) {
    SHOAL_ASSIGN(auto one,
                 open_key_frame_detector(model, device, *options.key_frames, options.head));
    detectors_.push_back(std::move(one.detector));
    pipelines_.push_back(std::move(one.pipeline));
    see_.push_back(std::move(one.see));
    return {};
  }
  SHOAL_ASSIGN(auto one, options.rectangular
                             ? detect::Detector::open_rectangular(model, device, options.head)
                             : detect::Detector::open(model, device, options.head));
  detectors_.push_back(std::move(one));
  return {};
}

std::vector<Stream> Looks::streams(std::span<const std::unique_ptr<FrameSource>> sources) {
  std::vector<Stream> all;
  for (size_t i = 0; i < sources.size(); ++i) {
    all.push_back({sources[i].get(), &detectors_[std::min(i, detectors_.size() - 1)], {}});
    if (motion_ && !see_.empty()) all.back().see = see_[i];
  }
  return all;
}

double Looks::computed_share(size_t stream) const {
  if (!pipelines_.empty()) return pipelines_[stream]->macs_share();
  return delta_ != nullptr ? delta_->statistics().macs_share() : 1;
}

double Looks::computed_share(std::span<const WatchResult> each) const {
  double looks = 0, computed = 0;
  for (size_t i = 0; i < each.size(); ++i) {
    const auto looked = static_cast<double>(each[i].frames - each[i].skipped);
    looks += looked;
    computed += looked * computed_share(i);
  }
  return looks > 0 ? computed / looks : 1;
}

}  // namespace shoal::watch
