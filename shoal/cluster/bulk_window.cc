// After each round the window is multiplied by
//
//   (empty + max(empty / 4, 1 ms)) / shortest
//
// of the peer for which this is least, so that the next round takes as long as it should. The
// shortest time of several chunks counts: threads that wake up late make single ones longer, and
// only a queue makes all of them longer. Until there is a queue for the first time, the window
// doubles.
#include "shoal/cluster/bulk_window.h"

namespace shoal::cluster {
namespace {

constexpr BulkWindow::Duration kLeastQueue = std::chrono::milliseconds(1);
constexpr std::chrono::seconds kProbeInterval{10};
constexpr size_t kSamples = 4;  // of a peer, that a round should have

}  // namespace

bool BulkWindow::must_probe(int peer, Time now) const {
  const auto link = links_.find(peer);
  return link == links_.end() || now - link->second.probed > kProbeInterval;
}

void BulkWindow::acknowledged(int peer, size_t bytes, Duration took, Time now) {
  const bool alone = in_flight_ == bytes;
  in_flight_ -= std::min(in_flight_, bytes);
  took = std::max(took, Duration(1));
  // A probe replaces what was measured before, because the link may have become slower.
  if (alone && must_probe(peer, now)) links_[peer] = {.empty = took, .probed = now};
  const auto found = links_.find(peer);
  if (found == links_.end()) return;
  Link& link = found->second;
  link.empty = std::min(link.empty, took);
  link.shortest = link.chunks == 0 ? took : std::min(link.shortest, took);
  ++link.chunks;
  ++round_chunks_;
  round_bytes_ += bytes;
  if (round_bytes_ >= window_ && round_chunks_ >= kSamples * links_.size()) end_round();
}

void BulkWindow::end_round() {
  double factor = 2;
  for (auto& [peer, link] : links_) {
    if (link.chunks == 0) continue;
    const Duration queue = std::max(link.empty / 4, kLeastQueue);
    if (link.shortest > link.empty + queue / 2) starting_ = false;
    factor = std::min(factor, static_cast<double>((link.empty + queue).count()) /
                                  static_cast<double>(link.shortest.count()));
    link.chunks = 0;
  }
  if (starting_) factor = 2;
  const double next = static_cast<double>(window_) * std::max(factor, 0.5);
  window_ = std::clamp(static_cast<size_t>(next), kSmallestChunk, kChunks * kLargestChunk);
  round_bytes_ = round_chunks_ = 0;
}

}  // namespace shoal::cluster
